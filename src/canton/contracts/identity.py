"""The caller, as a verified token names it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ClaimBinding:
    """A role that the issuer vouches for; ``tenant`` is None for a role at the provider."""

    role: str
    tenant: str | None


@dataclass(frozen=True, slots=True)
class Identity:
    """``issuer`` is the short name that the site gave to the issuer, ``expires_at`` is in microseconds.

    Within an issuer, people and bindings use ``username``; ``subject`` never changes.
    ``is_person`` is False for a client that acts for itself, and if the token does not show which it is.
    """

    issuer: str
    username: str
    subject: str
    name: str
    expires_at: int
    groups: frozenset[str]
    claims_bindings: tuple[ClaimBinding, ...]
    is_person: bool


class TokenVerifier(Protocol):
    """Called from many threads at once."""

    def verify(self, token: str) -> Identity:
        """Raise TokenInvalid, TokenExpired or IssuerUnavailable; no message holds any part of the token."""
        ...
