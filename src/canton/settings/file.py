"""The configuration file: its tables, the line of each key, and who may read it."""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from canton.domain.errors import InvalidSetting

DEFAULT_FILE = Path("/etc/canton/server.toml")
_HEADER = re.compile(r"\s*\[+([^\[\]]+)\]+")
_KEY = re.compile(r"\s*([\w.\"' -]+?)\s*=")


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """What a configuration file contains. ``lines`` has the line number of each key, as far as it is known."""

    path: str
    table: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)

    def where(self, key: str) -> str:
        """The place of a key for an error message: the file, and the line if it is known."""
        line = self.lines.get(key)
        return f"{self.path} line {line}" if line else self.path


def read_file(config: Path | str | None) -> ConfigFile:
    """The file at ``config``; if that is None, the default file, which need not exist."""
    path = Path(config or DEFAULT_FILE)
    try:
        text = path.read_text(encoding="utf-8")
        return ConfigFile(str(path), tomllib.loads(text), dict(_lines(text)))
    except OSError as error:
        if config is None and isinstance(error, FileNotFoundError):
            return ConfigFile(str(path))
        raise InvalidSetting(f"cannot read the configuration {path}: {error.strerror}", file=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"{path} is not TOML: {error}", file=str(path)) from error


def check_secret_file(path: Path, what: str) -> None:
    """Refuse a file with a secret that others can read, or that its group or others can change. Its group may read it.

    ``what`` names the file in the error message.
    """
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError as error:
        raise InvalidSetting(f"{what} cannot be read: {error.strerror}") from error
    if mode & (stat.S_IRWXO | stat.S_IWGRP):
        raise InvalidSetting(
            f"{what} may be read or changed by others (mode {mode:04o}); run: chmod o-rwx,g-w {path}, and change the "
            "secret if others use this machine"
        )


def _lines(text: str) -> Iterator[tuple[str, int]]:
    """The line of each key and table, which ``tomllib`` does not report. A key inside an inline table has no line."""
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            yield header[1].strip(), number
            table = f"{header[1].strip()}."
        elif key := _KEY.match(line):
            yield table + key[1].strip("\"'"), number
