"""OAuth errors (RFC 6749 §5.2): a code for programs and a sentence for people."""

from __future__ import annotations


class OAuthError(Exception):
    def __init__(self, error: str, description: str, status: int = 400, retry_after: int = 0) -> None:
        super().__init__(description)
        self.error = error
        self.description = description
        self.status = status
        self.retry_after = retry_after
        """In seconds; 0 leaves the header Retry-After out."""


def invalid_grant(why: str) -> OAuthError:
    return OAuthError("invalid_grant", why)
