"""Contexts: named servers and tenants, in the user's file over the system's.

    current = "alps"

    [contexts.alps]
    server = "https://canton.example.org"
    tenant = "psi"
    read_only = true

A file holds no secrets. Editing changes only the necessary lines and keeps comments; a file whose layout it does not
understand is not changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from canton.cli.session import paths as places
from canton.domain.errors import InvalidSetting, NotFound

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class Context(NamedTuple):
    """The keys that a context can have in the file."""

    server: str | None = None
    tenant: str | None = None
    ca: str | None = None
    read_only: bool = False
    plain_http: bool = False


class Contexts(NamedTuple):
    """All contexts of the files, and the name of the current one."""

    current: str | None
    by_name: Mapping[str, Context]

    def get(self, name: str) -> Context:
        if name in self.by_name:
            return self.by_name[name]
        from canton.cli.output.formats import nearest  # noqa: PLC0415 (only mistakes pay)

        names = ", ".join(sorted(self.by_name)) or "none yet; create one with: canton context set NAME --server URL"
        raise UnknownContext(f'there is no context "{name}"{nearest(name, self.by_name, f"there are: {names}")}')


def require_address(server: str) -> None:
    """Refuse what is not the address of a server, as typed."""
    if not re.match(r"https?://[^/]", server):
        raise InvalidSetting(f'"{server}" is not the address of a server; write it as https://canton.example.org')


class UnknownContext(NotFound):
    """No context has this name."""

    code = "unknown-context"


def load(environ: Mapping[str, str] = os.environ) -> Contexts:
    """The contexts of the system's file, overlaid with the user's."""
    current: str | None = None
    merged: dict[str, dict[str, Any]] = {}
    for path in (places.SYSTEM_CONFIG, places.user_config(environ)):
        document = read(path)
        current = document.get("current", current)
        for name, keys in document.get("contexts", {}).items():
            merged[name] = merged.get(name, {}) | keys
    return Contexts(current, {name: Context(**keys) for name, keys in merged.items()})


def read(path: Path) -> dict[str, Any]:
    """One file, checked; empty if it is not there."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"{path} cannot be read: {error}") from error
    return parse(text, path)


def parse(text: str, path: Path) -> dict[str, Any]:
    """The contents of a file, every key known and of its type."""
    import tomllib  # noqa: PLC0415 (8 ms that only those pay who have a file)

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidSetting(f"{path} is not TOML: {error}") from error
    _check_keys(document, {"current": str, "contexts": dict}, f"{path}:")
    for name, keys in document.get("contexts", {}).items():
        if not isinstance(keys, dict):
            raise InvalidSetting(
                f"{path}: contexts.{name} is not a table; write [contexts.{name}] on a line of its own"
            )
        kinds = {key: bool if Context._field_defaults[key] is False else str for key in Context._fields}
        _check_keys(keys, kinds, f"{path}: [contexts.{name}]")
    return document


def _check_keys(table: Mapping[str, Any], kinds: Mapping[str, type], where: str) -> None:
    for key, value in table.items():
        if key not in kinds:
            from canton.cli.output.formats import nearest  # noqa: PLC0415 (only mistakes pay)

            secret = "; secrets do not belong here, use: canton login" if "token" in key else ""
            raise InvalidSetting(f'{where} unknown key "{key}"{nearest(key, kinds) or secret}')
        if not isinstance(value, kinds[key]):
            kind_text = {bool: "true or false", str: "a string in quotes", dict: "a table"}[kinds[key]]
            raise InvalidSetting(f"{where} {key} must be {kind_text}, not {value!r}")


def use(path: Path, name: str | None) -> None:
    """Make a context the current one."""
    lines = _lines(path)
    top = next((n for n, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    other_lines = [line for line in lines[:top] if not re.match(r"\s*current\s*=", line)]
    current_line = [] if name is None else [f'current = "{name}"']
    tables = lines[top:]
    _save(
        path,
        [*current_line, *other_lines, *([""] if current_line and tables and not other_lines else []), *tables],
        {"current": name},
        None,
    )


def put(path: Path, name: str, keys: Mapping[str, str | bool | None]) -> None:
    """Set keys of a context, created if it is not there; None takes a key away."""
    if not NAME.fullmatch(name):
        raise InvalidSetting(f'"{name[:80]}" cannot name a context; use letters, digits, ".", "_" and "-", at most 63')
    lines = _lines(path)
    start, end = _section(lines, name)
    body = [line for line in lines[start + 1 : end] if _key(line) not in keys]
    while body and not body[-1].strip():
        body.pop()
    body += [f"{key} = {_literal(value)}" for key, value in keys.items() if value is not None]
    if start == len(lines):
        lines = [*lines, *([""] if lines else [])]
        start = end = len(lines)
    tail = [""] if end < len(lines) else []
    _save(path, [*lines[:start], f"[contexts.{_quoted(name)}]", *body, *tail, *lines[end:]], {}, (name, keys))


def remove(path: Path, name: str) -> None:
    """Take a context out of the file."""
    lines = _lines(path)
    start, end = _section(lines, name)
    _save(path, [*lines[:start], *lines[end:]], {}, (name, None))


def _lines(path: Path) -> list[str]:
    read(path)
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _section(lines: list[str], name: str) -> tuple[int, int]:
    """The first line of a context and the line after its last; both the end if it is not there."""
    header = re.compile(rf"""\s*\[\s*contexts\s*\.\s*(["']?){re.escape(name)}\1\s*\]\s*(#.*)?""")
    start = next((n for n, line in enumerate(lines) if header.fullmatch(line)), len(lines))
    end = next((n for n in range(start + 1, len(lines)) if lines[n].lstrip().startswith("[")), len(lines))
    return start, end


def _key(line: str) -> str:
    return line.partition("=")[0].strip()


def _literal(value: str | bool) -> str:
    import json  # noqa: PLC0415 (a basic string of TOML is written as one of JSON)

    return json.dumps(value, ensure_ascii=False)


def _quoted(name: str) -> str:
    return f'"{name}"' if "." in name else name


def _save(
    path: Path, lines: list[str], top: Mapping[str, Any], section: tuple[str, Mapping[str, Any] | None] | None
) -> None:
    """Write the lines, atomically, if they parse to the intended content and change nothing else."""
    intended = read(path)
    intended.update(top)
    if section is not None:
        name, keys = section
        tables = intended.setdefault("contexts", {})
        tables[name] = None if keys is None else {**tables.get(name, {}), **keys}
    text = "".join(f"{line}\n" for line in lines)
    if not _parses_to(text, intended, path):
        raise InvalidSetting(f"{path} has a layout that this command cannot edit; edit the file by hand")
    _replace(path, text)


def _parses_to(text: str, intended: Mapping[str, Any], path: Path) -> bool:
    try:
        return _without_none(parse(text, path)) == _without_none(intended)
    except InvalidSetting:
        return False


def _without_none(document: Mapping[str, Any]) -> dict[str, Any]:
    trimmed = {k: _without_none(v) if isinstance(v, dict) else v for k, v in document.items() if v is not None}
    if not trimmed.get("contexts", True):
        del trimmed["contexts"]
    return trimmed


def _replace(path: Path, text: str) -> None:
    real = path.resolve()
    real.parent.mkdir(parents=True, exist_ok=True)
    new = real.with_name(f".{real.name}.{os.getpid()}")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(real)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise InvalidSetting(f"{path} cannot be written: {error.strerror}") from error
