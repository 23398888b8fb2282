"""What a site sets: by flag, else by environment variable, else a default that suits a laptop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DATABASE = "CANTON_DATABASE"


@dataclass(frozen=True, slots=True)
class Settings:
    """``database`` is an address such as ``sqlite:////var/lib/canton/canton.db`` or ``postgresql://user@host/name``."""

    database: str


def load(environment: Mapping[str, str], database: str | None = None) -> Settings:
    """``database`` is what the flag says."""
    return Settings(database or environment.get(DATABASE) or f"sqlite:///{_state(environment) / 'canton.db'}")


def _state(environment: Mapping[str, str]) -> Path:
    # XDG Base Directory Specification 0.8: a relative path is invalid and is to be ignored.
    home = Path(environment.get("XDG_STATE_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".local" / "state") / "canton"
