"""``canton role``."""

from __future__ import annotations

import click

from canton.cli.options import connected, limited, shown
from canton.cli.output import Show
from canton.cli.session import Session
from canton.cli.shapes import ROLE


@click.group(epilog="\b\nExample:\n  canton role list -o wide")
def role() -> None:
    """What each role may do."""


@role.command("list", epilog="\b\nExample:\n  canton role list -c name,permissions")
@limited
@shown(ROLE, many=True)
@connected
def list_roles(session: Session, show: Show, limit: int | None) -> None:
    """List roles."""
    show.listing(ROLE, session.client.roles.list(limit=limit))
