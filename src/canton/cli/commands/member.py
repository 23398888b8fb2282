"""``canton member``: who has which role, in a tenant or at the provider."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, TypedDict

import click

from canton.cli.input.options import (
    ChangeOptions,
    Instant,
    all_tenants_option,
    change_options,
    change_options_with_reason,
    complete_names,
    limit_option,
    output_options,
    session_options,
)
from canton.cli.output.columns import MEMBER
from canton.cli.output.empty_lists import explain_empty
from canton.cli.output.formats import Show
from canton.cli.session.change import carry_out, confirm, say_result
from canton.cli.session.session import Session
from canton.domain.errors import Forbidden, NotFound, UnknownBinding

if TYPE_CHECKING:
    from canton.client.calls import Change
    from canton.client.objects import Binding

provider_option = click.option("--provider", is_flag=True, help="At the provider, not in a tenant.")


@click.group(epilog="\b\nExamples:\n  canton member list --tenant psi\n  canton member add cscs:alice tenant-admin")
def member() -> None:
    """List and change who has which role.

    A subject is a person (cscs:alice) or a group (cscs:group/psi-ops); the part before the colon is the issuer that
    they log in with.
    """


@member.command("list", epilog="\b\nExample:\n  canton member list --tenant psi --role tenant-admin")
@provider_option
@click.option("--role", metavar="ROLE", shell_complete=complete_names("roles"), help="Only with this role.")
@click.option("--subject", metavar="WHO", help="Only this person or group.")
@limit_option
@all_tenants_option
@output_options(MEMBER, many=True)
@session_options
def list_members(session: Session, show: Show, provider: bool, limit: int | None, **filters: str | None) -> None:
    """List who has which role."""
    members = session.client.bindings.list(provider=provider, limit=limit, **filters)
    show.listing(MEMBER, explain_empty(session, members, None if provider else session.tenant))


@member.command(
    "add",
    epilog="\b\nExamples:\n  canton member add cscs:alice tenant-operator --tenant psi --until 8h\n"
    "  canton member add cscs:group/ops provider-operator --provider",
)
@click.argument("subject")
@click.argument("role", shell_complete=complete_names("roles"))
@provider_option
@click.option(
    "--until", type=Instant(), metavar="WHEN", help="When the role ends: in 8h or 2d, or at 2027-01-31T18:00:00Z."
)
@output_options(MEMBER)
@change_options
@session_options
def add_member(session: Session, show: Show, change: ChangeOptions, provider: bool, **fields: str | None) -> None:
    """Give a person or group a role. You cannot give permissions that you do not have."""
    tenant = None if provider else session.named_tenant
    subject, role, until = str(fields["subject"]), str(fields["role"]), fields["until"]
    binding = carry_out(
        session, change, lambda headers: session.client.bindings.create(subject, role, tenant, until, **headers)
    )
    say_result(
        session, f"{subject} is {role} {_place_text(tenant)}", f"{subject} is already {role} {_place_text(tenant)}"
    )
    show.one(MEMBER, binding)


@member.command(
    "remove",
    epilog="\b\nExamples:\n  canton member remove cscs:alice tenant-operator --tenant psi --reason left\n"
    "  canton member remove bd_01J… --reason left",
)
@click.argument("subject", metavar="SUBJECT|ID")
@click.argument("role", required=False, shell_complete=complete_names("roles"))
@provider_option
@change_options_with_reason
@session_options
def remove_member(session: Session, change: ChangeOptions, subject: str, role: str | None, provider: bool) -> None:
    """Remove a role from a person or group. Without ROLE, all roles that they were given there."""
    bindings = (
        _by_id(session, subject)
        if subject.startswith("bd_")
        else _bindings_of(session, subject, role, provider=provider)
    )
    confirm(f"Remove: {', '.join(map(_binding_text, bindings))}?", change)
    for binding in bindings:
        carry_out(session, change, partial(_delete, session, binding["id"]))
        words = f"{binding['subject']} is no longer" if binding["subject"] else f"removed {binding['id']}"
        say_result(session, f"{words}{_role_text(binding)}", f"{_binding_text(binding)} is already removed")


class MemberBinding(TypedDict):
    """A binding; its fields are empty if the caller may not see them."""

    id: str
    subject: str
    role: str
    tenant: str | None


def _delete(session: Session, binding: str, headers: Change) -> None:
    session.client.bindings.delete(binding, **headers)


def _by_id(session: Session, binding: str) -> Sequence[MemberBinding]:
    """The binding of an id; only its id if the caller may not see it: the server decides on its removal."""
    try:
        visible_binding = session.client.bindings.get(binding)
    except (Forbidden, NotFound):
        return [MemberBinding(id=binding, subject="", role="", tenant=None)]
    return [_member_binding(visible_binding)]


def _bindings_of(session: Session, subject: str, role: str | None, *, provider: bool) -> Sequence[MemberBinding]:
    where = None if provider else session.named_tenant
    bindings = session.client.bindings.list(tenant=where, role=role, subject=subject, provider=provider)
    members = [_member_binding(binding) for binding in bindings]
    if not members:
        role_text = f"the role {role}" if role else "a role"
        raise UnknownBinding(f"{subject} was not given {role_text} {_place_text(where)}; look with: canton member list")
    return members


def _member_binding(binding: Binding) -> MemberBinding:
    return MemberBinding(id=binding["id"], subject=binding["subject"], role=binding["role"], tenant=binding["tenant"])


def _binding_text(binding: MemberBinding) -> str:
    """``cscs:alice as tenant-admin in psi``, or the id if only that is visible."""
    return f"{binding['subject']} as{_role_text(binding)}" if binding["subject"] else binding["id"]


def _role_text(binding: MemberBinding) -> str:
    return f" {binding['role']} {_place_text(binding['tenant'])}" if binding["role"] else ""


def _place_text(tenant: str | None) -> str:
    return "at the provider" if tenant is None else f"in {tenant}"
