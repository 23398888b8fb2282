"""``canton role``."""

from __future__ import annotations

import click

from canton.cli.input.options import complete_names, limit_option, output_options, session_options
from canton.cli.output.columns import ROLE
from canton.cli.output.empty_lists import explain_empty
from canton.cli.output.formats import Show, nearest
from canton.cli.session.session import Session
from canton.domain.errors import NotFound


@click.group(epilog="\b\nExample:\n  canton role list -o wide")
def role() -> None:
    """List roles and what each may do."""


@role.command("show", epilog="\b\nExample:\n  canton role show tenant-operator")
@click.argument("name", metavar="ROLE", shell_complete=complete_names("roles"))
@output_options(ROLE)
@session_options
def show_role(session: Session, show: Show, name: str) -> None:
    """Show one role and all its permissions."""
    roles = {item["name"]: item for item in session.client.roles.list()}
    if name not in roles:
        raise NotFound(f'there is no role "{name}"{nearest(name, roles, "look with: canton role list")}')
    show.one(ROLE, roles[name])


@role.command("list", epilog="\b\nExample:\n  canton role list -c name,permissions")
@limit_option
@output_options(ROLE, many=True)
@session_options
def list_roles(session: Session, show: Show, limit: int | None) -> None:
    """List roles."""
    show.listing(ROLE, explain_empty(session, session.client.roles.list(limit=limit)))
