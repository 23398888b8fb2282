"""A file of declared state: its structure is checked, and compared with the server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from canton.cli.output.formats import nearest
from canton.cli.output.table import cell
from canton.domain.errors import InvalidRequest, NotFound

if TYPE_CHECKING:
    from canton.client import Client
    from canton.client.calls import Change
    from canton.client.objects import Quota

Table: TypeAlias = Mapping[str, Any]
LIMITS = ("nodes", "open_operations", "service_accounts")
_LIMIT_KINDS = (int, type(None))
TOP_KINDS = {"sites": list, "tenants": list}
SITE_KINDS = {"name": str, "description": str}
TENANT_KINDS = {"name": str, "description": str, "quota": dict, "members": list}
QUOTA_KINDS = dict.fromkeys(LIMITS, _LIMIT_KINDS)
_INSTANT_KINDS = (str, datetime)
MEMBER_KINDS = {"subject": str, "role": str, "until": _INSTANT_KINDS}
_KIND_TEXTS: Mapping[object, str] = {
    list: "a list",
    dict: "a mapping",
    str: "a string",
    _LIMIT_KINDS: "a whole number, or null for no limit",
    _INSTANT_KINDS: "a time such as 2027-01-31T18:00:00Z",
}


class Step(NamedTuple):
    """One difference: its text, the function that changes the server, and the permissions that this needs."""

    text: str
    act: Callable[[Change], object]
    required_permissions: tuple[RequiredPermission, ...]
    """The last one is the permission under which the server makes and records the change."""


class RequiredPermission(NamedTuple):
    """A permission, in an existing tenant or None; to give a role, also the role and when it ends."""

    permission: str
    tenant: str | None = None
    role: str | None = None
    until: str | None = None


def read(content: bytes, file: str) -> Table:
    """The declarations of a file; InvalidRequest names everything that is wrong with them.

    A file without any content is refused: it is what a failed `canton export > FILE` leaves.
    """
    import yaml  # noqa: PLC0415 (20 ms)

    try:
        document = yaml.safe_load(content)
    except (yaml.YAMLError, ValueError) as error:
        problem = " ".join(str(error).replace('in "<byte string>", ', "at ").split())
        raise InvalidRequest(f"{file} is neither YAML nor JSON: {problem}") from error
    if document is None:
        raise InvalidRequest(f"{file} is empty; write sites or tenants into it, as canton apply --help shows")
    mistakes = list(_mistakes(document))
    if mistakes:
        raise InvalidRequest(f"{file}: nothing was done\n" + "\n".join(f"  {what}" for what in mistakes))
    return cast("Table", document)


def _mistakes(document: object) -> Iterator[str]:
    yield from _wrong_keys(document, TOP_KINDS, (), "the file")
    if not isinstance(document, dict):
        return
    for where, site in _numbered(document, "sites"):
        yield from _wrong_keys(site, SITE_KINDS, ("name",), where)
    for where, tenant in _numbered(document, "tenants"):
        yield from _wrong_keys(tenant, TENANT_KINDS, ("name",), where)
        if isinstance(tenant, dict):
            yield from _wrong_keys(tenant.get("quota", {}), QUOTA_KINDS, (), f"{where}.quota")
            members = _numbered(tenant, "members", f"{where}.")
            for inner, member in members:
                yield from _wrong_keys(member, MEMBER_KINDS, ("subject", "role"), inner)
            roles = [f"{m.get('subject')} {m.get('role')}" for _, m in members if isinstance(m, dict)]
            yield from (f"{where}.members: {role} is listed twice" for role in _repeated(roles))
    for noun in ("sites", "tenants"):
        names = [str(entry.get("name")) for _, entry in _numbered(document, noun) if isinstance(entry, dict)]
        yield from (f"{noun}: {name} is listed twice" for name in _repeated(names))


def _repeated(names: Sequence[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


def _numbered(table: Table, key: str, prefix: str = "") -> list[tuple[str, Any]]:
    entries = table.get(key)
    return [(f"{prefix}{key}[{n}]", entry) for n, entry in enumerate(entries)] if isinstance(entries, list) else []


def _wrong_keys(table: object, kinds: Mapping[str, Any], needed: Sequence[str], where: str) -> Iterator[str]:
    if not isinstance(table, dict):
        yield f"{where} must be a mapping with {', '.join(kinds)}"
        return
    yield from (f"{where} has no {key}" for key in needed if key not in table)
    for key, value in table.items():
        if key not in kinds:
            yield f'{where}: unknown key "{key}"{nearest(str(key), kinds)}'
        elif not isinstance(value, kinds[key]) or isinstance(value, bool):
            place = key if kinds is TOP_KINDS else f"{where}.{key}"
            yield f"{place} must be {_KIND_TEXTS[kinds[key]]}, not {cell(value)}"


def differences(client: Client, declared: Table) -> Iterator[Step]:
    """What has to change on the server, in an order that works."""
    for site in declared.get("sites", []):
        yield from _description_steps(client.sites, "site", site)
    for tenant in declared.get("tenants", []):
        yield from _description_steps(client.tenants, "tenant", tenant)
        yield from _quota_steps(client, tenant["name"], tenant.get("quota"))
        yield from _member_steps(client, tenant["name"], tenant.get("members", []))


def _description_steps(noun: Any, kind: str, declared: Table) -> Iterator[Step]:
    name, description = declared["name"], declared.get("description")
    try:
        current = noun.get(name)["description"]
    except NotFound:
        create = RequiredPermission(f"{kind}.create")
        yield Step(f"+ {kind} {name}", lambda change: noun.create(name, description or "", **change), (create,))
        return
    if description is not None and description != current:
        text = f"~ {kind} {name} description: {cell(current)} → {cell(description)}"
        tenant = name if kind == "tenant" else None
        update = RequiredPermission(f"{kind}.update", tenant)
        yield Step(text, lambda change: noun.update(name, description, **change), (update,))


def _quota_steps(client: Client, tenant: str, declared: Table | None) -> Iterator[Step]:
    if declared is None:
        return
    current: Quota | None
    try:
        current = client.tenants.quota(tenant)
    except NotFound:
        current = None
    old_limits: dict[str, Any] = {key: dict(current or {}).get(key) for key in LIMITS}
    new_limits = {**old_limits, **declared}
    changes = [
        f"{key}: {_limit_text(old_limits[key])} → {_limit_text(new_limits[key])}"
        for key in LIMITS
        if old_limits[key] != new_limits[key]
    ]
    if changes:
        yield Step(
            f"~ tenant {tenant} quota {', '.join(changes)}",
            lambda change: client.tenants.set_quota(tenant, new_limits, **change),
            (RequiredPermission("quota.set", None if current is None else tenant),),
        )


def _limit_text(value: object) -> str:
    return "none" if value is None else str(value)


def _member_steps(client: Client, tenant: str, declared: Sequence[Table]) -> Iterator[Step]:
    if not declared:
        return
    existing_tenant: str | None = tenant
    try:
        bindings = client.bindings.list(tenant=tenant)
        current_ends = {(binding["subject"], binding["role"]): binding["until"] for binding in bindings}
        client.tenants.get(tenant)
    except NotFound:
        current_ends, existing_tenant = {}, None
    for member in declared:
        subject, role, until = member["subject"], member["role"], instant(member.get("until"))
        exists = (subject, role) in current_ends
        if exists and (until is None or _same_instant(current_ends[subject, role], until)):
            continue
        text = f"{'~' if exists else '+'} tenant {tenant} member {subject} {role}{f' until {until}' if until else ''}"
        required: tuple[RequiredPermission, ...] = (RequiredPermission("member.grant", existing_tenant, role, until),)
        if exists and _is_sooner(until, current_ends[subject, role]):
            text += f" (earlier: now {current_ends[subject, role] or 'without end'})"
            required = (
                RequiredPermission("member.grant", existing_tenant),
                RequiredPermission("member.revoke", existing_tenant),
            )
        yield Step(text, _create_binding(client, tenant, (subject, role, until)), required)


def _create_binding(client: Client, tenant: str, binding: tuple[str, str, str | None]) -> Callable[[Change], object]:
    subject, role, until = binding
    return lambda change: client.bindings.create(subject, role, tenant, until, **change)


def instant(value: object) -> str | None:
    return value.isoformat() if isinstance(value, datetime) else None if value is None else str(value)


def _is_sooner(until: str | None, than: str | None) -> bool:
    """Whether the server treats the new end as a revocation; both were checked to be instants."""
    if until is None:
        return False
    return than is None or datetime.fromisoformat(until) < datetime.fromisoformat(than)


def _same_instant(one: str | None, other: str) -> bool:
    try:
        return one is not None and datetime.fromisoformat(one) == datetime.fromisoformat(other)
    except (ValueError, TypeError):
        return one == other
