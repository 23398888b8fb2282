"""What a site sets: by flag, else by environment variable, else in a file, else a default that suits a laptop.

``TABLE`` is all of it: what is not there is refused, and the reference page is drawn from it. The environment
variable of ``api.listen`` is ``CANTON_API_LISTEN``; what belongs to a named table (``[sites.alps]``) is set in the
file only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from canton.domain.errors import InvalidSetting
from canton.setting_kinds import (
    ADDRESS,
    FLAG,
    LIST,
    NETWORKS,
    PATH,
    TABLES,
    Address,
    Kind,
    choice,
    duration,
    number,
    size,
    text,
    url,
)
from canton.setting_sources import REQUIRED, Effective, InState, Setting, gather, variable

DATABASE = "CANTON_DATABASE"
CONFIG = "CANTON_CONFIG"
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Api:
    listen: Address
    public_url: str | None
    tls_certificate: Path | None
    tls_key: Path | None
    body_limit: int
    import_limit: int
    header_limit: int
    timeout: float
    rate: int
    rate_without_roles: int
    rate_without_token: int
    concurrency: int
    readers: int
    readers_each: int
    readers_tenant: int
    readers_reserve: int
    drain: float
    proxies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Worker:
    lease: float
    operations: int
    parallel: int
    per_device: int
    sweep: float
    grace: float
    power_interval: float


@dataclass(frozen=True, slots=True)
class Log:
    format: str
    level: str


@dataclass(frozen=True, slots=True)
class Policy:
    two_person: tuple[str, ...]
    approval_ttl: float
    token_ttl: float
    token_ttl_limit: float


@dataclass(frozen=True, slots=True)
class EmbeddedIssuer:
    name: str
    enabled: bool
    state: Path
    users: Path | None
    allow_remote: bool


@dataclass(frozen=True, slots=True)
class IssuerEntry:
    """Either ``preset`` or ``rules`` says how claims become bindings; neither gives none."""

    name: str
    url: str
    audience: tuple[str, ...]
    client_id: str
    preset: str | None
    rules: tuple[Mapping[str, object], ...]
    username_claim: str
    groups_claim: str
    person_claims: tuple[str, ...]
    unmarked_tokens: bool
    ca: Path | None
    skew: float
    longest_lifetime: float
    keys_for: float
    outage: float


@dataclass(frozen=True, slots=True)
class RoleEntry:
    name: str
    scope: str
    permissions: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class SiteEntry:
    name: str
    power: str
    url: str | None
    ca: Path | None
    client_id: str
    secret_file: Path | None
    folder: Path | None
    latency: float


@dataclass(frozen=True, slots=True)
class Settings:
    """``database`` is an address such as ``sqlite:////var/lib/canton/canton.db`` or ``postgresql://user@host/name``."""

    database: str
    api: Api
    worker: Worker
    log: Log
    policy: Policy
    embedded_issuer: EmbeddedIssuer
    issuers: Mapping[str, IssuerEntry] = field(default_factory=dict)
    roles: Mapping[str, RoleEntry] = field(default_factory=dict)
    sites: Mapping[str, SiteEntry] = field(default_factory=dict)

    @property
    def issuer_names(self) -> list[str]:
        """What the names of people can begin with, the embedded issuer's included."""
        embedded = {self.embedded_issuer.name} if self.embedded_issuer.enabled else set()
        return sorted({*self.issuers, *embedded})


def _api(name: str, kind: Kind, default: object, meaning: str) -> Setting:
    return Setting(f"api.{name}", kind, default, meaning)


def _issuer(name: str, kind: Kind, default: object, meaning: str) -> Setting:
    return Setting(f"issuers.*.{name}", kind, default, meaning)


