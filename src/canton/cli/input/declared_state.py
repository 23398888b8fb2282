"""What a file declares, checked, and how the server differs from it."""

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
_LIMIT = (int, type(None))
TOP = {"sites": list, "tenants": list}
SITE = {"name": str, "description": str}
TENANT = {"name": str, "description": str, "quota": dict, "members": list}
QUOTA = dict.fromkeys(LIMITS, _LIMIT)
_INSTANT = (str, datetime)
MEMBER = {"subject": str, "role": str, "until": _INSTANT}
_WORDS: Mapping[object, str] = {
    list: "a list",
    dict: "a mapping",
    str: "a text",
    _LIMIT: "a whole number, or null for no limit",
    _INSTANT: "an instant",
}


class Step(NamedTuple):
    """One difference: how it reads, what takes it away, and what the caller must be allowed for that."""

    text: str
    act: Callable[[Change], object]
    needs: tuple[Need, ...]
    """The last is what the server makes and records it under."""


class Need(NamedTuple):
    """A permission, in a tenant that is there; to give a role, also the role and its end."""

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
        told = yaml.safe_load(content)
    except (yaml.YAMLError, ValueError) as error:
        problem = " ".join(str(error).replace('in "<byte string>", ', "at ").split())
        raise InvalidRequest(f"{file} is neither YAML nor JSON: {problem}") from error
    if told is None:
        raise InvalidRequest(f"{file} is empty; write sites or tenants into it, as canton apply --help shows")
    wrong = list(_mistakes(told))
    if wrong:
        raise InvalidRequest(f"{file}: nothing was done\n" + "\n".join(f"  {what}" for what in wrong))
    return cast("Table", told)


def _mistakes(told: object) -> Iterator[str]:
    yield from _wrong_keys(told, TOP, (), "the file")
    if not isinstance(told, dict):
        return
    for where, site in _each(told, "sites"):
        yield from _wrong_keys(site, SITE, ("name",), where)
    for where, tenant in _each(told, "tenants"):
        yield from _wrong_keys(tenant, TENANT, ("name",), where)
        if isinstance(tenant, dict):
            yield from _wrong_keys(tenant.get("quota", {}), QUOTA, (), f"{where}.quota")
            members = _each(tenant, "members", f"{where}.")
            for inner, member in members:
                yield from _wrong_keys(member, MEMBER, ("subject", "role"), inner)
            roles = [f"{m.get('subject')} {m.get('role')}" for _, m in members if isinstance(m, dict)]
            yield from (f"{where}.members: {role} is there twice" for role in _repeated(roles))
    for noun in ("sites", "tenants"):
        names = [str(each.get("name")) for _, each in _each(told, noun) if isinstance(each, dict)]
        yield from (f"{noun}: {name} is there twice" for name in _repeated(names))


def _repeated(names: Sequence[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


def _each(table: Table, key: str, before: str = "") -> list[tuple[str, Any]]:
    found = table.get(key)
    return [(f"{before}{key}[{n}]", each) for n, each in enumerate(found)] if isinstance(found, list) else []


def _wrong_keys(table: object, kinds: Mapping[str, Any], needed: Sequence[str], where: str) -> Iterator[str]:
    if not isinstance(table, dict):
        yield f"{where} must be a mapping with {', '.join(kinds)}"
        return
    yield from (f"{where} has no {key}" for key in needed if key not in table)
    for key, value in table.items():
        if key not in kinds:
            yield f'{where}: unknown key "{key}"{nearest(str(key), kinds)}'
        elif not isinstance(value, kinds[key]) or isinstance(value, bool):
            place = key if kinds is TOP else f"{where}.{key}"
            yield f"{place} must be {_WORDS[kinds[key]]}, not {cell(value)}"


def differences(client: Client, declared: Table) -> Iterator[Step]:
    """What has to change on the server, in an order that works."""
    for site in declared.get("sites", []):
        yield from _described(client.sites, "site", site)
    for tenant in declared.get("tenants", []):
        yield from _described(client.tenants, "tenant", tenant)
        yield from _quota(client, tenant["name"], tenant.get("quota"))
        yield from _members(client, tenant["name"], tenant.get("members", []))


def _described(noun: Any, kind: str, wanted: Table) -> Iterator[Step]:
    name, description = wanted["name"], wanted.get("description")
    try:
        now = noun.get(name)["description"]
    except NotFound:
        create = Need(f"{kind}.create")
        yield Step(f"+ {kind} {name}", lambda change: noun.create(name, description or "", **change), (create,))
        return
    if description is not None and description != now:
        text = f"~ {kind} {name} description: {cell(now)} → {cell(description)}"
        inside = name if kind == "tenant" else None
        update = Need(f"{kind}.update", inside)
        yield Step(text, lambda change: noun.update(name, description, **change), (update,))


def _quota(client: Client, tenant: str, wanted: Table | None) -> Iterator[Step]:
    if wanted is None:
        return
    now: Quota | None
    try:
        now = client.tenants.quota(tenant)
    except NotFound:
        now = None
    before: dict[str, Any] = {key: dict(now or {}).get(key) for key in LIMITS}
    after = {**before, **wanted}
    changed = [f"{key}: {_limit(before[key])} → {_limit(after[key])}" for key in LIMITS if before[key] != after[key]]
    if changed:
        yield Step(
            f"~ tenant {tenant} quota {', '.join(changed)}",
            lambda change: client.tenants.set_quota(tenant, after, **change),
            (Need("quota.set", None if now is None else tenant),),
        )


def _limit(value: object) -> str:
    return "none" if value is None else str(value)


def _members(client: Client, tenant: str, wanted: Sequence[Table]) -> Iterator[Step]:
    if not wanted:
        return
    inside: str | None = tenant
    try:
        held = {(each["subject"], each["role"]): each["until"] for each in client.bindings.list(tenant=tenant)}
        client.tenants.get(tenant)
    except NotFound:
        held, inside = {}, None
    for each in wanted:
        subject, role, until = each["subject"], each["role"], instant(each.get("until"))
        is_held = (subject, role) in held
        if is_held and (until is None or _same(held[subject, role], until)):
            continue
        text = f"{'~' if is_held else '+'} tenant {tenant} member {subject} {role}{f' until {until}' if until else ''}"
        needs: tuple[Need, ...] = (Need("member.grant", inside, role, until),)
        if is_held and _is_sooner(until, held[subject, role]):
            text += f" (earlier: now {held[subject, role] or 'without end'})"
            needs = (Need("member.grant", inside), Need("member.revoke", inside))
        yield Step(text, _binding(client, tenant, (subject, role, until)), needs)


def _binding(client: Client, tenant: str, wanted: tuple[str, str, str | None]) -> Callable[[Change], object]:
    subject, role, until = wanted
    return lambda change: client.bindings.create(subject, role, tenant, until, **change)


def instant(value: object) -> str | None:
    return value.isoformat() if isinstance(value, datetime) else None if value is None else str(value)


def _is_sooner(until: str | None, than: str | None) -> bool:
    """Whether the server takes the new end for a revocation; both were checked to be instants."""
    if until is None:
        return False
    return than is None or datetime.fromisoformat(until) < datetime.fromisoformat(than)


def _same(one: str | None, other: str) -> bool:
    try:
        return one is not None and datetime.fromisoformat(one) == datetime.fromisoformat(other)
    except (ValueError, TypeError):
        return one == other
