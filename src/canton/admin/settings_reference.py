"""The reference page of the settings, drawn from their table."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path

from canton.admin.manual import GENERATED
from canton.settings.definition import REQUIRED, Setting, StateFile, variable
from canton.settings.kinds import Address
from canton.settings.settings_table import TABLE

_HEAD = f"""{GENERATED}
# Settings

A setting holds as the command's flag says, else as its environment variable says, else as the configuration file says,
else its default. The file is TOML: the one that `--config` or `CANTON_CONFIG` names, else `/etc/canton/server.toml` if
there is one. `canton settings` shows what holds and where it came from. A key or value that is wrong is refused with
the nearest right one; nothing starts with half of a configuration.

Durations are seconds, or text such as `"30s"`, `"5m"`, `"1h"`, `"7d"`; sizes are bytes, or text such as `"1 MiB"`. In
an environment variable, a list is separated by commas. Names in `[issuers.NAME]`, `[roles.NAME]` and `[sites.NAME]` are
the site's own choice; what is in such a table is set in the file only.
"""


def settings_page() -> str:
    sections = (_section(table, list(rows)) for table, rows in groupby(TABLE, _table_of))
    return _HEAD + "".join(sections)


def _table_of(setting: Setting) -> str:
    return setting.key.rpartition(".")[0]


def _section(table: str, settings: list[Setting]) -> str:
    title = f"`[{table.replace('*', 'NAME')}]`" if table else "At the top"
    has_name = "*" in table
    head = ("key", "default", "what it is") if has_name else ("key", "environment", "default", "what it is")
    lines = [head, ("---",) * len(head), *(_row(setting, has_name=has_name) for setting in settings)]
    return f"\n## {title}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _row(setting: Setting, *, has_name: bool) -> tuple[str, ...]:
    cells = [f"`{setting.key.rpartition('.')[2]}`"]
    if not has_name:
        cells.append(f"`{variable(setting.key)}`")
    return (*cells, _default(setting), f"{setting.help}. {_upper(setting.kind.allowed)}.".replace("|", r"\|"))


def _default(setting: Setting) -> str:
    value = setting.default
    if value is REQUIRED:
        return "must be set"
    if isinstance(value, StateFile):
        return f"`{value.scheme}$XDG_STATE_HOME/canton/{value.name}`"
    if value is None or value in ((), ""):
        return ""
    return f"`{_toml(value)}`"


def _toml(value: object) -> str:
    if isinstance(value, Path | Address):
        return f'"{value}"'
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
