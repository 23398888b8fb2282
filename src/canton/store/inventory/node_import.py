"""The import of nodes: compare the rows with the store, and apply them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from canton.domain.lifecycle import NodeState
from canton.domain.node import Node
from canton.store.access import quotas, tenants
from canton.store.database import now
from canton.store.inventory import nodes
from canton.store.schema import node, site, tenant

# SQLite, as some distributions build it, takes 32,766 parameters in a statement.
_CHUNK = 10_000


@dataclass(frozen=True, slots=True)
class Line:
    """One row of an import; ``number`` counts from 1. None keeps the stored value."""

    number: int
    xname: str
    nid: int | None
    state: NodeState | None = None
    tenant: str | None = None

    @property
    def first_state(self) -> NodeState:
        """The state of the node if it is new."""
        return self.state or (NodeState.DISCOVERED if self.tenant is None else NodeState.ASSIGNED)


@dataclass(frozen=True, slots=True)
class Comparison:
    added: list[Line]
    changed: list[Line]
    unchanged: list[Line]
    clashes: list[tuple[int, str]]
    """The numbers of the rows that cannot be imported, and why."""


def lock(connection: Connection, lines: Sequence[Line]) -> None:
    """Serialise imports: two at once could give one number to two nodes, or both use a tenant's last quota.

    The tenants of known nodes are locked too, in the order of their names and before any node: other changes lock the
    tenant before its nodes, and the opposite order would deadlock with them.
    """
    connection.execute(sa.select(site.c.name).order_by(site.c.name).with_for_update()).all()
    names = {line.tenant for line in lines} | {row.tenant for row in _find_known(connection, lines).values()}
    tenant_query = sa.select(tenant.c.name).where(tenant.c.name.in_(names - {None})).order_by(tenant.c.name)
    connection.execute(tenant_query.with_for_update()).all()


def compare(connection: Connection, where: str, lines: Sequence[Line], *, renumber: bool) -> Comparison:
    known_nodes = _find_known(connection, lines)
    clashes = [
        *_clashes(known_nodes, where, lines),
        *_contradictions(known_nodes, lines, renumber=renumber),
        *_unknown_tenants(connection, lines),
    ]
    comparison = Comparison([], [], [], clashes)
    for line in lines:
        row = known_nodes.get(line.xname)
        if row is None:
            comparison.added.append(line)
        elif _moves(row, where, line):
            comparison.changed.append(line)
        else:
            comparison.unchanged.append(line)
    return comparison


def carry_out(connection: Connection, where: str, comparison: Comparison) -> None:
    """Apply the result of ``compare``, in the same transaction."""
    known_nodes = _find_known(connection, comparison.changed)
    # First clear every number that changes: two nodes may swap theirs.
    for chunk in _chunks([line.xname for line in comparison.changed if line.nid is not None]):
        connection.execute(sa.update(node).where(node.c.xname.in_(chunk)).values(nid=None))
    if comparison.added:
        new = [Node(line.xname, line.nid, line.first_state, line.tenant, 1) for line in comparison.added]
        nodes.add(connection, new, where)
    _move(
        connection, where, comparison.changed, {line.xname: known_nodes[line.xname].nid for line in comparison.changed}
    )


def _move(connection: Connection, where: str, moved: Sequence[Line], old_nids: Mapping[str, int | None]) -> None:
    if not moved:
        return
    update = (
        sa.update(node)
        .where(node.c.xname == sa.bindparam("of"))
        .values(nid=sa.bindparam("number"), site=where, version=node.c.version + 1, changed_at=now())
    )
    numbers = ({"of": line.xname, "number": old_nids[line.xname] if line.nid is None else line.nid} for line in moved)
    connection.execute(update, list(numbers))


def _find_known(connection: Connection, lines: Sequence[Line]) -> dict[str, Row[Any]]:
    """The stored nodes that have an xname or a number of the import, by xname."""
    query = sa.select(node.c.xname, node.c.nid, node.c.site, node.c.state, node.c.tenant)
    known_nodes: dict[str, Row[Any]] = {}
    for column, values in (
        (node.c.xname, [line.xname for line in lines]),
        (node.c.nid, [line.nid for line in lines if line.nid is not None]),
    ):
        for chunk in _chunks(values):
            known_nodes |= {row.xname: row for row in connection.execute(query.where(column.in_(chunk)))}
    return known_nodes


def _clashes(known_nodes: Mapping[str, Row[Any]], where: str, lines: Sequence[Line]) -> Iterator[tuple[int, str]]:
    nids = {line.xname: line.nid for line in lines}
    holders = {row.nid: row.xname for row in known_nodes.values() if nids.get(row.xname) in (None, row.nid)}
    for line in lines:
        row = known_nodes.get(line.xname)
        if row is not None and row.site not in (None, where):
            yield line.number, f"{line.xname} is at site {row.site}; a node is imported at its own site"
        holder = holders.get(line.nid) if line.nid is not None else None
        if holder not in (None, line.xname):
            yield line.number, f"nid {line.nid} is {holder}'s; give {line.xname} another"


def _contradictions(
    known_nodes: Mapping[str, Row[Any]], lines: Sequence[Line], *, renumber: bool
) -> Iterator[tuple[int, str]]:
    """Rows that contradict a known node: an import does not change its state or tenant."""
    for line in lines:
        row = known_nodes.get(line.xname)
        if row is None:
            continue
        if line.nid is not None and row.nid not in (None, line.nid) and not renumber:
            yield line.number, f"{line.xname} has nid {row.nid}, not {line.nid}; correct it, or import with --renumber"
        if line.tenant not in (None, row.tenant):
            owner = f"{row.tenant}'s" if row.tenant else "no tenant's"
            yield line.number, f"{line.xname} is {owner}, not {line.tenant}'s; see: canton node assign, node release"
        elif line.state not in (None, row.state):
            yield (
                line.number,
                f"{line.xname} is {row.state}, not {line.state}; an import does not change it; see: canton node --help",
            )


def _unknown_tenants(connection: Connection, lines: Sequence[Line]) -> Iterator[tuple[int, str]]:
    names = {line.tenant for line in lines if line.tenant is not None}
    existing = {name for name in names if tenants.state(connection, name) is not None}
    for line in lines:
        if line.tenant is not None and line.tenant not in existing:
            yield line.number, f'there is no tenant "{line.tenant}"; create it first'


def require_room(connection: Connection, added: Sequence[Line]) -> None:
    """Raise QuotaExceeded unless the tenants have quota for the nodes that the import adds to them."""
    for name, count in sorted(Counter(line.tenant for line in added if line.tenant is not None).items()):
        quotas.require_room(connection, name, "nodes", count)


def _moves(row: Row[Any], where: str, line: Line) -> bool:
    return row.site != where or line.nid not in (None, row.nid)


def _chunks(values: Sequence[Any]) -> Iterator[list[Any]]:
    iterator = iter(values)
    while chunk := list(islice(iterator, _CHUNK)):
        yield chunk
