"""Reads the settings of this process: flag before environment variable before file before default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from canton.domain.errors import InvalidSetting
from canton.settings.model import (
    Api,
    EmbeddedIssuer,
    IssuerEntry,
    Log,
    Policy,
    RoleEntry,
    Settings,
    SiteEntry,
    Worker,
)
from canton.settings.settings_table import TABLE
from canton.settings.sources import EffectiveValue, collect

DATABASE = "CANTON_DATABASE"
CONFIG = "CANTON_CONFIG"


@dataclass(frozen=True, slots=True)
class Flags:
    """The options of the command line that are settings."""

    config: Path | None = None
    database: str | None = None
    listen: str | None = None


def load(environment: Mapping[str, str], database: str | None = None) -> Settings:
    """The settings of this process; ``database`` is the value of the option ``--database``."""
    return build(effective(environment, Flags(database=database)))


def effective(environment: Mapping[str, str], flags: Flags) -> tuple[EffectiveValue, ...]:
    """Every setting with its value and the value's origin. One ``InvalidSetting`` reports all mistakes."""
    options = {"database": flags.database, "api.listen": flags.listen}
    texts = {key: value for key, value in options.items() if value}
    return collect(TABLE, environment, texts, flags.config or environment.get(CONFIG) or None)


def build(values: tuple[EffectiveValue, ...]) -> Settings:
    """The typed settings; raises ``InvalidSetting`` if two values contradict each other."""
    tree: dict[str, Any] = {"issuers": {}, "roles": {}, "sites": {}}
    for it in values:
        *tables, name = it.key.split(".")
        table = tree
        for part in tables:
            table = table.setdefault(part, {})
        table[name] = it.value
    settings = Settings(
        tree["database"],
        Api(**tree["api"]),
        Worker(**tree["worker"]),
        Log(**tree["log"]),
        Policy(**tree["policy"]),
        EmbeddedIssuer(**tree["embedded_issuer"]),
        {name: IssuerEntry(name, **entry) for name, entry in tree["issuers"].items()},
        {name: RoleEntry(name, **entry) for name, entry in tree["roles"].items()},
        {name: SiteEntry(name, **entry) for name, entry in tree["sites"].items()},
    )
    _check_combinations(settings)
    return settings


# What each kind of power needs, with the advice for a site that lacks it.
_NEEDED = {
    "demo": [("folder", "add the folder that holds one file a node")],
    "csm": [
        ("url", "add the address of the API gateway"),
        ("secret_file", "add the file with the client's secret (Kubernetes has it in admin-client-auth)"),
    ],
}


def _check_combinations(settings: Settings) -> None:
    """Refuse settings that are right one by one and wrong together."""
    api, policy = settings.api, settings.policy
    mistakes = [
        f"issuers.{it.name} has both preset and rules; keep one"
        for it in settings.issuers.values()
        if it.preset and it.rules
    ]
    mistakes += [
        f"sites.{site.name} has power = {site.power} and no {needed}; {how}"
        for site in settings.sites.values()
        for needed, how in _NEEDED[site.power]
        if getattr(site, needed) is None
    ]
    if (api.tls_certificate is None) != (api.tls_key is None):
        mistakes.append("of api.tls_certificate and api.tls_key only one is set; set both, or neither for plain HTTP")
    if policy.token_ttl > policy.token_ttl_limit:
        mistakes.append("policy.token_ttl is longer than policy.token_ttl_limit; raise the limit or shorten the other")
    if mistakes:
        raise InvalidSetting("; ".join(mistakes), mistakes=list(mistakes))
