"""Options that several of these commands have."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from canton import settings, wiring
from canton.store.database import Database

# Not by Click's envvar: where a value came from would be lost, and `canton settings` tells it.
database_option = click.option(
    "--database",
    "address",
    metavar="URL",
    help="sqlite:///path or postgresql://user@host/name. Without it: canton/canton.db under $XDG_STATE_HOME.  "
    f"[env var: {settings.DATABASE}]",
)
config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"Configuration, TOML. Without it: /etc/canton/server.toml, if there is one.  [env var: {settings.CONFIG}]",
)


@contextmanager
def opened(address: str | None, *, create: bool = False) -> Iterator[Database]:
    """The database that the option, the environment or the configuration names."""
    database = wiring.open_database(settings.load(os.environ, address), create=create)
    try:
        yield database
    finally:
        database.close()


def configured(flags: settings.Flags) -> settings.Settings:
    return settings.build(settings.effective(os.environ, flags))
