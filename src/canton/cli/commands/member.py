"""``canton member``: who has which role, in a tenant or at the provider."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, TypedDict

import click

from canton.cli.input.options import (
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
from canton.cli.output.columns import MEMBER
from canton.cli.output.empty_lists import listed
from canton.cli.output.formats import Show
from canton.cli.session.change import carry_out, confirm, tell
from canton.cli.session.session import Session
from canton.domain.errors import Forbidden, NotFound, UnknownBinding

if TYPE_CHECKING:
    from canton.client.calls import Change
    from canton.client.objects import Binding

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
    """Take a role away from somebody, or all they were given."""
    found = _by_id(session, subject) if subject.startswith("bd_") else _held(session, subject, role, provider=provider)
    confirm(f"Take away: {', '.join(map(_words, found))}?", change)
    for binding in found:
        carry_out(session, change, partial(_delete, session, binding["id"]))
        words = f"{binding['subject']} is no longer" if binding["subject"] else f"took away {binding['id']}"
        tell(session, f"{words}{_role(binding)}", f"{_words(binding)} was gone")


class Held(TypedDict):
    """A binding, as far as the caller may know it."""

    id: str
    subject: str
    role: str
    tenant: str | None


def _delete(session: Session, binding: str, headers: Change) -> None:
    session.client.bindings.delete(binding, **headers)


def _by_id(session: Session, binding: str) -> Sequence[Held]:
    """The binding; the server says whether it may be taken away, even from a caller who may not see it."""
    try:
        found = session.client.bindings.get(binding)
    except (Forbidden, NotFound):
        return [Held(id=binding, subject="", role="", tenant=None)]
    return [_as_held(found)]


def _held(session: Session, subject: str, role: str | None, *, provider: bool) -> Sequence[Held]:
    where = None if provider else session.named_tenant
    found = session.client.bindings.list(tenant=where, role=role, subject=subject, provider=provider)
    members = [_as_held(binding) for binding in found]
    if not members:
        held = f"the role {role}" if role else "a role"
        raise UnknownBinding(f"{subject} was not given {held} {_where(where)}; look with: canton member list")
    return members


def _as_held(binding: Binding) -> Held:
    return Held(id=binding["id"], subject=binding["subject"], role=binding["role"], tenant=binding["tenant"])


def _words(binding: Held) -> str:
    """``cscs:alice as tenant-admin in psi``, or the id where no more is known."""
    return f"{binding['subject']} as{_role(binding)}" if binding["subject"] else binding["id"]


def _role(binding: Held) -> str:
    return f" {binding['role']} {_where(binding['tenant'])}" if binding["role"] else ""


def _where(tenant: str | None) -> str:
    return "at the provider" if tenant is None else f"in {tenant}"
