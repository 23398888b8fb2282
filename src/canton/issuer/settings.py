"""The settings of the embedded issuer: its address, its state file, its users and its clients."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from canton.domain.errors import InvalidSetting

ALGORITHMS = ("ES256", "RS256", "EdDSA")
GRANTS = ("authorization_code", "refresh_token", "client_credentials", "device_code")
SERVICE_ACCOUNT = "service-account-"
"""The prefix of a client's own username, as in Keycloak; users cannot have such a name."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,127}", re.ASCII)


@dataclass(frozen=True, slots=True)
class User:
    """``password`` is a hash made by ``passwords.hash_password``, or, for a demo, the plain text."""

    username: str
    name: str
    password: str = field(repr=False)
    groups: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Client:
    """Without ``secret`` it is public: a program on a user's machine, or a page in a browser.

    A redirect address is compared exactly; only for a public client, one such as ``http://127.0.0.1/callback``
    stands for every port (RFC 8252 §7.3). ``groups`` and ``roles`` are its own, for ``client_credentials``. ``name`` is
    shown to people instead of the id.
    """

    id: str
    secret: str | None = field(default=None, repr=False)
    redirect_uris: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    name: str = ""

    @property
    def display_name(self) -> str:
        return self.name or self.id


@dataclass(frozen=True, slots=True)
class EmbeddedIssuer:
    """``url`` is the public address under which it is mounted; times are in seconds."""

    url: str
    state: Path
    users: tuple[User, ...]
    clients: tuple[Client, ...]
    audience: str = "canton"
    algorithm: str = "ES256"
    allow_remote: bool = False
    access_lifetime: int = 300
    login_lifetime: int = 8 * 3600
    code_lifetime: int = 60
    device_lifetime: int = 600
    device_interval: int = 5

    def __post_init__(self) -> None:
        _check_address(self.url, allow_remote=self.allow_remote)
        if self.algorithm not in ALGORITHMS:
            raise InvalidSetting(
                f'the issuer cannot sign with "{self.algorithm}"; choose one of {", ".join(ALGORITHMS)}'
            )
        _check_names("user", [user.username for user in self.users])
        _check_names("client", [client.id for client in self.clients])
        for user in self.users:
            if not user.password or user.username.startswith(SERVICE_ACCOUNT):
                raise InvalidSetting(
                    f'user "{user.username}" needs a password, and a name that does not begin with "{SERVICE_ACCOUNT}"'
                )
        for client in self.clients:
            _check_client(client)

    @property
    def parts(self) -> SplitResult:
        return urlsplit(self.url)


def _check_address(url: str, *, allow_remote: bool) -> None:
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError as error:
        raise InvalidSetting(f"the issuer's url is not an address: {error}") from error
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment or url.endswith("/"):
        raise InvalidSetting(f'the issuer\'s url must look like http://127.0.0.1:8700/issuer; found "{url}"')
    if _loopback(host):
        return
    if not allow_remote:
        raise InvalidSetting(
            f"the embedded issuer works on this machine only, and {host} is another; use 127.0.0.1, or a real issuer "
            "such as Keycloak, or set allow_remote if you know what you do"
        )
    if parts.scheme != "https":
        raise InvalidSetting(f"passwords would go to {host} in the clear; use an https:// url")


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_names(what: str, names: Iterable[str]) -> None:
    unique: set[str] = set()
    for name in names:
        if not _NAME.fullmatch(name) or name in unique:
            raise InvalidSetting(
                f'the {what} "{name}" appears twice, or is not up to 128 letters, digits and ._@+- that begin with a '
                "letter, a digit or _"
            )
        unique.add(name)


def _check_client(client: Client) -> None:
    unknown = sorted(set(client.grants) - set(GRANTS))
    if unknown:
        raise InvalidSetting(f'client "{client.id}": there is no grant "{unknown[0]}"; choose from {", ".join(GRANTS)}')
    if "client_credentials" in client.grants and not client.secret:
        raise InvalidSetting(f'client "{client.id}" needs a secret to act for itself (client_credentials)')
    if "authorization_code" in client.grants and not client.redirect_uris:
        raise InvalidSetting(f'client "{client.id}" needs a redirect address for the grant authorization_code')
    for address in client.redirect_uris:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.fragment or not address.isascii():
            raise InvalidSetting(f'client "{client.id}": "{address}" is not an http(s) address without fragment')
