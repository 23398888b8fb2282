"""Nodes: their state and tenant (intent), and separately their power as last observed."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from canton.domain.errors import NodesClaimed, UnknownNodes, WrongState
from canton.domain.lifecycle import NodeState
from canton.domain.node import Node
from canton.domain.nodeset.nodeset import fold
from canton.store.database import now
from canton.store.listing import ListPage, Visible, Window, fetch, visible_to
from canton.store.prepared_statements import PreparedStatement
from canton.store.schema import claim, node, node_observation

SORTS = {"xname": node.c.place, "changed_at": node.c.changed_at}
# Ten digits hold every number that the column does.
_NID = re.compile("nid([0-9]{1,10})", re.ASCII)
_NUMBER = re.compile("[0-9]+", re.ASCII)
# In characters: a short request can name 10,000 nodes that do not fold, of 253 characters each.
LONGEST_NAMED = 1_000


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """The nodes of a list; None matches any."""

    site: str | None = None
    tenant: str | None = None
    without_tenant: bool = False
    state: str | None = None
    power: str | None = None
    names: Collection[str] | None = None


_NODE = sa.select(node.c.xname, node.c.nid, node.c.state, node.c.tenant, node.c.version).order_by(node.c.xname)
_OF = sa.bindparam("of", type_=sa.String)
_POWER = sa.bindparam("seen", type_=sa.String)
_UPDATE_OBSERVATION = PreparedStatement(
    sa.update(node_observation).where(node_observation.c.xname == _OF).values(power=_POWER, seen_at=now())
)
_INSERT_OBSERVATION = PreparedStatement(
    sa.insert(node_observation).from_select(
        ["xname", "power", "seen_at"],
        sa.select(node.c.xname, sa.cast(_POWER, sa.String), now()).where(
            node.c.xname == _OF,
            ~sa.exists().where(node_observation.c.xname == _OF),
        ),
    )
)
_NODE_WITH_OBSERVATION = (
    sa.select(
        node.c.xname,
        node.c.nid,
        node.c.site,
        node.c.state,
        node.c.tenant,
        node_observation.c.power,
        node_observation.c.seen_at,
        node.c.version,
        node.c.changed_at,
        claim.c.operation.label("claimed_by"),
    )
    .outerjoin(node_observation, node_observation.c.xname == node.c.xname)
    .outerjoin(claim, claim.c.node == node.c.xname)
)


def place_of(xname: str) -> str:
    """The xname with padded numbers, so that text order is the order of its numbers."""
    return _NUMBER.sub(lambda number: number[0].zfill(6), xname)


def unknown(names: Collection[str]) -> UnknownNodes:
    """The same error for absent nodes and for those that the caller may not see. Long lists are cut."""
    folded = fold(names)
    if len(folded) > LONGEST_NAMED:
        folded = f"{folded[:LONGEST_NAMED]}…"
    return UnknownNodes(
        f"there is no node {folded} that you may see; list those with: canton node list"
        if len(names) == 1
        else f"there are no nodes {folded} that you may see; list those with: canton node list",
        nodes=folded,
    )


def add(connection: Connection, nodes: Sequence[Node], site: str | None = None) -> None:
    values = [
        {
            "xname": n.xname,
            "nid": n.nid,
            "site": site,
            "place": place_of(n.xname),
            "state": n.state,
            "tenant": n.tenant,
            "version": n.version,
        }
        for n in nodes
    ]
    connection.execute(sa.insert(node).values(changed_at=now()), values)


def page(connection: Connection, visible: Visible, node_filter: NodeFilter, window: Window) -> ListPage:
    query = _NODE_WITH_OBSERVATION.where(visible_to(visible, node.c.tenant), *_conditions(node_filter))
    return fetch(connection, query, window, SORTS, node.c.xname)


def show(connection: Connection, xname: str, visible: Visible) -> RowMapping:
    query = _NODE_WITH_OBSERVATION.where(node.c.xname == xname, visible_to(visible, node.c.tenant))
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        raise unknown([xname])
    return row


def named(connection: Connection, visible: Visible, names: Collection[str]) -> dict[str, RowMapping]:
    """The visible nodes by xname or by number such as ``nid001234``, keyed by the given name."""
    query = _NODE_WITH_OBSERVATION.where(visible_to(visible, node.c.tenant), _has_name(names)).order_by(node.c.place)
    rows = list(connection.execute(query).mappings())
    by_xname = {row["xname"]: row for row in rows}
    # A name that is not a number (None) must not match nodes without a number.
    by_nid = {row["nid"]: row for row in rows if row["nid"] is not None}
    by_name = {name: by_xname.get(name) or by_nid.get(_nid(name)) for name in names}
    return {name: row for name, row in by_name.items() if row is not None}


def find(connection: Connection, xnames: Sequence[str], *, lock: bool = False) -> list[Node]:
    """The existing nodes of these names; with ``lock`` no other transaction changes them before this one ends.

    A decision that depends on a node's state must lock it; otherwise it could overwrite a concurrent change.
    """
    query = _NODE.where(node.c.xname.in_(xnames))
    rows = connection.execute(query.with_for_update(key_share=True) if lock else query)
    return [_node(*row) for row in rows]


def hold(connection: Connection, xnames: Sequence[str]) -> list[Node]:
    """The existing nodes of these names. None can be deleted before this transaction ends; others may change them."""
    query = _NODE.where(node.c.xname.in_(xnames)).with_for_update(read=True, key_share=True)
    return [_node(*row) for row in connection.execute(query)]


def every(connection: Connection) -> list[Node]:
    return [_node(*row) for row in connection.execute(_NODE)]


def put(connection: Connection, xname: str, state: NodeState, tenant: str | None) -> None:
    """Set a node's state and tenant, and increase its version, which invalidates every plan made from it."""
    connection.execute(
        sa.update(node)
        .where(node.c.xname == xname)
        .values(state=state, tenant=tenant, version=node.c.version + 1, changed_at=now())
    )


