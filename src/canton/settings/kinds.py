"""The kinds of values: how a value is written in the file and in the environment, and which values are refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from math import inf
from pathlib import Path
from urllib.parse import urlsplit

NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
_AMOUNT = re.compile(r"(\d{1,12}(?:\.\d{1,6})?) ?([A-Za-z]*)")
_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"": 1.0, "B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class Kind:
    """``parse`` checks and converts a value from the file, and raises ``ValueError`` for a wrong one.

    ``from_text`` turns the text of a flag or an environment variable into what the file would hold. ``allowed``
    describes the right values in error messages and in the reference.
    """

    name: str
    allowed: str
    parse: Callable[[object], object]
    from_text: Callable[[str], object] = str


@dataclass(frozen=True, slots=True)
class Address:
    """A host and port to listen on."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def text(example: str) -> Kind:
    return Kind("text", f'text, such as "{example}"', _text)


def url(example: str) -> Kind:
    return Kind("URL", f'an http or https address, such as "{example}"', _url)


def number(least: int, most: int) -> Kind:
    def parse(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError
        return value

    return Kind("number", f"a whole number from {least} to {most}", parse, int)


def duration(least: float, most: float) -> Kind:
    limits = f"from {_plain(least)} to {_plain(most)} seconds"
    allowed = f'a duration {limits}, such as 30, "30s", "5m", "1h" or "7d"'
    return Kind("duration", allowed, _amount(_SECONDS, least, most))


def size(least: int) -> Kind:
    parse = _amount(_BYTES, least, inf)
    allowed = f'a size of at least {least} bytes, such as 65536, "64 KiB" or "1 MiB"'
    return Kind("size", allowed, lambda value: int(parse(value)))


def choice(*words: str) -> Kind:
    def parse(value: object) -> str:
        if value not in words:
            raise ValueError
        return str(value)

    return Kind("choice", f"one of {', '.join(words)}", parse)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError
    return value


class HoldsSecret(ValueError):
    """The value was refused and may hold a password, so a message must not repeat it."""


def _url(value: object) -> str:
    text = _text(value)
    # "canton settings" prints it, and clients receive it.
    if "@" in text.partition("://")[2].partition("/")[0] or ("@" in text and "://" not in text):
        raise HoldsSecret
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError
    return text


def _amount(units: Mapping[str, float], least: float, most: float) -> Callable[[object], float]:
    def parse(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError  # noqa: TRY004 (one error for every value that is refused)
        match = _AMOUNT.fullmatch(str(value))
        if match is None or match[2] not in units:
            raise ValueError
        amount = float(match[1]) * units[match[2]]
        if not least <= amount <= most:
            raise ValueError
        return amount

    return parse


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError  # noqa: TRY004
    return value


def _flag_from_text(text: str) -> object:
    return {"true": True, "false": False}.get(text, text)


def _list(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ValueError
    return tuple(value)


def _list_from_text(text: str) -> object:
    return [item.strip() for item in text.split(",") if item.strip()]


def _tables(value: object) -> tuple[Mapping[str, object], ...]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError
    return tuple(value)


def _networks(value: object) -> tuple[str, ...]:
    return tuple(str(ip_network(item)) if "/" in item else str(ip_address(item)) for item in _list(value))


def _address(value: object) -> Address:
    host, colon, port = _text(value).rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError
    if host.startswith("[") and host.endswith("]"):
        return Address(str(ip_address(host[1:-1])), int(port))
    if not _HOST.fullmatch(host):
        raise ValueError
    return Address(host, int(port))


def _path(value: object) -> Path:
    try:
        return Path(_text(value)).expanduser()
    except RuntimeError as error:  # "~user/file", and the system has no such user
        raise ValueError from error


def _plain(value: float) -> str:
    return f"{value:g}" if value < 1e6 else f"{value:.0f}"


PATH = Kind("path", 'a path, such as "/etc/canton/users.toml"', _path)
FLAG = Kind("flag", "true or false", _flag, _flag_from_text)
LIST = Kind("list", 'a list of texts, such as ["tenant.delete"]', _list, _list_from_text)
TABLES = Kind("list of tables", "a list of tables", _tables)
NETWORKS = Kind(
    "list", 'a list of addresses or networks, such as ["127.0.0.1", "10.0.0.0/8"]', _networks, _list_from_text
)
ADDRESS = Kind("address", 'host:port, such as "127.0.0.1:8700" or "[::1]:8700"', _address)
