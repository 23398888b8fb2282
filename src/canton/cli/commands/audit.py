"""``canton audit``: records through the API; verifying their chain needs the database and lives in ``admin``."""

from __future__ import annotations

import click

from canton.cli.input.options import (
    SUBJECT_HELP,
    all_tenants_option,
    limit_option,
    output_options,
    session_options,
    since_option,
    sort_option,
)
from canton.cli.lazy import Entry, LazyGroup
from canton.cli.output.columns import RECORD
from canton.cli.output.empty_lists import explain_empty
from canton.cli.output.formats import Show
from canton.cli.session.session import Session

ON_THE_SERVER = {
    "verify": Entry("canton.admin.audit:verify", "Check every record of the chain", "On the server"),
    "head": Entry("canton.admin.audit:head", "Print the last record's number and hash", "On the server"),
}


@click.group(cls=LazyGroup, table=ON_THE_SERVER, epilog="\b\nExamples:\n  canton audit list\n  canton audit verify")
def audit() -> None:
    """List audit records, and verify that none was changed."""


@audit.command("list", epilog="\b\nExample:\n  canton audit list --actor cscs:alice --since 1d")
@click.option("--actor", metavar="WHO", help="Only by this person or account: cscs:alice, service:psi/ci.")
@click.option("--action", metavar="ACTION", help="Only this action.")
@click.option("--subject", metavar="ID", help=f"Only about this, {SUBJECT_HELP}.")
@since_option
@sort_option("seq")
@limit_option
@all_tenants_option
@output_options(RECORD, many=True)
@session_options
def list_records(session: Session, show: Show, limit: int | None, **filters: str | None) -> None:
    """List audit records, the newest first."""
    show.listing(RECORD, explain_empty(session, session.client.audit.list(limit=limit, **filters), session.tenant))
