"""``canton db``: create, upgrade, check and back up the database."""

from __future__ import annotations

from pathlib import Path

import click

from canton.admin.options import config_option, database_option, open_chosen_database
from canton.settings.loading import Flags
from canton.store.maintenance import backup as copies
from canton.store.maintenance import database_checks, migrate


@click.group(epilog="\b\nExample:\n  canton db upgrade && canton db check")
def db() -> None:
    """Create, upgrade, check and back up the database.

    No command restores a backup: canton db backup --help says how.
    """


@db.command(
    epilog="\b\nExample, a new release without downtime:\n"
    "  canton db upgrade --phase pre   # the new release; the old one still runs\n"
    "  systemctl restart 'canton-*'    # or however they are replaced\n"
    "  canton db upgrade"
)
@click.option(
    "--phase",
    type=click.Choice(["all", "pre"]),
    default="all",
    show_default=True,
    help="pre: only changes that the previous release can run with.",
)
@config_option
@database_option
def upgrade(phase: migrate.Phase, config: Path | None, address: str | None) -> None:
    """Create the tables, or upgrade them to this release. All changes, or none."""
    with open_chosen_database(Flags(config, address), create=True) as database:
        result = migrate.upgrade(database, phase)
    if result.before == result.after:
        click.echo(f"already at {result.after or 'empty'}, nothing to do")
    else:
        click.echo(f"{result.before or 'empty'} → {result.after}")
    if result.held_back:
        click.echo(f"{result.held_back} waits for the new release: replace what runs, then: canton db upgrade")


@db.command(epilog="\b\nExample:\n  canton db check --database postgresql://canton@db.example.org/canton")
@config_option
@database_option
@click.pass_context
def check(context: click.Context, config: Path | None, address: str | None) -> None:
    """Check the database; exit code 1 if a check fails.

    It checks the revision, the tables, the triggers that protect records, the file or server, and the audit chain; if
    these are good, also that the database takes writes.
    """
    failed = False
    with open_chosen_database(Flags(config, address)) as database:
        for finding in database_checks.examine(database):
            failed |= not finding.ok
            message = " ".join(finding.message.split())
            click.echo(f"{'ok' if finding.ok else 'FAILED':8}{finding.check:14}{message}")
    if failed:
        context.exit(1)


@db.command(epilog="\b\nExample:\n  canton db backup /backup/canton-$(date +%F).db")
@click.argument("file", type=click.Path(path_type=Path))
@config_option
@database_option
def backup(file: Path, config: Path | None, address: str | None) -> None:
    """Copy the database into FILE while Canton runs.

    The copy is a consistent snapshot and is checked. If the command fails, there is no FILE.

    To restore, stop every server and worker first. SQLite: remove the database with its -wal and -shm,
    which would be read into the restored one, and put FILE in its place. PostgreSQL: pg_restore FILE
    into an empty database. Then: canton db check.
    """
    with open_chosen_database(Flags(config, address)) as database:
        migrate.require_known(database)
        copies.write(database, file)
    click.echo(f"wrote {file} ({file.stat().st_size} bytes)")