def lock_for_deletion(connection: Connection, xnames: Sequence[str]) -> None:
    """Lock the nodes, so that none of them is claimed before this transaction ends."""
    connection.execute(_NODE.where(node.c.xname.in_(xnames)).with_for_update())


def require_deletable(connection: Connection, xnames: Sequence[str]) -> None:
    """Raise unless every node is retired and not claimed by an operation."""
    not_retired = {node.xname: node.state for node in find(connection, xnames) if node.state is not NodeState.RETIRED}
    if not_retired:
        raise WrongState(
            f"{fold(not_retired)} cannot be deleted: {', '.join(sorted(set(not_retired.values())))}; "
            "only a retired node can be. Take it into maintenance, then retire it",
            nodes=fold(not_retired),
            states=sorted(set(not_retired.values())),
        )
    claimed_nodes = connection.scalars(sa.select(claim.c.node).where(claim.c.node.in_(xnames)))
    if claimed := sorted(claimed_nodes):
        raise NodesClaimed(f"{fold(claimed)} held by an open operation; wait for it to end", nodes=fold(claimed))


def delete(connection: Connection, xnames: Sequence[str]) -> None:
    """Delete nodes with their observations."""
    connection.execute(sa.delete(node).where(node.c.xname.in_(xnames)))


def observe(connection: Connection, power: Mapping[str, str | None]) -> None:
    """Store the observed power of nodes, now. Their versions stay as they are; unknown names are ignored."""
    rows = [{"of": xname, "seen": state} for xname, state in sorted(power.items())]
    _UPDATE_OBSERVATION.execute_each(connection, rows)
    _INSERT_OBSERVATION.execute_each(connection, rows)


def at_site(connection: Connection, site: str) -> list[str]:
    """The xnames of a site, without retired nodes."""
    query = sa.select(node.c.xname).where(node.c.site == site, node.c.state != NodeState.RETIRED)
    return list(connection.scalars(query.order_by(node.c.place)))


def observe_at(connection: Connection, power: Mapping[str, str], at: int) -> None:
    """Store a reading of many nodes that began at ``at``; later observations are kept."""
    for state in sorted(set(power.values())):
        names = [xname for xname, observed in power.items() if observed == state]
        older = (node_observation.c.xname.in_(names), node_observation.c.seen_at < at)
        connection.execute(sa.update(node_observation).where(*older).values(power=state, seen_at=at))
        unseen = (node.c.xname.in_(names), ~sa.exists().where(node_observation.c.xname == node.c.xname))
        first = sa.select(node.c.xname, sa.literal(state), sa.literal(at, sa.BigInteger)).where(*unseen)
        connection.execute(sa.insert(node_observation).from_select(["xname", "power", "seen_at"], first))


def _conditions(node_filter: NodeFilter) -> list[sa.ColumnElement[bool]]:
    exact = {
        node.c.site: node_filter.site,
        node.c.tenant: node_filter.tenant,
        node.c.state: node_filter.state,
        node_observation.c.power: node_filter.power,
    }
    conditions = [column == value for column, value in exact.items() if value is not None]
    if node_filter.without_tenant:
        conditions.append(node.c.tenant.is_(None))
    if node_filter.names is not None:
        conditions.append(_has_name(node_filter.names))
    return conditions


def _has_name(names: Collection[str]) -> sa.ColumnElement[bool]:
    nids = {nid for nid in map(_nid, names) if nid is not None}
    by_xname = node.c.xname.in_(sorted(names))
    return sa.or_(by_xname, node.c.nid.in_(sorted(nids))) if nids else by_xname


def _nid(name: str) -> int | None:
    match = _NID.fullmatch(name)
    return int(match[1]) if match and int(match[1]) < 2**31 else None


def _node(xname: str, nid: int | None, state: str, tenant: str | None, version: int) -> Node:
    return Node(xname=xname, nid=nid, state=NodeState(state), tenant=tenant, version=version)
