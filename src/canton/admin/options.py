"""Options that several of these commands have."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import click

from canton import settings, wiring
from canton.store.database import Database

database_option = click.option(
    "--database",
    "address",
    metavar="URL",
    envvar=settings.DATABASE,
    show_envvar=True,
    help="sqlite:///path or postgresql://user@host/name. Without it: canton/canton.db under $XDG_STATE_HOME.",
)


@contextmanager
def opened(address: str | None, *, create: bool = False) -> Iterator[Database]:
    """The database that the option, or the environment, names."""
    database = wiring.open_database(settings.load(os.environ, address), create=create)
    try:
        yield database
    finally:
        database.close()
