"""The settings of an issuer whose tokens Canton accepts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from canton.domain.errors import InvalidSetting
from canton.drivers.oidc.fetch import check_address
from canton.drivers.oidc.mapping import Rule

LONGEST_SKEW = 120
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}", re.ASCII)


@dataclass(frozen=True, slots=True)
class IssuerSettings:
    """Times are in seconds.

    ``url`` equals the claim ``iss`` of its tokens, to the letter. ``audience``: a token must be for one of these.
    ``keys_for`` is how long fetched keys are used before they are fetched again, ``outage`` how much longer they are
    used while the issuer does not answer, ``refetch_after`` the shortest time between two fetches, whatever tokens
    arrive. ``person_claims``: a token with none of these does not count as a person's. ``unmarked_tokens``: accept
    access tokens that are not marked as access tokens.
    """

    name: str
    url: str
    audience: tuple[str, ...]
    mapping: tuple[Rule, ...] = ()
    ca_file: Path | None = None
    username_claim: str = "preferred_username"
    groups_claim: str = "groups"
    person_claims: tuple[str, ...] = ("sid", "session_state")
    unmarked_tokens: bool = False
    skew: int = 30
    longest_lifetime: int = 86_400
    keys_for: float = 300
    outage: float = 3_600
    refetch_after: float = 10

    def __post_init__(self) -> None:
        # The principals of service accounts begin with "service:".
        if not _NAME.fullmatch(self.name) or self.name == "service":
            raise InvalidSetting(
                f'"{self.name}" cannot name an issuer; write up to 31 of a-z, 0-9 and "-", first a letter, '
                'and not "service"'
            )
        check_address(self.url, f"the url of issuer {self.name}")
        if "?" in self.url:  # OpenID Connect Discovery §3; keys may be at an address with one
            raise InvalidSetting(f'the url of issuer {self.name} must have no query; found "{self.url}"')
        if not self.audience or not all(self.audience):
            raise InvalidSetting(f"issuer {self.name} has no audience; name the one its tokens for Canton carry")
        self._check_times()

    def _check_times(self) -> None:
        if not 0 <= self.skew <= LONGEST_SKEW:
            raise InvalidSetting(
                f"issuer {self.name}: skew must be 0 to {LONGEST_SKEW} s, found {self.skew}; set the clocks instead"
            )
        for field in ("longest_lifetime", "keys_for", "outage", "refetch_after"):
            if getattr(self, field) <= 0:
                raise InvalidSetting(f"issuer {self.name}: {field} must be more than 0 s, found {getattr(self, field)}")
