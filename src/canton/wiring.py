"""The composition root: the only place that constructs things from settings."""

from __future__ import annotations

from pathlib import Path

from canton.domain.errors import InvalidSetting, SchemaMismatch
from canton.settings import Settings
from canton.store import database
from canton.store.database import Database


def open_database(settings: Settings, *, create: bool = False) -> Database:
    """Open the database; an SQLite file that is not there is made, readable by its owner only, if ``create``."""
    opened = database.open_database(settings.database)
    if not opened.is_postgresql:
        _find_file(opened.engine.url.database, create=create)
    return opened


def _find_file(name: str | None, *, create: bool) -> None:
    if name in (None, "", ":memory:"):
        raise InvalidSetting("an SQLite database needs a file; write sqlite:///path/to/canton.db")
    path = Path(str(name))
    if create:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            path.touch(mode=0o600)
    elif not path.exists():
        raise SchemaMismatch(f"there is no database {path}; create it with: canton db upgrade", path=str(path))
