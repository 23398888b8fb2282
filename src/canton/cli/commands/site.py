"""``canton site``."""

from __future__ import annotations

import click

from canton.cli.input.options import (
    ChangeOptions,
    change_options,
    change_options_with_reason,
    complete_names,
    limit_option,
    output_options,
    session_options,
    sort_option,
)
from canton.cli.output.columns import SITE
from canton.cli.output.empty_lists import explain_empty
from canton.cli.output.formats import Show
from canton.cli.session.change import carry_out, confirm, say_result
from canton.cli.session.session import Session

name = click.argument("name", metavar="SITE", shell_complete=complete_names("sites"))


@click.group(epilog="\b\nExample:\n  canton site list")
def site() -> None:
    """Create, list, update and delete sites: the places where nodes stand."""


@site.command("list", epilog="\b\nExample:\n  canton site list -o wide")
@sort_option("name", "created_at")
@limit_option
@output_options(SITE, many=True)
@session_options
def list_sites(session: Session, show: Show, limit: int | None, sort: str | None) -> None:
    """List sites."""
    show.listing(SITE, explain_empty(session, session.client.sites.list(limit=limit, sort=sort)))


@site.command("show", epilog="\b\nExample:\n  canton site show alps")
@name
@output_options(SITE)
@session_options
def show_site(session: Session, show: Show, name: str) -> None:
    """Show one site."""
    show.one(SITE, session.client.sites.get(name))


@site.command("create", epilog="\b\nExample:\n  canton site create alps --description 'Lugano, hall 1'")
@click.argument("name", metavar="SITE")
@click.option("--description", metavar="TEXT", default="", help="A description, one line.")
@output_options(SITE)
@change_options
@session_options
def create_site(session: Session, show: Show, change: ChangeOptions, name: str, description: str) -> None:
    """Create a site."""
    created = carry_out(session, change, lambda headers: session.client.sites.create(name, description, **headers))
    say_result(session, f"created site {name}", f"site {name} already exists")
    show.one(SITE, created)


@site.command("update", epilog="\b\nExample:\n  canton site update alps --description 'Lugano, hall 2'")
@name
@click.option("--description", metavar="TEXT", required=True, help="A description, one line.")
@output_options(SITE)
@change_options
@session_options
def update_site(session: Session, show: Show, change: ChangeOptions, name: str, description: str) -> None:
    """Change the description of a site."""
    updated = carry_out(session, change, lambda headers: session.client.sites.update(name, description, **headers))
    say_result(session, f"updated site {name}", f"site {name} already has this description")
    show.one(SITE, updated)


@site.command("delete", epilog="\b\nExample:\n  canton site delete alps --reason 'moved out'")
@name
@change_options_with_reason
@session_options
def delete_site(session: Session, change: ChangeOptions, name: str) -> None:
    """Delete a site that has no nodes."""
    confirm(f"Delete the site {name}?", change, name)
    carry_out(session, change, lambda headers: session.client.sites.delete(name, **headers))
    say_result(session, f"deleted site {name}", f"site {name} is already deleted")