TABLE = (
    Setting(
        "database",
        text("postgresql://canton@db.example.org/canton"),
        InState("canton.db", "sqlite:///"),
        "sqlite:///path or postgresql://user@host/name",
        secret=True,
    ),
    _api("listen", ADDRESS, Address("127.0.0.1", 8700), "where the API listens; port 0 takes any free one"),
    _api("public_url", url("https://canton.example.org"), None, "what clients call this server; else where it listens"),
    _api("tls_certificate", PATH, None, "certificate chain, PEM; without it the API speaks plain HTTP"),
    _api("tls_key", PATH, None, "private key of the certificate, PEM"),
    _api("body_limit", size(1024), 2**20, "largest body of a request"),
    _api("import_limit", size(1024), 16 * 2**20, "largest body of an import of nodes"),
    _api("header_limit", number(8, 1000), 64, "most headers of a request"),
    _api("timeout", duration(0.1, 3600), 30.0, "how long a request may take; followers of events are not cut"),
    _api("rate", number(1, 1_000_000), 200, "requests a second that one principal may send, to this server"),
    _api("rate_without_roles", number(1, 1_000_000), 5, "the same for a principal that is bound to no role"),
    _api("rate_without_token", number(1, 1_000_000), 20, "the same for an address, of requests without a good token"),
    _api("concurrency", number(1, 10_000), 128, "requests under way at a time; more are told to try again"),
    _api("readers", number(1, 100_000), 2000, "followers of events at a time"),
    _api("readers_each", number(1, 100_000), 100, "of these, followers with one name"),
    _api("readers_tenant", number(1, 100_000), 500, "of these, one tenant's members and service accounts together"),
    _api("readers_reserve", number(0, 100_000), 200, "of these, only for followers of the provider"),
    _api("drain", duration(0, 600), 20.0, "how long a stop waits for requests under way"),
    _api("proxies", NETWORKS, (), "proxies whose X-Forwarded-For and X-Forwarded-Proto are believed"),
    Setting("worker.lease", duration(1, 3600), 15.0, "a dead worker's operations are taken over after this time"),
    Setting("worker.operations", number(1, 10_000), 32, "operations that a worker drives at a time"),
    Setting("worker.parallel", number(1, 10_000), 16, "device calls at a time for one operation"),
    Setting("worker.per_device", number(1, 10_000), 4, "device calls at a time for one device, by one worker"),
    Setting("worker.sweep", duration(1, 3600), 60.0, "how long a worker sleeps at most"),
    Setting("worker.grace", duration(0, 3600), 30.0, "how long a worker's stop waits for device calls under way"),
    Setting("worker.power_interval", duration(1, DAY), 30.0, "how often the power of a site's nodes is read"),
    Setting("log.format", choice("auto", "json", "console"), "auto", "auto: console on a terminal, else JSON"),
    Setting("log.level", choice("debug", "info", "warning", "error"), "info", "the least that is logged"),
    Setting("policy.two_person", LIST, (), "permissions whose use a second person must approve"),
    Setting("policy.approval_ttl", duration(1, 30 * DAY), 3600.0, "how long a change waits for a second person"),
    Setting("policy.token_ttl", duration(1, 365 * DAY), 3600.0, "life of a service account's token, unless it asks"),
    Setting("policy.token_ttl_limit", duration(1, 365 * DAY), 30 * DAY, "longest life it may ask for"),
    Setting("embedded_issuer.name", text("local"), "local", "what its people's names begin with: local:alice"),
    Setting("embedded_issuer.enabled", FLAG, False, "an issuer for laptops and demos at /issuer"),
    Setting("embedded_issuer.state", PATH, InState("issuer.db"), "file that keeps its keys"),
    Setting("embedded_issuer.users", PATH, None, "TOML file of its users"),
    Setting("embedded_issuer.allow_remote", FLAG, False, "let it run when the API listens beyond this machine"),
    _issuer("url", url("https://login.example.org/realms/hpc"), REQUIRED, "the issuer, as its tokens name it"),
    _issuer("audience", LIST, ("canton",), "a token must be meant for one of these"),
    _issuer("client_id", text("canton"), "canton", "the client that `canton login` says it is"),
    _issuer("preset", choice("csm", "keycloak-groups", "flat"), None, "how claims become bindings, ready-made"),
    _issuer("rules", TABLES, (), "how claims become bindings: tables of claim, match, role, tenant, except"),
    _issuer("username_claim", text("preferred_username"), "preferred_username", "the claim that names somebody"),
    _issuer("groups_claim", text("groups"), "groups", "the claim that lists somebody's groups"),
    _issuer("person_claims", LIST, ("sid", "session_state"), "a token with none of these claims is a machine's"),
    _issuer("unmarked_tokens", FLAG, False, "take access tokens with neither typ at+jwt nor typ Bearer"),
    _issuer("ca", PATH, None, "certificates to trust for the issuer, PEM; else the system's"),
    _issuer("skew", duration(0, 120), 30.0, "how far the issuer's clock may be off"),
    _issuer("longest_lifetime", duration(60, 30 * DAY), DAY, "a token that lives longer is refused"),
    _issuer("keys_for", duration(1, DAY), 300.0, "how long its keys are taken as current"),
    _issuer("outage", duration(1, 7 * DAY), 3600.0, "how long they serve while the issuer does not answer"),
    Setting("roles.*.scope", choice("provider", "tenant"), REQUIRED, "where the role can be bound"),
    Setting("roles.*.permissions", LIST, REQUIRED, "what it holds; `canton role list` shows all there are"),
    Setting("roles.*.description", text("starts and stops nodes"), "", "what it is for"),
    Setting("sites.*.power", choice("csm", "demo"), REQUIRED, "what switches power there; demo: a folder of files"),
    Setting("sites.*.url", url("https://api.example.org"), None, "csm: the address of the API gateway"),
    Setting("sites.*.ca", PATH, None, "csm: the authorities to trust, in PEM; else those of the system"),
    Setting("sites.*.client_id", text("admin-client"), "admin-client", "csm: the client at its Keycloak"),
    Setting("sites.*.secret_file", PATH, None, "csm: a file with that client's secret"),
    Setting("sites.*.folder", PATH, None, "demo: the folder, one file a node"),
    Setting("sites.*.latency", duration(0, 60), 0.0, "demo: how long a switch takes for each node"),
)


