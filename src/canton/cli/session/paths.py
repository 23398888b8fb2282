"""Where the command line keeps things (XDG Base Directory Specification)."""

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
    """A relative path in the variable does not count: the specification says so."""
    named = environ.get(variable, "")
    return (Path(named) if named.startswith("/") else Path.home() / otherwise) / "canton"
