"""Constructs the issuers whose tokens are accepted: those of the configuration, and the embedded one for laptops."""

from __future__ import annotations

import sqlite3
import stat
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path

from fastapi import FastAPI

from canton.domain.errors import InvalidSetting, IssuerUnavailable
from canton.drivers.oidc.fetch import Fetch, fetcher
from canton.drivers.oidc.issuer import IssuerSettings
from canton.drivers.oidc.keyring import DISCOVERY
from canton.drivers.oidc.mapping import NOT_TENANTS, Rule, preset
from canton.drivers.oidc.verify import OidcVerifier
from canton.issuer.app import create_issuer
from canton.issuer.keys import published
from canton.issuer.passwords import is_hash
from canton.issuer.settings import Client, EmbeddedIssuer, User
from canton.issuer.state import State
from canton.settings.model import IssuerEntry, Settings

MOUNT = "/issuer"
# Stands for any port (RFC 8252 §7.3).
CALLBACK = "http://127.0.0.1/callback"


def make_verifier(settings: Settings, url: str) -> OidcVerifier:
    """``url`` is where clients find this server, and so its embedded issuer."""
    trusted = [_trusted(entry) for entry in settings.issuers.values()]
    if settings.embedded_issuer.enabled:
        mapping = (*preset("keycloak-groups"), *preset("flat"))
        name, people = settings.embedded_issuer.name, ("amr",)
        trusted.append(IssuerSettings(name, url + MOUNT, ("canton",), mapping, person_claims=people))

    def fetching(issuer: IssuerSettings) -> Fetch:
        own = issuer.url == url + MOUNT
        return _own_documents(issuer.url, settings.embedded_issuer.state) if own else fetcher(issuer.ca_file)

    return OidcVerifier(trusted, fetching=fetching)


def _own_documents(url: str, state: Path) -> Fetch:
    """Reads the embedded issuer's documents from its file: over HTTP, a server would wait for itself."""

    def fetch(address: str) -> dict[str, object]:
        if address.endswith(DISCOVERY):
            return {"issuer": url, "jwks_uri": f"{url}/jwks"}
        try:
            with State(state).transaction() as connection:
                return published(connection)
        except (InvalidSetting, sqlite3.Error) as error:
            raise IssuerUnavailable("the embedded issuer's keys cannot be read", cause=str(error)) from error

    return fetch


def make_issuer(settings: Settings, url: str) -> FastAPI | None:
    """The embedded issuer, to be mounted at ``MOUNT``; None unless it is enabled."""
    return create_issuer(embedded(settings, url)) if settings.embedded_issuer.enabled else None


def embedded(settings: Settings, url: str) -> EmbeddedIssuer:
    configured = settings.embedded_issuer
    if configured.users is None:
        raise InvalidSetting("embedded_issuer is enabled and has no users; name a TOML file in embedded_issuer.users")
    if not configured.allow_remote and not ip_address(settings.api.listen.host).is_loopback:
        raise InvalidSetting(
            f"embedded_issuer is for this machine only, and api.listen is {settings.api.listen}; listen on 127.0.0.1, "
            "use a real issuer, or set embedded_issuer.allow_remote"
        )
    grants = ("authorization_code", "refresh_token", "device_code")
    cli = Client("canton", None, (CALLBACK,), grants, name="canton on the command line")
    return EmbeddedIssuer(
        url + MOUNT, configured.state, _users(configured.users), (cli,), allow_remote=configured.allow_remote
    )


def _trusted(entry: IssuerEntry) -> IssuerSettings:
    return IssuerSettings(
        name=entry.name,
        url=entry.url,
        audience=entry.audience,
        mapping=preset(entry.preset) if entry.preset else tuple(_rule(entry.name, rule) for rule in entry.rules),
        ca_file=entry.ca,
        username_claim=entry.username_claim,
        groups_claim=entry.groups_claim,
        person_claims=entry.person_claims,
        unmarked_tokens=entry.unmarked_tokens,
        skew=int(entry.skew),
        longest_lifetime=int(entry.longest_lifetime),
        keys_for=entry.keys_for,
        outage=entry.outage,
    )


def _rule(issuer: str, table: Mapping[str, object]) -> Rule:
    where = f"a rule of issuers.{issuer}"
    _check(where, table, needed=("claim", "match", "role"), texts=("tenant",), lists=("except",))
    tenant, excepted = table.get("tenant"), table.get("except")
    return Rule(
        claim=str(table["claim"]),
        match=str(table["match"]),
        role=str(table["role"]),
        tenant=None if tenant is None else str(tenant),
        except_=_texts(excepted) if excepted is not None else NOT_TENANTS,
    )


def _users(path: Path) -> tuple[User, ...]:
    """``[users.alice]`` with password, name, groups and roles."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidSetting(f"embedded_issuer.users: cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"embedded_issuer.users: {path} is not TOML: {error}") from error
    entries = table.get("users")
    if not isinstance(entries, dict) or not entries or len(table) > 1:
        raise InvalidSetting(f"{path} must hold tables such as [users.alice], and nothing else")
    users = tuple(_user(path, name, entry) for name, entry in entries.items())
    _check_mode(path, plain=not all(is_hash(user.password) for user in users))
    return users


def _check_mode(path: Path, *, plain: bool) -> None:
    """Others may read a file with hashes only, and change none: who can change it can log in as any user."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if plain and mode & 0o077:
        raise InvalidSetting(
            f"{path} holds passwords in the clear and others may read or change it (mode {mode:04o}); "
            f"run: chmod 600 {path}, or write hashes, made with: canton admin hash-password"
        )
    if mode & 0o022:
        raise InvalidSetting(f"{path} may be changed by others (mode {mode:04o}); run: chmod go-w {path}")


def _user(path: Path, name: str, entry: object) -> User:
    where = f"users.{name} in {path}"
    if not isinstance(entry, dict):
        raise InvalidSetting(f"{where} is not a table; write [users.{name}]")
    _check(where, entry, needed=("password",), texts=("name",), lists=("groups", "roles"))
    return User(
        username=name,
        name=str(entry.get("name", name)),
        password=str(entry["password"]),
        groups=_texts(entry.get("groups")),
        roles=_texts(entry.get("roles")),
    )


def _check(
    where: str, table: Mapping[str, object], needed: tuple[str, ...], texts: tuple[str, ...], lists: tuple[str, ...]
) -> None:
    allowed = (*needed, *texts, *lists)
    for name, value in table.items():
        if name not in allowed:
            near = get_close_matches(name, allowed, 1)
            raise InvalidSetting(
                f'{where} has "{name}"; ' + (f'did you mean "{near[0]}"?' if near else f"write {', '.join(allowed)}")
            )
        good = (
            isinstance(value, str) if name not in lists else isinstance(value, list) and _texts(value) == tuple(value)
        )
        if not good:
            raise InvalidSetting(f"{where}: {name} must be {'a list of texts' if name in lists else 'text'}")
    missing = [name for name in needed if name not in table]
    if missing:
        raise InvalidSetting(f"{where} has no {' and no '.join(missing)}; add it")


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
