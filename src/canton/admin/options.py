"""Options that several of these commands have."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from canton import setting_sources, settings, wiring
from canton.domain.database_address import HIDDEN, without_secrets
from canton.domain.errors import SchemaMismatch
from canton.store.database import Database

# Not by Click's envvar: where a value came from would be lost, and `canton settings` tells it.
database_option = click.option(
    "--database",
    "address",
    metavar="URL",
    help="sqlite:///path or postgresql://user@host/name. Without it: what the configuration names, else "
    f"canton/canton.db under $XDG_STATE_HOME.  [env var: {settings.DATABASE}]",
)
config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"Configuration, TOML. Without it: /etc/canton/server.toml, if there is one.  [env var: {settings.CONFIG}]",
)


UPGRADE = "canton db upgrade"


@contextmanager
def opened(flags: settings.Flags, *, create: bool = False) -> Iterator[Database]:
    """The database that flag, environment or configuration names; which one, and by what, goes to standard error."""
    click.echo(describe(flags), err=True)
    with upgrade_hint(flags):
        database = wiring.open_database(configured(flags), create=create)
        try:
            yield database
        finally:
            database.close()


def describe(flags: settings.Flags) -> str:
    """The database without secrets, and what chose it."""
    chosen = _chosen(flags)
    by = {"flag": "--database", "default": "the default"}.get(chosen.origin, chosen.origin)
    development = _development_configuration() if chosen.origin == "default" else None
    other = f"; that of canton serve --dev is another: --config {development}" if development else ""
    return f"database {without_secrets(str(chosen.value))}, chosen by {by}{other}"


@contextmanager
def upgrade_hint(flags: settings.Flags) -> Iterator[None]:
    """A refusal that says to run `canton db upgrade` says it with the options that lead to the same database."""
    try:
        yield
    except SchemaMismatch as error:
        error.message = error.message.replace(UPGRADE, f"{UPGRADE} {_same_database(flags)}")
        if _chosen(flags).origin == "default":
            config = _development_configuration() or "FILE"
            error.message += f"; if a server has run here with a configuration, name it instead: --config {config}"
        raise


def _development_configuration() -> str | None:
    """That of ``canton serve --dev``, whose database is not the default one; None if there is none."""
    file = Path(setting_sources.InState("dev").under(os.environ)) / "server.toml"
    return shlex.quote(str(file)) if file.exists() else None


def _same_database(flags: settings.Flags) -> str:
    chosen = _chosen(flags)
    if chosen.origin not in ("flag", "default", settings.DATABASE):
        config = flags.config or os.environ.get(settings.CONFIG) or setting_sources.FILE
        return f"--config {shlex.quote(str(config))}"
    shown = without_secrets(str(chosen.value))
    if HIDDEN not in shown:
        return f"--database {shlex.quote(shown)}"
    return f"with the same {'--database' if chosen.origin == 'flag' else settings.DATABASE}"


def _chosen(flags: settings.Flags) -> setting_sources.Effective:
    return next(it for it in settings.effective(os.environ, flags) if it.key == "database")


def configured(flags: settings.Flags) -> settings.Settings:
    return settings.build(settings.effective(os.environ, flags))
