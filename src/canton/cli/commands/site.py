"""``canton site``."""

from __future__ import annotations

import click

from canton.cli.input.options import (
    Changing,
    changing,
    changing_with_reason,
    connected,
    limited,
    names,
    shown,
    sorted_by,
)
from canton.cli.output.columns import SITE
from canton.cli.output.empty_lists import listed
from canton.cli.output.formats import Show
from canton.cli.session.change import carry_out, confirm, tell
from canton.cli.session.session import Session

name = click.argument("name", metavar="SITE", shell_complete=names("sites"))


@click.group(epilog="\b\nExample:\n  canton site list")
def site() -> None:
    """The places that nodes stand in."""


@site.command("list", epilog="\b\nExample:\n  canton site list -o wide")
@sorted_by("name", "created_at")
@limited
@shown(SITE, many=True)
@connected
def list_sites(session: Session, show: Show, limit: int | None, sort: str | None) -> None:
    """List sites."""
    show.listing(SITE, listed(session, session.client.sites.list(limit=limit, sort=sort)))


@site.command("show", epilog="\b\nExample:\n  canton site show alps")
@name
@shown(SITE)
@connected
def show_site(session: Session, show: Show, name: str) -> None:
    """Show one site."""
    show.one(SITE, session.client.sites.get(name))


@site.command("create", epilog="\b\nExample:\n  canton site create alps --description 'Lugano, hall 1'")
@click.argument("name", metavar="SITE")
@click.option("--description", metavar="TEXT", default="", help="What people should know of it.")
@shown(SITE)
@changing
@connected
def create_site(session: Session, show: Show, change: Changing, name: str, description: str) -> None:
    """Add a site."""
    made = carry_out(session, change, lambda headers: session.client.sites.create(name, description, **headers))
    tell(session, f"created site {name}", f"site {name} is there")
    show.one(SITE, made)


@site.command("update", epilog="\b\nExample:\n  canton site update alps --description 'Lugano, hall 2'")
@name
@click.option("--description", metavar="TEXT", required=True, help="What people should know of it.")
@shown(SITE)
@changing
@connected
def update_site(session: Session, show: Show, change: Changing, name: str, description: str) -> None:
    """Change the description of a site."""
    made = carry_out(session, change, lambda headers: session.client.sites.update(name, description, **headers))
    tell(session, f"updated site {name}", f"site {name} is already described so")
    show.one(SITE, made)


@site.command("delete", epilog="\b\nExample:\n  canton site delete alps --reason 'moved out'")
@name
@changing_with_reason
@connected
def delete_site(session: Session, change: Changing, name: str) -> None:
    """Remove a site that has no nodes."""
    confirm(f"Delete the site {name}?", change, name)
    carry_out(session, change, lambda headers: session.client.sites.delete(name, **headers))
    tell(session, f"deleted site {name}", f"site {name} is gone")
