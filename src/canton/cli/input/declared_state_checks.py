"""Checks whether the server would accept all that a file declares, before the first change is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from canton.cli.input.declared_state import RequiredPermission, Step, Table, instant
from canton.cli.output.formats import nearest
from canton.domain.errors import ApprovalRequired, Forbidden, InvalidRequest, ReasonRequired
from canton.domain.tenant import is_name
from canton.domain.terminal_text import is_harmless

if TYPE_CHECKING:
    from canton.client import Client
    from canton.client.objects import Role

LONGEST_DESCRIPTION = 500
LARGEST_LIMIT = 2**31 - 1


def check(client: Client, declared: Table, file: str) -> None:
    """Raise InvalidRequest with every value that the server would refuse, as far as it can be known beforehand."""
    members = [member for tenant in declared.get("tenants", []) for member in tenant.get("members", [])]
    roles = {role["name"]: role for role in client.roles.list()} if members else {}
    if members and not roles:
        raise Forbidden(_explanation(file, ["you may not read roles, so you cannot add members; see: canton whoami"]))
    mistakes = [*_wrong_values(declared), *(_wrong_members(client, roles, members) if members else ())]
    if mistakes:
        raise InvalidRequest(_explanation(file, mistakes))


class Conditions(NamedTuple):
    """The permissions that the steps need and that take a second person, and those that take a reason."""

    two_persons: list[str]
    reason: list[str]


def check_allowed(client: Client, steps: Sequence[Step], file: str) -> Conditions:
    """Raise Forbidden if the caller may not do one of the steps; return which need a second person or a reason."""
    required = dict.fromkeys(need for step in steps for need in step.required_permissions)
    decisions = [
        (need, client.roles.can_i(need.permission, need.tenant, role=need.role, until=need.until)) for need in required
    ]
    refused = [f"you may not {_permission_text(need)}: {it['reason']}" for need, it in decisions if not it["allowed"]]
    if refused:
        raise Forbidden(_explanation(file, refused))
    made_under = {step.required_permissions[-1].permission for step in steps}
    # A server of the previous release does not send these two fields.
    return Conditions(
        sorted(made_under & {need.permission for need, it in decisions if it.get("two_persons")}),
        sorted(made_under & {need.permission for need, it in decisions if it.get("needs_reason")}),
    )


def check_second_person_and_reason(
    steps: Sequence[Step], conditions: Conditions, reason: str | None, file: str
) -> None:
    """Raise now what the server would raise half-way: a second person is needed, or a reason is missing."""
    refused_steps = [step.text for step in steps if step.required_permissions[-1].permission in conditions.two_persons]
    if refused_steps:
        raise ApprovalRequired(
            _explanation(file, refused_steps)
            + f"\n{_two_persons_text(conditions.two_persons)}, and apply does not wait for a second person: make these "
            "changes one by one with their own commands (canton member, quota, tenant, site), then apply again"
        )
    if conditions.reason and not (reason or "").strip():
        permissions = ", ".join(conditions.reason)
        raise ReasonRequired(
            _explanation(file, [f"{permissions} is recorded with its reason; say why with --reason"]),
            permission=permissions,
        )


def _two_persons_text(permissions: Sequence[str]) -> str:
    return f"{', '.join(permissions)} {'takes' if len(permissions) == 1 else 'take'} two persons"


def _permission_text(need: RequiredPermission) -> str:
    return f"give the role {need.role}" if need.role else need.permission


def _explanation(file: str, wrong: Sequence[str]) -> str:
    return f"{file}: nothing was done\n" + "\n".join(f"  {what}" for what in dict.fromkeys(wrong))


def _wrong_values(declared: Table) -> Iterator[str]:
    for noun in ("site", "tenant"):
        for item in declared.get(f"{noun}s", []):
            name, description = item["name"], item.get("description", "")
            if not is_name(name):
                yield (
                    f"{noun} {name}: a name is 2 to 32 lower-case letters, digits and dashes, begins with a letter and "
                    "does not end with a dash"
                )
            if len(description) > LONGEST_DESCRIPTION or any(ord(it) < 32 or ord(it) == 127 for it in description):
                yield f"{noun} {name}: a description is one line of at most {LONGEST_DESCRIPTION} characters"
    for tenant in declared.get("tenants", []):
        for key, limit in tenant.get("quota", {}).items():
            if limit is not None and not 0 <= limit <= LARGEST_LIMIT:
                yield f"tenant {tenant['name']} quota {key}: {limit} is not from 0 to {LARGEST_LIMIT}"


def _wrong_members(client: Client, roles: dict[str, Role], members: Sequence[Table]) -> Iterator[str]:
    issuers = client.whoami()["server"].get("issuers", [])
    for member in members:
        subject = member["subject"]
        issuer, colon, name = subject.partition(":")
        if not colon or not name or not name.isprintable() or not is_harmless(name):
            yield f'member {subject}: write a person as ISSUER:NAME or a group as ISSUER:group/NAME, as "cscs:alice"'
        elif issuers and issuer not in issuers:
            hint = nearest(issuer, issuers)
            yield f'member {subject}: the server trusts no issuer "{issuer}"{hint}; it trusts {", ".join(issuers)}'
        yield from _wrong_role(roles, member["role"], subject)
        yield from _wrong_end(member.get("until"), subject)


def _wrong_role(roles: dict[str, Role], name: str, subject: str) -> Iterator[str]:
    if name not in roles:
        yield f'member {subject}: there is no role "{name}"{nearest(name, roles)}; look with: canton role list'
    elif roles[name]["scope"] != "tenant":
        yield f'member {subject}: the role "{name}" is a role at the provider and cannot be given in a tenant'


def _wrong_end(until: object, subject: str) -> Iterator[str]:
    text = instant(until)
    if text is None:
        return
    try:
        end = datetime.fromisoformat(text)
    except ValueError:
        yield f"member {subject}: {text} is not a time; write 2027-01-31T18:00:00Z"
        return
    if end.tzinfo is None:
        yield f"member {subject}: {text} has no time zone; end it with Z for UTC"
    elif end <= datetime.now(UTC):
        yield f"member {subject}: {text} is in the past; give a time in the future, or leave the member out"
