"""``canton tenant``."""

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
from canton.cli.output.columns import TENANT
from canton.cli.output.empty_lists import listed
from canton.cli.output.formats import Item, Show
from canton.cli.output.watch import watch as watch_list
from canton.cli.output.watch import watchable
from canton.cli.session.change import carry_out, confirm, tell
from canton.cli.session.session import Session

name = click.argument("name", metavar="TENANT", shell_complete=names("tenants"))


@click.group(epilog="\b\nExamples:\n  canton tenant list\n  canton tenant create psi --description 'Paul Scherrer'")
def tenant() -> None:
    """Create, suspend and delete tenants."""


@tenant.command("list", epilog="\b\nExample:\n  canton tenant list --state suspended")
@click.option("--state", type=click.Choice(["active", "suspended"]), help="Only in this state.")
@sorted_by("name", "created_at")
@limited
@watchable
@shown(TENANT, many=True)
@connected
def list_tenants(session: Session, show: Show, limit: int | None, watch: bool, **filters: str | None) -> None:
    """List the tenants that you can see."""

    def fetch() -> list[Item]:
        return list(session.client.tenants.list(limit=limit, **filters))

    if watch:
        watch_list(session, show, fetch, lambda how, items: how.listing(TENANT, items), "tenant.", "node.")
    else:
        show.listing(TENANT, listed(session, fetch()))


@tenant.command("show", epilog="\b\nExample:\n  canton tenant show psi")
@name
@shown(TENANT)
@connected
def show_tenant(session: Session, show: Show, name: str) -> None:
    """Show one tenant."""
    show.one(TENANT, session.client.tenants.get(name))


@tenant.command("create", epilog="\b\nExample:\n  canton tenant create psi --description 'Paul Scherrer Institute'")
@click.argument("name", metavar="TENANT")
@click.option("--description", metavar="TEXT", help="Who they are.")
@shown(TENANT)
@changing
@connected
def create_tenant(session: Session, show: Show, change: Changing, name: str, description: str | None) -> None:
    """Add a tenant. A name is never used again, even after the tenant is deleted."""
    made = carry_out(session, change, lambda headers: session.client.tenants.create(name, description, **headers))
    tell(session, f"created tenant {name}", f"tenant {name} is there")
    show.one(TENANT, made)


@tenant.command("update", epilog="\b\nExample:\n  canton tenant update psi --description 'PSI, Villigen'")
@name
@click.option("--description", metavar="TEXT", required=True, help="Who they are.")
@shown(TENANT)
@changing
@connected
def update_tenant(session: Session, show: Show, change: Changing, name: str, description: str) -> None:
    """Change the description of a tenant."""
    made = carry_out(session, change, lambda headers: session.client.tenants.update(name, description, **headers))
    tell(session, f"updated tenant {name}", f"tenant {name} is already described so")
    show.one(TENANT, made)


@tenant.command("suspend", epilog="\b\nExample:\n  canton tenant suspend psi --reason 'contract ended'")
@name
@shown(TENANT)
@changing_with_reason
@connected
def suspend_tenant(session: Session, show: Show, change: Changing, name: str) -> None:
    """Stop every change by a tenant's members."""
    confirm(f"Suspend the tenant {name}? Its members can change nothing until it is resumed.", change, name)
    made = carry_out(session, change, lambda headers: session.client.tenants.suspend(name, **headers))
    tell(session, f"suspended tenant {name}", f"tenant {name} is already suspended")
    show.one(TENANT, made)


@tenant.command("resume", epilog="\b\nExample:\n  canton tenant resume psi --reason 'contract renewed'")
@name
@shown(TENANT)
@changing
@connected
def resume_tenant(session: Session, show: Show, change: Changing, name: str) -> None:
    """Let a suspended tenant's members change things again."""
    made = carry_out(session, change, lambda headers: session.client.tenants.resume(name, **headers))
    tell(session, f"resumed tenant {name}", f"tenant {name} is already active")
    show.one(TENANT, made)


@tenant.command("delete", epilog="\b\nExample:\n  canton tenant delete psi --reason 'contract ended'")
@name
@changing_with_reason
@connected
def delete_tenant(session: Session, change: Changing, name: str) -> None:
    """Remove a tenant that has nothing left.

    It must have no nodes, members or accounts, and nothing under way.
    """
    confirm(f"Delete the tenant {name}? Its name can never be used again.", change, name)
    carry_out(session, change, lambda headers: session.client.tenants.delete(name, **headers))
    tell(session, f"deleted tenant {name}", f"tenant {name} is gone")
