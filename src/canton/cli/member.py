"""``canton member``: who has which role, in a tenant or at the provider."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from canton.cli.change import carry_out, confirm, tell
from canton.cli.listing import listed
from canton.cli.options import (
    Changing,
    Instant,
    all_tenants,
    changing,
    changing_with_reason,
    connected,
    limited,
    names,
    shown,
)
from canton.cli.output import Show
from canton.cli.session import Session
from canton.cli.shapes import MEMBER
from canton.domain.errors import UnknownBinding

if TYPE_CHECKING:
    from canton.client.calls import Change

provider_option = click.option("--provider", is_flag=True, help="At the provider, not in a tenant.")


@click.group(epilog="\b\nExamples:\n  canton member list --tenant psi\n  canton member add cscs:alice tenant-admin")
def member() -> None:
    """See and change who has which role.

    A subject is a person (cscs:alice) or a group (cscs:group/psi-ops), named by the issuer that vouches for them.
    """


@member.command("list", epilog="\b\nExample:\n  canton member list --tenant psi --role tenant-admin")
@provider_option
@click.option("--role", metavar="ROLE", shell_complete=names("roles"), help="Only with this role.")
@click.option("--subject", metavar="WHO", help="Only this person or group.")
@limited
@all_tenants
@shown(MEMBER, many=True)
@connected
def list_members(session: Session, show: Show, provider: bool, limit: int | None, **filters: str | None) -> None:
    """List who has which role."""
    members = session.client.bindings.list(provider=provider, limit=limit, **filters)
    show.listing(MEMBER, listed(session, members, None if provider else session.tenant))


@member.command(
    "add",
    epilog="\b\nExamples:\n  canton member add cscs:alice tenant-operator --tenant psi --until 8h\n"
    "  canton member add cscs:group/ops provider-operator --provider",
)
@click.argument("subject")
@click.argument("role", shell_complete=names("roles"))
@provider_option
@click.option("--until", type=Instant(), metavar="WHEN", help="It ends then: 8h, 2d or 2027-01-31T18:00:00Z.")
@shown(MEMBER)
@changing
@connected
def add_member(session: Session, show: Show, change: Changing, provider: bool, **given: str | None) -> None:
    """Give somebody a role; nobody can give more than they have."""
    tenant = None if provider else session.named_tenant
    subject, role, until = str(given["subject"]), str(given["role"]), given["until"]
    made = carry_out(
        session, change, lambda headers: session.client.bindings.create(subject, role, tenant, until, **headers)
    )
    tell(session, f"{subject} is {role} {_where(tenant)}", f"{subject} is already {role} {_where(tenant)}")
    show.one(MEMBER, made)


@member.command(
    "remove",
    epilog="\b\nExamples:\n  canton member remove cscs:alice tenant-operator --tenant psi --reason left\n"
    "  canton member remove bd_01J… --reason left",
)
@click.argument("subject", metavar="SUBJECT|ID")
@click.argument("role", required=False, shell_complete=names("roles"))
@provider_option
@changing_with_reason
@connected
def remove_member(session: Session, change: Changing, subject: str, role: str | None, provider: bool) -> None:
    """Take a role away from somebody, or all of theirs if no role is named."""
    found = [subject] if subject.startswith("bd_") else _bindings(session, subject, role, provider=provider)
    count = f"{len(found)} binding{'' if len(found) == 1 else 's'}"
    confirm(f"Take away {role or 'every role'} of {subject}: {count} ({', '.join(found)})?", change)
    for binding in found:
        carry_out(session, change, partial(_delete, session, binding))
    tell(session, f"took away {', '.join(found)}", f"{', '.join(found)} was gone")


def _delete(session: Session, binding: str, headers: Change) -> None:
    session.client.bindings.delete(binding, **headers)


def _bindings(session: Session, subject: str, role: str | None, *, provider: bool) -> list[str]:
    where = None if provider else session.named_tenant
    found = session.client.bindings.list(tenant=where, role=role, subject=subject, provider=provider)
    ids = [binding["id"] for binding in found]
    if not ids:
        held = f"the role {role}" if role else "a role"
        raise UnknownBinding(f"{subject} was not given {held} {_where(where)}; look with: canton member list")
    return ids


def _where(tenant: str | None) -> str:
    return "at the provider" if tenant is None else f"in {tenant}"
