"""Checks the claims of a genuine token (its kind, audience and times) and turns them into an identity."""

from __future__ import annotations

import re
from collections.abc import Mapping

from canton.contracts.identity import Identity
from canton.domain.errors import TokenExpired, TokenInvalid
from canton.drivers.oidc.issuer import IssuerSettings
from canton.drivers.oidc.mapping import bindings_of, values_at
from canton.drivers.oidc.token import UnverifiedToken

MICROSECONDS = 1_000_000
# Seconds since 1970, in the year 9999.
_LATEST = 253_402_300_800
# No "/" and no ":": a principal is <issuer>:<username> and a group is <issuer>:group/<group>, so that a person who may
# choose a username could otherwise be a group.
_USERNAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,127}", re.ASCII)
_SUBJECT = re.compile(r"[\x21-\x7e]{1,255}", re.ASCII)
_WORDS = {
    _USERNAME: "up to 128 letters, digits and ._@+- that begin with a letter, a digit or _",
    _SUBJECT: "up to 255 visible ASCII characters",
}
# Claims of ID and logout tokens (OpenID Connect Core §2 and §3.3.2.11, Back-Channel Logout §2.4, FAPI 1 §5.1).
_NOT_OF_ACCESS_TOKENS = ("nonce", "at_hash", "c_hash", "s_hash", "events")
# Claims that only access tokens carry (RFC 9068 §2.2.3; Okta and Entra write scp).
_OF_ACCESS_TOKENS = ("scope", "scp")
# In Keycloak the username of a client's own account begins like this, and its tokens have these claims as well.
_SERVICE_ACCOUNT = "service-account-"
_OF_CLIENTS = ("clientId", "clientHost", "clientAddress")


def identify(token: UnverifiedToken, issuer: IssuerSettings, now: float) -> Identity:
    """The identity in a token whose signature was verified; raises TokenInvalid or TokenExpired."""
    claims = token.claims
    _check_kind(token, issuer)
    _check_unbound(claims)
    _check_audience(claims, issuer)
    expires_at = _check_times(claims, issuer, now)
    username = _text(claims, issuer.username_claim, _USERNAME, issuer)
    return Identity(
        issuer=issuer.name,
        username=username,
        subject=_text(claims, "sub", _SUBJECT, issuer),
        name=_name(claims) or username,
        expires_at=expires_at,
        groups=frozenset(group.removeprefix("/") for group in values_at(claims, issuer.groups_claim)),
        claims_bindings=bindings_of(claims, issuer.mapping),
        is_person=_is_person(claims, issuer, username),
    )


def _is_person(claims: Mapping[str, object], issuer: IssuerSettings, username: str) -> bool:
    """True if the token has a person's claim and shows neither a client that acts for itself nor a delegation.

    A person's claim alone is not enough: Keycloak adds a session to a client's own token if the client may refresh it.
    """
    names = (username, str(claims.get("preferred_username", "")))
    is_client = (
        any(claim in claims for claim in _OF_CLIENTS)
        or any(name.lower().startswith(_SERVICE_ACCOUNT) for name in names)
        or claims.get("sub") in [claims.get(client) for client in ("azp", "client_id", "cid")]  # RFC 9068 §2.2; Okta
        or claims.get("gty") == "client-credentials"  # Auth0
        or claims.get("idtyp") == "app"  # Entra
    )
    # RFC 8693 §4.1: with "act", another party uses this token, perhaps the very person who asked for a change.
    is_own = not is_client and "act" not in claims
    return is_own and any(claims.get(claim) for claim in issuer.person_claims)


def _check_kind(token: UnverifiedToken, issuer: IssuerSettings) -> None:
    """Keycloak writes the kind into the payload and JWT into every header; RFC 9068 writes at+jwt into the header."""
    if token.kind not in (None, "jwt", "at+jwt"):
        raise TokenInvalid("the token's typ is neither JWT nor at+jwt; send an access token")
    kind = token.claims.get("typ")
    if kind is not None:
        if not isinstance(kind, str) or kind.lower() != "bearer":
            raise TokenInvalid(
                "the token is not an access token (perhaps an ID or a refresh token); send the access token"
            )
    elif token.kind != "at+jwt":
        _check_unmarked(token.claims, issuer)


def _check_unmarked(claims: Mapping[str, object], issuer: IssuerSettings) -> None:
    """Without a mark, an ID token for the same audience differs from an access token in some claims only."""
    if not issuer.unmarked_tokens:
        raise TokenInvalid(
            "the token does not say that it is an access token (typ at+jwt in the header, or typ Bearer); send the "
            f"access token, or set issuers.{issuer.name}.unmarked_tokens if the issuer marks none"
        )
    looks_like_another = any(claim in claims for claim in _NOT_OF_ACCESS_TOKENS)
    if looks_like_another or not any(claim in claims for claim in _OF_ACCESS_TOKENS):
        raise TokenInvalid(
            "the token looks like an ID token: it has no scope, or a nonce or hash; send the access token"
        )


def _check_unbound(claims: Mapping[str, object]) -> None:
    """Only the holder of its key may use a bound token, and no request to Canton shows that (RFC 8705 §3)."""
    if "cnf" in claims:
        raise TokenInvalid("the token is bound to a key (cnf), which Canton cannot check; send one that is not")


def _check_audience(claims: Mapping[str, object], issuer: IssuerSettings) -> None:
    if not set(values_at(claims, "aud")) & set(issuer.audience):
        audiences = " or ".join(f'"{audience}"' for audience in issuer.audience)
        raise TokenInvalid(
            f"the token is not meant for Canton: its audience must hold {audiences}; see the client's mappers"
        )


def _check_times(claims: Mapping[str, object], issuer: IssuerSettings, now: float) -> int:
    expires, starts, issued = (_instant(claims, claim) for claim in ("exp", "nbf", "iat"))
    if expires is None:
        raise TokenInvalid("the token never expires (no exp); Canton takes short-lived tokens only")
    if now >= expires + issuer.skew:
        raise TokenExpired("the token has run out; log in again, or refresh it")
    for instant in (starts, issued):
        if instant is not None and instant > now + issuer.skew:
            raise TokenInvalid("the token is from the future; compare the clocks of the issuer and of this server")
    if expires - (now if issued is None else issued) > issuer.longest_lifetime:
        raise TokenInvalid(f"the token lives longer than {issuer.longest_lifetime} s; ask the issuer for a shorter one")
    return int(expires * MICROSECONDS)


def _instant(claims: Mapping[str, object], claim: str) -> float | None:
    value = claims.get(claim)
    if value is None:
        return None
    # Python reads NaN in JSON as a number, and 10**400 as one that no float can hold.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LATEST:
        raise TokenInvalid(f"the token's {claim} is not an instant in seconds; get one from the issuer")
    return value


def _text(claims: Mapping[str, object], claim: str, pattern: re.Pattern[str], issuer: IssuerSettings) -> str:
    value = claims.get(claim)
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise TokenInvalid(
            f"the token of issuer {issuer.name} has no usable {claim}: {_WORDS[pattern]}; is the claim mapped?"
        )
    return value


def _name(claims: Mapping[str, object]) -> str:
    value = claims.get("name")
    return value[:200].strip() if isinstance(value, str) and value.isprintable() else ""