@dataclass(frozen=True, slots=True)
class Flags:
    """What the command line says; it wins over everything else."""

    config: Path | None = None
    database: str | None = None
    listen: str | None = None


def load(environment: Mapping[str, str], database: str | None = None) -> Settings:
    """``database`` is what the flag says."""
    return build(effective(environment, Flags(database=database)))


def effective(environment: Mapping[str, str], flags: Flags) -> tuple[Effective, ...]:
    """Every setting with its value and where that came from; all mistakes in one ``InvalidSetting``."""
    given = {"database": flags.database, "api.listen": flags.listen}
    spoken = {key: value for key, value in given.items() if value}
    return gather(TABLE, environment, spoken, flags.config or environment.get(CONFIG) or None)


def build(values: tuple[Effective, ...]) -> Settings:
    tree: dict[str, Any] = {"issuers": {}, "roles": {}, "sites": {}}
    for each in values:
        *tables, name = each.key.split(".")
        table = tree
        for part in tables:
            table = table.setdefault(part, {})
        table[name] = each.value
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
    _check_together(settings)
    return settings


_NEEDED = {
    "demo": [("folder", "add the folder that holds one file a node")],
    "csm": [
        ("url", "add the address of the API gateway"),
        ("secret_file", "add the file with the client's secret (Kubernetes has it in admin-client-auth)"),
    ],
}


def _check_together(settings: Settings) -> None:
    """What no single value shows."""
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


def variables() -> dict[str, str]:
    """The environment variable of each setting that has one."""
    return {setting.key: variable(setting.key) for setting in TABLE if "*" not in setting.key}
