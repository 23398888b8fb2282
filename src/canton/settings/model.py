"""The settings as the rest of Canton receives them: frozen and typed. Times are in seconds, sizes in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from canton.settings.kinds import Address


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
    """``preset`` or ``rules`` turns claims into bindings, never both; with neither, claims give no bindings."""

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
        """The names of the issuers, which are the first part of their users' names; with the embedded issuer's."""
        embedded = {self.embedded_issuer.name} if self.embedded_issuer.enabled else set()
        return sorted({*self.issuers, *embedded})
