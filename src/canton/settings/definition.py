"""What defines one setting: its key, its kind, its default and the name of its environment variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from canton.settings.kinds import Kind

PREFIX = "CANTON_"
REQUIRED = object()
"""The default of a setting that has none and must be set."""


@dataclass(frozen=True, slots=True)
class StateFile:
    """A default value: a file in the user's folder for state, written after ``scheme``."""

    name: str
    scheme: str = ""

    def under(self, environment: Mapping[str, str]) -> str:
        # XDG Base Directory Specification 0.8: a relative path is invalid and is to be ignored.
        home = Path(environment.get("XDG_STATE_HOME", ""))
        state = home if home.is_absolute() else Path.home() / ".local" / "state"
        return f"{self.scheme}{state / 'canton' / self.name}"


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table. ``*`` in the key stands for a name that the site chooses."""

    key: str
    kind: Kind
    default: object
    help: str
    secret: bool = False


def variable(key: str) -> str:
    """The environment variable of a setting: that of ``api.listen`` is ``CANTON_API_LISTEN``."""
    return PREFIX + key.upper().replace(".", "_")
