"""Errors as OAuth has them (RFC 6749 §5.2): a word for programs, and a sentence."""

from __future__ import annotations


class OAuthError(Exception):
    def __init__(self, error: str, description: str, status: int = 400, retry_after: int = 0) -> None:
        super().__init__(description)
        self.error = error
        self.description = description
        self.status = status
        self.retry_after = retry_after
        """In seconds; 0 to say nothing of it."""


def no_grant(why: str) -> OAuthError:
    return OAuthError("invalid_grant", why)
