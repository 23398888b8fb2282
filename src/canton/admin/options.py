"""Options that several of these commands have."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from canton import wiring
from canton.domain.database_address import HIDDEN, without_secrets
from canton.domain.errors import SchemaMismatch
from canton.settings import file, loading
from canton.settings.definition import StateFile
from canton.settings.model import Settings
from canton.settings.sources import EffectiveValue
from canton.store.database import Database

# Not by Click's envvar: where a value came from would be lost, and `canton settings` tells it.
database_option = click.option(
    "--database",
    "address",
    metavar="URL",
    help="sqlite:///path or postgresql://user@host/name. Without it: what the configuration names, else "
    f"canton/canton.db under $XDG_STATE_HOME.  [env var: {loading.DATABASE}]",
)
config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"Configuration, TOML. Without it: /etc/canton/server.toml, if there is one.  [env var: {loading.CONFIG}]",
)


UPGRADE = "canton db upgrade"


@contextmanager
def open_chosen_database(flags: loading.Flags, *, create: bool = False) -> Iterator[Database]:
    """The database that flag, environment or configuration names; which one, and by what, goes to standard error."""
    click.echo(describe(flags), err=True)
    with upgrade_hint(flags):
        database = wiring.open_database(load_settings(flags), create=create)
        try:
            yield database
        finally:
            database.close()


def describe(flags: loading.Flags) -> str:
    """The database without secrets, and what chose it."""
    effective_value = _database_setting(flags)
    by = {"flag": "--database", "default": "the default"}.get(effective_value.origin, effective_value.origin)
    development = _development_configuration() if effective_value.origin == "default" else None
    hint = f"; that of canton serve --dev is another: --config {development}" if development else ""
    return f"database {without_secrets(str(effective_value.value))}, chosen by {by}{hint}"


@contextmanager
def upgrade_hint(flags: loading.Flags) -> Iterator[None]:
    """A refusal that says to run `canton db upgrade` says it with the options that lead to the same database."""
    try:
        yield
    except SchemaMismatch as error:
        error.message = error.message.replace(UPGRADE, f"{UPGRADE} {_same_database(flags)}")
        if _database_setting(flags).origin == "default":
            config = _development_configuration() or "FILE"
            error.message += f"; if a server has run here with a configuration, name it instead: --config {config}"
        raise


def _development_configuration() -> str | None:
    """That of ``canton serve --dev``, whose database is not the default one; None if there is none."""
    path = Path(StateFile("dev").under(os.environ)) / "server.toml"
    return shlex.quote(str(path)) if path.exists() else None


def _same_database(flags: loading.Flags) -> str:
    effective_value = _database_setting(flags)
    if effective_value.origin not in ("flag", "default", loading.DATABASE):
        config = flags.config or os.environ.get(loading.CONFIG) or file.DEFAULT_FILE
        return f"--config {shlex.quote(str(config))}"
    address = without_secrets(str(effective_value.value))
    if HIDDEN not in address:
        return f"--database {shlex.quote(address)}"
    return f"with the same {'--database' if effective_value.origin == 'flag' else loading.DATABASE}"


def _database_setting(flags: loading.Flags) -> EffectiveValue:
    return next(it for it in loading.effective(os.environ, flags) if it.key == "database")


def load_settings(flags: loading.Flags) -> Settings:
    return loading.build(loading.effective(os.environ, flags))
