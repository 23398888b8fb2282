"""Where settings come from, and what is said of a mistake: file and line, what was found, what is allowed, the nearest.

Nothing here knows a particular setting; ``settings.TABLE`` does. All mistakes are gathered before any is told.
"""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from canton.domain.database_address import holds_password
from canton.domain.errors import InvalidSetting
from canton.setting_kinds import NAME, HoldsSecret, Kind

FILE = Path("/etc/canton/server.toml")
PREFIX = "CANTON_"
# What else Canton reads from the environment, so that none of it is taken for a misspelt setting.
OTHERS = frozenset({"CONFIG", "DEBUG", "CONTEXT", "TOKEN", "TENANT", "OUTPUT", "SERVER"})
REQUIRED = object()
_HEADER = re.compile(r"\s*\[+([^\[\]]+)\]+")
_KEY = re.compile(r"\s*([\w.\"' -]+?)\s*=")


@dataclass(frozen=True, slots=True)
class InState:
    """A default below the folder that keeps a person's state."""

    name: str
    scheme: str = ""

    def under(self, environment: Mapping[str, str]) -> str:
        # XDG Base Directory Specification 0.8: a relative path is invalid and is to be ignored.
        home = Path(environment.get("XDG_STATE_HOME", ""))
        state = home if home.is_absolute() else Path.home() / ".local" / "state"
        return f"{self.scheme}{state / 'canton' / self.name}"


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of the table. ``*`` in the key stands for a name that the site chooses."""

    key: str
    kind: Kind
    default: object
    help: str
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Effective:
    """A value that holds, and who said so."""

    key: str
    value: object
    origin: str
    secret: bool = False


@dataclass(frozen=True, slots=True)
class File:
    """What a configuration file says, and on which lines."""

    path: str
    table: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)

    def where(self, key: str) -> str:
        line = self.lines.get(key)
        return f"{self.path} line {line}" if line else self.path


def gather(
    table: Iterable[Setting], environment: Mapping[str, str], flags: Mapping[str, str], config: Path | str | None
) -> tuple[Effective, ...]:
    """Flag, else environment, else file, else default; raises with every mistake that was found."""
    file = _read(config)
    found = Gathering({setting.key: setting for setting in table}, file)
    found.take_file()
    found.check_file_mode()
    found.take_environment(environment)
    for key, value in flags.items():
        found.take(key, value, f"--{key.rpartition('.')[2]}", "flag", read=True)
    values = tuple(found.complete(environment))
    if found.mistakes:
        several = f"{len(found.mistakes)} settings are wrong:\n  " if len(found.mistakes) > 1 else ""
        raise InvalidSetting(several + "\n  ".join(found.mistakes), mistakes=list(found.mistakes))
    return values


def check_secret_file(path: Path, what: str) -> None:
    """Refuse a file with a secret that others may read, or that they or its group may change; its group may read it."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError as error:
        raise InvalidSetting(f"{what} cannot be read: {error.strerror}") from error
    if mode & (stat.S_IRWXO | stat.S_IWGRP):
        raise InvalidSetting(
            f"{what} may be read or changed by others (mode {mode:04o}); run: chmod o-rwx,g-w {path}, and change the "
            "secret if others use this machine"
        )


def variable(key: str) -> str:
    return PREFIX + key.upper().replace(".", "_")


