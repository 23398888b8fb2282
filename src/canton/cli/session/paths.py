"""The paths of the command line's files (XDG Base Directory Specification)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

SYSTEM_CONFIG = Path("/etc/canton/config.toml")


def user_config(environ: Mapping[str, str] = os.environ) -> Path:
    return _home(environ, "XDG_CONFIG_HOME", ".config") / "config.toml"


def credentials(environ: Mapping[str, str] = os.environ) -> Path:
    return _home(environ, "XDG_STATE_HOME", ".local/state") / "credentials"


def cache(environ: Mapping[str, str] = os.environ) -> Path:
    return _home(environ, "XDG_CACHE_HOME", ".cache")


def _home(environ: Mapping[str, str], variable: str, otherwise: str) -> Path:
    """The specification says to ignore a relative path in the variable."""
    directory = environ.get(variable, "")
    return (Path(directory) if directory.startswith("/") else Path.home() / otherwise) / "canton"
