"""``canton role``."""

from __future__ import annotations

import click

from canton.cli.input.options import connected, limited, names, shown
from canton.cli.output.columns import ROLE
from canton.cli.output.empty_lists import listed
from canton.cli.output.formats import Show, nearest
from canton.cli.session.session import Session
from canton.domain.errors import NotFound


@click.group(epilog="\b\nExample:\n  canton role list -o wide")
def role() -> None:
    """What each role may do."""


@role.command("show", epilog="\b\nExample:\n  canton role show tenant-operator")
@click.argument("name", metavar="ROLE", shell_complete=names("roles"))
@shown(ROLE)
@connected
def show_role(session: Session, show: Show, name: str) -> None:
    """Show one role, and everything that it may do."""
    roles = {item["name"]: item for item in session.client.roles.list()}
    if name not in roles:
        raise NotFound(f'there is no role "{name}"{nearest(name, roles, "look with: canton role list")}')
    show.one(ROLE, roles[name])


@role.command("list", epilog="\b\nExample:\n  canton role list -c name,permissions")
@limited
@shown(ROLE, many=True)
@connected
def list_roles(session: Session, show: Show, limit: int | None) -> None:
    """List roles."""
    show.listing(ROLE, listed(session, session.client.roles.list(limit=limit)))
