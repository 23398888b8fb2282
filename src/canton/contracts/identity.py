"""Who is asking: what a verified token says about its bearer."""

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

    Within an issuer ``username`` is what people and bindings call somebody, ``subject`` is what never changes.
    ``is_person`` is False for a client that acts for itself, and where the token does not tell.
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
