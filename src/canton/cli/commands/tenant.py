"""``canton tenant``."""

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
from canton.cli.output.columns import TENANT
from canton.cli.output.empty_lists import explain_empty
from canton.cli.output.formats import Item, Show
from canton.cli.output.watch import watch as watch_list
from canton.cli.output.watch import watch_option
from canton.cli.session.change import carry_out, confirm, say_result
from canton.cli.session.session import Session

name = click.argument("name", metavar="TENANT", shell_complete=complete_names("tenants"))


@click.group(epilog="\b\nExamples:\n  canton tenant list\n  canton tenant create psi --description 'Paul Scherrer'")
def tenant() -> None:
    """Create, suspend and delete tenants."""


@tenant.command("list", epilog="\b\nExample:\n  canton tenant list --state suspended")
@click.option("--state", type=click.Choice(["active", "suspended"]), help="Only in this state.")
@sort_option("name", "created_at")
@limit_option
@watch_option
@output_options(TENANT, many=True)
@session_options
def list_tenants(session: Session, show: Show, limit: int | None, watch: bool, **filters: str | None) -> None:
    """List the tenants that you can see."""

    def fetch() -> list[Item]:
        return list(session.client.tenants.list(limit=limit, **filters))

    if watch:
        watch_list(session, show, fetch, lambda how, items: how.listing(TENANT, items), "tenant.", "node.")
    else:
        show.listing(TENANT, explain_empty(session, fetch()))


@tenant.command("show", epilog="\b\nExample:\n  canton tenant show psi")
@name
@output_options(TENANT)
@session_options
def show_tenant(session: Session, show: Show, name: str) -> None:
    """Show one tenant."""
    show.one(TENANT, session.client.tenants.get(name))


@tenant.command("create", epilog="\b\nExample:\n  canton tenant create psi --description 'Paul Scherrer Institute'")
@click.argument("name", metavar="TENANT")
@click.option("--description", metavar="TEXT", help="A description, one line.")
@output_options(TENANT)
@change_options
@session_options
def create_tenant(session: Session, show: Show, change: ChangeOptions, name: str, description: str | None) -> None:
    """Create a tenant. A name cannot be used again, even after the tenant is deleted."""
    created = carry_out(session, change, lambda headers: session.client.tenants.create(name, description, **headers))
    say_result(session, f"created tenant {name}", f"tenant {name} already exists")
    show.one(TENANT, created)


@tenant.command("update", epilog="\b\nExample:\n  canton tenant update psi --description 'PSI, Villigen'")
@name
@click.option("--description", metavar="TEXT", required=True, help="A description, one line.")
@output_options(TENANT)
@change_options
@session_options
def update_tenant(session: Session, show: Show, change: ChangeOptions, name: str, description: str) -> None:
    """Change the description of a tenant."""
    updated = carry_out(session, change, lambda headers: session.client.tenants.update(name, description, **headers))
    say_result(session, f"updated tenant {name}", f"tenant {name} already has this description")
    show.one(TENANT, updated)


@tenant.command("suspend", epilog="\b\nExample:\n  canton tenant suspend psi --reason 'contract ended'")
@name
@output_options(TENANT)
@change_options_with_reason
@session_options
def suspend_tenant(session: Session, show: Show, change: ChangeOptions, name: str) -> None:
    """Suspend a tenant: its members can no longer make changes."""
    confirm(f"Suspend the tenant {name}? Its members can change nothing until it is resumed.", change, name)
    suspended = carry_out(session, change, lambda headers: session.client.tenants.suspend(name, **headers))
    say_result(session, f"suspended tenant {name}", f"tenant {name} is already suspended")
    show.one(TENANT, suspended)


@tenant.command("resume", epilog="\b\nExample:\n  canton tenant resume psi --reason 'contract renewed'")
@name
@output_options(TENANT)
@change_options
@session_options
def resume_tenant(session: Session, show: Show, change: ChangeOptions, name: str) -> None:
    """End the suspension of a tenant. Its members can make changes again."""
    resumed = carry_out(session, change, lambda headers: session.client.tenants.resume(name, **headers))
    say_result(session, f"resumed tenant {name}", f"tenant {name} is already active")
    show.one(TENANT, resumed)


@tenant.command("delete", epilog="\b\nExample:\n  canton tenant delete psi --reason 'contract ended'")
@name
@change_options_with_reason
@session_options
def delete_tenant(session: Session, change: ChangeOptions, name: str) -> None:
    """Delete a tenant that is empty.

    It must have no nodes, no members, no service accounts and no open operations.
    """
    confirm(f"Delete the tenant {name}? Its name can never be used again.", change, name)
    carry_out(session, change, lambda headers: session.client.tenants.delete(name, **headers))
    say_result(session, f"deleted tenant {name}", f"tenant {name} is already deleted")