class Gathering:
    def __init__(self, settings: Mapping[str, Setting], file: File) -> None:
        self.settings = settings
        self.file = file
        self.mistakes: list[str] = []
        self.values: dict[str, Effective] = {}
        self.tables = {key.rpartition(".")[0] for key in settings} - {""}
        self.tables |= {table.rpartition(".")[0] for table in self.tables} - {""}
        self.named = {table.removesuffix(".*") for table in self.tables if table.endswith(".*")}

    def take_file(self) -> None:
        self._walk("", self.file.table)

    def check_file_mode(self) -> None:
        """A password in the file is refused if others may read it, even one that the environment overrides."""
        secrets = [each.key for each in self.values.values() if each.secret and holds_password(str(each.value))]
        if secrets:
            what = f"{self.file.path}, which holds the password of {', '.join(secrets)},"
            try:
                check_secret_file(Path(self.file.path), what)
            except InvalidSetting as refusal:
                self.mistakes.append(refusal.message)

    def take_environment(self, environment: Mapping[str, str]) -> None:
        known = {variable(key): key for key in self.settings if "*" not in key}
        for name, value in sorted(environment.items()):
            if not name.startswith(PREFIX):
                continue
            if name in known:
                if value:
                    self.take(known[name], value, f"the environment variable {name}", name, read=True)
            else:
                self._suspect(name, known)

    def take(self, key: str, value: object, where: str, origin: str, *, read: bool = False) -> None:
        setting = self.settings[self._pattern(key)]
        try:
            plain = setting.kind.read(value) if read and isinstance(value, str) else value
            self.values[key] = Effective(key, setting.kind.parse(plain), origin, setting.secret)
        except HoldsSecret:
            held = "an address with a user name or a password in it, which is hidden here"
            self.mistakes.append(f"{where}: {key} is {held}; write {setting.kind.allowed}, without one")
        except ValueError:
            shown = "a value that is hidden here" if setting.secret else _shown(value)
            self.mistakes.append(f"{where}: {key} is {shown}; write {setting.kind.allowed}")

    def complete(self, environment: Mapping[str, str]) -> Iterator[Effective]:
        """Every setting, and every one of each named table that the file has."""
        for key, setting in self.settings.items():
            for path in self._paths(key):
                if path in self.values:
                    yield self.values[path]
                elif setting.default is REQUIRED:
                    self._missing(path, setting)
                else:
                    yield Effective(path, _default(setting, environment), "default", setting.secret)

    def _paths(self, key: str) -> list[str]:
        table, star, rest = key.partition(".*")
        if not star:
            return [key]
        entries = self.file.table.get(table, {})
        named = entries.items() if isinstance(entries, dict) else ()
        return [f"{table}.{name}{rest}" for name, entry in named if NAME.fullmatch(name) and isinstance(entry, dict)]

    def _missing(self, path: str, setting: Setting) -> None:
        table = path.rpartition(".")[0]
        # A value that was refused is not missing.
        if not any(f": {path} is" in mistake for mistake in self.mistakes):
            self.mistakes.append(f"{self.file.where(table)}: {path} is missing; write {setting.kind.allowed}")

    def _walk(self, prefix: str, table: Mapping[str, Any]) -> None:
        for name, value in table.items():
            path = prefix + name
            pattern = self._pattern(path)
            if pattern in self.settings:
                self.take(path, value, self.file.where(path), self.file.where(path))
            elif pattern not in self.tables:
                self._unknown(path, prefix)
            elif pattern.endswith(".*") and not NAME.fullmatch(name):
                wanted = 'up to 31 of a-z, 0-9 and "-", first a letter'
                self.mistakes.append(f'{self.file.where(path)}: "{name}" cannot be a name here; write {wanted}')
            elif isinstance(value, dict):
                self._walk(f"{path}.", value)
            else:
                found = f"{path} is {_shown(value)}; it is a table, write [{path}]"
                self.mistakes.append(f"{self.file.where(path)}: {found}")

    def _pattern(self, path: str) -> str:
        first, *rest = path.split(".")
        return ".".join([first, "*", *rest[1:]]) if first in self.named and rest else path

    def _unknown(self, path: str, prefix: str) -> None:
        """The nearest in the same table, else anywhere: a right key in a wrong table is a common mistake."""
        here = self._pattern(f"{prefix}x").removesuffix("x") if prefix else ""
        inside = {key.removeprefix(here) for key in {*self.settings, *self.tables} if key.startswith(here)}
        siblings = {key.partition(".")[0] for key in inside} - {"*"}
        name = path.removeprefix(prefix)
        near = get_close_matches(name, siblings, 1) or _elsewhere(name, self.settings)
        hint = f'did you mean "{prefix if near[0] in siblings else ""}{near[0]}"?' if near else ""
        hint = hint or f"those there are: {', '.join(sorted(siblings))}"
        self.mistakes.append(f'{self.file.where(path)}: there is no setting "{path}"; {hint}')

    def _suspect(self, name: str, known: Mapping[str, str]) -> None:
        """Refuse what looks like one of ours; other programs may have variables that begin alike."""
        bare = name.removeprefix(PREFIX)
        if bare in OTHERS or bare.startswith("TEST_"):
            return
        if any(bare.startswith(f"{table.upper()}_") for table in self.named):
            self.mistakes.append(f"the environment variable {name}: named tables are set in the file only")
            return
        near = get_close_matches(bare, [*(each.removeprefix(PREFIX) for each in known), "CONFIG"], 1, 0.8)
        if near:
            self.mistakes.append(f"there is no environment variable {name}; did you mean {PREFIX}{near[0]}?")
        elif any(bare.startswith(f"{table.upper()}_") for table in self.tables):
            table = next(table for table in sorted(self.tables) if bare.startswith(f"{table.upper()}_"))
            those = ", ".join(each for each in known if known[each].startswith(f"{table}."))
            self.mistakes.append(f"there is no environment variable {name}; those there are: {those}")


def _elsewhere(name: str, settings: Iterable[str]) -> list[str]:
    return [key for key in settings if key.rpartition(".")[2] == name.rpartition(".")[2]][:1]


def _default(setting: Setting, environment: Mapping[str, str]) -> object:
    default = setting.default
    return setting.kind.parse(default.under(environment)) if isinstance(default, InState) else default


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    written = f'"{value}"' if isinstance(value, str) else str(value)
    return written if len(written) <= 60 else f"{written[:57]}…"


def _read(config: Path | str | None) -> File:
    """The file named; without a name the usual one, if it is there."""
    path = Path(config or FILE)
    try:
        written = path.read_text(encoding="utf-8")
        return File(str(path), tomllib.loads(written), dict(_lines(written)))
    except OSError as error:
        if config is None and isinstance(error, FileNotFoundError):
            return File(str(path))
        raise InvalidSetting(f"cannot read the configuration {path}: {error.strerror}", file=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"{path} is not TOML: {error}", file=str(path)) from error


def _lines(written: str) -> Iterator[tuple[str, int]]:
    """Where each key and table begins. The parser does not say; a key hidden in an inline table has no line."""
    table = ""
    for number, line in enumerate(written.splitlines(), 1):
        if header := _HEADER.match(line):
            yield header[1].strip(), number
            table = f"{header[1].strip()}."
        elif key := _KEY.match(line):
            yield table + key[1].strip("\"'"), number
