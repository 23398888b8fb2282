"""Collects the value of every setting from its sources, and every mistake in them, before it reports any.

A message about a mistake says where it is (file and line, or environment variable), what is written there, what is
allowed, and the nearest name if a name is wrong. This module knows no particular setting; ``table`` has those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from canton.domain.database_address import holds_password
from canton.domain.errors import InvalidSetting
from canton.settings.definition import PREFIX, REQUIRED, Setting, StateFile, variable
from canton.settings.file import ConfigFile, check_secret_file, read_file
from canton.settings.kinds import NAME, HoldsSecret

# Other variables that Canton reads, so that none of them is reported as a misspelt setting.
OTHER_VARIABLES = frozenset({"CONFIG", "DEBUG", "CONTEXT", "TOKEN", "TENANT", "OUTPUT", "SERVER"})


@dataclass(frozen=True, slots=True)
class EffectiveValue:
    """A value that is used, and its origin: ``flag``, a variable, a file and line, or ``default``."""

    key: str
    value: object
    origin: str
    secret: bool = False


def collect(
    table: Iterable[Setting], environment: Mapping[str, str], flags: Mapping[str, str], config: Path | str | None
) -> tuple[EffectiveValue, ...]:
    """The value of every setting: from its flag, else the environment, else the file, else its default.

    Raises one ``InvalidSetting`` with all mistakes.
    """
    collector = _Collector({setting.key: setting for setting in table}, read_file(config))
    collector.add_file()
    collector.check_file_mode()
    collector.add_environment(environment)
    for key, value in flags.items():
        collector.add_text(key, value, f"--{key.rpartition('.')[2]}", "flag")
    values = tuple(collector.complete(environment))
    mistakes = collector.mistakes
    if mistakes:
        heading = f"{len(mistakes)} settings are wrong:\n  " if len(mistakes) > 1 else ""
        raise InvalidSetting(heading + "\n  ".join(mistakes), mistakes=list(mistakes))
    return values


class _Collector:
    def __init__(self, settings: Mapping[str, Setting], file: ConfigFile) -> None:
        self.settings = settings
        self.file = file
        self.mistakes: list[str] = []
        self.values: dict[str, EffectiveValue] = {}
        self.tables = {key.rpartition(".")[0] for key in settings} - {""}
        self.tables |= {table.rpartition(".")[0] for table in self.tables} - {""}
        self.named_tables = {table.removesuffix(".*") for table in self.tables if table.endswith(".*")}

    def add_file(self) -> None:
        self._add_table("", self.file.table)

    def check_file_mode(self) -> None:
        """Refuse a password in a file that others can read, even if the environment overrides its value."""
        secrets = [it.key for it in self.values.values() if it.secret and holds_password(str(it.value))]
        if secrets:
            what = f"{self.file.path}, which holds the password of {', '.join(secrets)},"
            try:
                check_secret_file(Path(self.file.path), what)
            except InvalidSetting as refusal:
                self.mistakes.append(refusal.message)

    def add_environment(self, environment: Mapping[str, str]) -> None:
        """An empty variable counts as not set."""
        keys = {variable(key): key for key in self.settings if "*" not in key}
        for name, value in sorted(environment.items()):
            if not name.startswith(PREFIX):
                continue
            if name not in keys:
                self._report_variable(name, keys)
            elif value:
                self.add_text(keys[name], value, f"the environment variable {name}", name)

    def add_text(self, key: str, text: str, where: str, origin: str) -> None:
        """A value from a flag or the environment, where everything is text."""
        from_text = self.settings[self._pattern(key)].kind.from_text
        self._add(key, text, where, origin, from_text)

    def _add(
        self, key: str, raw: object, where: str, origin: str, convert: Callable[[str], object] | None = None
    ) -> None:
        setting = self.settings[self._pattern(key)]
        try:
            value = setting.kind.parse(convert(raw) if convert and isinstance(raw, str) else raw)
            self.values[key] = EffectiveValue(key, value, origin, setting.secret)
        except HoldsSecret:
            hidden = "an address with a user name or a password in it, which is hidden here"
            self.mistakes.append(f"{where}: {key} is {hidden}; write {setting.kind.allowed}, without one")
        except ValueError:
            quoted = "a value that is hidden here" if setting.secret else _quoted(raw)
            self.mistakes.append(f"{where}: {key} is {quoted}; write {setting.kind.allowed}")

    def complete(self, environment: Mapping[str, str]) -> Iterator[EffectiveValue]:
        """Every setting with its value or default, and those of a named table once for each such table in the file."""
        for key, setting in self.settings.items():
            for path in self._paths(key):
                if path in self.values:
                    yield self.values[path]
                elif setting.default is REQUIRED:
                    self._report_missing(path, setting)
                else:
                    yield EffectiveValue(path, _default(setting, environment), "default", setting.secret)

    def _paths(self, key: str) -> list[str]:
        table, star, suffix = key.partition(".*")
        if not star:
            return [key]
        entries = self.file.table.get(table, {})
        items = entries.items() if isinstance(entries, dict) else ()
        return [f"{table}.{name}{suffix}" for name, entry in items if NAME.fullmatch(name) and isinstance(entry, dict)]

    def _report_missing(self, path: str, setting: Setting) -> None:
        table = path.rpartition(".")[0]
        # A value that was refused is not missing.
        if not any(f": {path} is" in mistake for mistake in self.mistakes):
            self.mistakes.append(f"{self.file.where(table)}: {path} is missing; write {setting.kind.allowed}")

    def _add_table(self, prefix: str, table: Mapping[str, Any]) -> None:
        for name, value in table.items():
            path = prefix + name
            pattern = self._pattern(path)
            if pattern in self.settings:
                self._add(path, value, self.file.where(path), self.file.where(path))
            elif pattern not in self.tables:
                self._report_unknown(path, prefix)
            elif pattern.endswith(".*") and not NAME.fullmatch(name):
                allowed = 'up to 31 of a-z, 0-9 and "-", first a letter'
                self.mistakes.append(f'{self.file.where(path)}: "{name}" cannot be a name here; write {allowed}')
            elif isinstance(value, dict):
                self._add_table(f"{path}.", value)
            else:
                problem = f"{path} is {_quoted(value)}; it is a table, write [{path}]"
                self.mistakes.append(f"{self.file.where(path)}: {problem}")

    def _pattern(self, path: str) -> str:
        """The key in the table for a path in the file: ``sites.*.url`` for ``sites.alps.url``."""
        first, *names = path.split(".")
        return ".".join([first, "*", *names[1:]]) if first in self.named_tables and names else path

    def _report_unknown(self, path: str, prefix: str) -> None:
        """Suggest the nearest key of the same table, else of any: a right key in a wrong table is a common mistake."""
        table = self._pattern(f"{prefix}x").removesuffix("x") if prefix else ""
        inside = {key.removeprefix(table) for key in {*self.settings, *self.tables} if key.startswith(table)}
        siblings = {key.partition(".")[0] for key in inside} - {"*"}
        name = path.removeprefix(prefix)
        near = get_close_matches(name, siblings, 1) or _same_name_elsewhere(name, self.settings)
        hint = f'did you mean "{prefix if near[0] in siblings else ""}{near[0]}"?' if near else ""
        hint = hint or f"choose from: {', '.join(sorted(siblings))}"
        self.mistakes.append(f'{self.file.where(path)}: there is no setting "{path}"; {hint}')

    def _report_variable(self, name: str, keys: Mapping[str, str]) -> None:
        """Refuse a variable that looks like a setting of Canton; other programs may use the same prefix."""
        bare = name.removeprefix(PREFIX)
        if bare in OTHER_VARIABLES or bare.startswith("TEST_"):
            return
        if any(bare.startswith(f"{table.upper()}_") for table in self.named_tables):
            self.mistakes.append(f"the environment variable {name}: named tables are set in the file only")
            return
        near = get_close_matches(bare, [*(it.removeprefix(PREFIX) for it in keys), "CONFIG"], 1, 0.8)
        tables = [table for table in sorted(self.tables) if bare.startswith(f"{table.upper()}_")]
        if near:
            self.mistakes.append(f"there is no environment variable {name}; did you mean {PREFIX}{near[0]}?")
        elif tables:
            variables = ", ".join(it for it, key in keys.items() if key.startswith(f"{tables[0]}."))
            self.mistakes.append(f"there is no environment variable {name}; choose from: {variables}")


def _same_name_elsewhere(name: str, settings: Iterable[str]) -> list[str]:
    return [key for key in settings if key.rpartition(".")[2] == name.rpartition(".")[2]][:1]


def _default(setting: Setting, environment: Mapping[str, str]) -> object:
    default = setting.default
    return setting.kind.parse(default.under(environment)) if isinstance(default, StateFile) else default


def _quoted(value: object) -> str:
    """A value as a configuration file has it, cut if it is longer than 60 characters."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
