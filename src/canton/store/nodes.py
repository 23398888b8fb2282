"""Nodes: what they are meant to be, and beside it what was last seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.domain.lifecycle import NodeState
from canton.domain.node import Node
from canton.store.database import now
from canton.store.schema import node, node_observation


@dataclass(frozen=True, slots=True)
class Observation:
    xname: str
    power: str | None
    seen_at: int


_NODE = sa.select(node.c.xname, node.c.nid, node.c.state, node.c.tenant, node.c.version).order_by(node.c.xname)


def add(connection: Connection, nodes: Sequence[Node]) -> None:
    values = [
        {"xname": n.xname, "nid": n.nid, "state": n.state, "tenant": n.tenant, "version": n.version} for n in nodes
    ]
    connection.execute(sa.insert(node).values(changed_at=now()), values)


def find(connection: Connection, xnames: Sequence[str], *, lock: bool = False) -> list[Node]:
    """The nodes of these names that exist; with ``lock`` nobody else decides about them before this transaction ends.

    Whoever decides from what a node is must lock it: a doubt raised in between would be overwritten.
    """
    query = _NODE.where(node.c.xname.in_(xnames))
    rows = connection.execute(query.with_for_update(key_share=True) if lock else query)
    return [_node(*row) for row in rows]


def every(connection: Connection) -> list[Node]:
    return [_node(*row) for row in connection.execute(_NODE)]


def put(connection: Connection, xname: str, state: NodeState, tenant: str | None) -> None:
    """Record a decision about a node; its version moves, and with it every plan made from it."""
    connection.execute(
        sa.update(node)
        .where(node.c.xname == xname)
        .values(state=state, tenant=tenant, version=node.c.version + 1, changed_at=now())
    )


def observe(connection: Connection, xname: str, power: str | None) -> None:
    """Record what was seen; intent and its version stay as they are."""
    connection.execute(sa.delete(node_observation).where(node_observation.c.xname == xname))
    connection.execute(sa.insert(node_observation).values(xname=xname, power=power, seen_at=now()))


def observations(connection: Connection, xnames: Sequence[str]) -> dict[str, Observation]:
    rows = connection.execute(
        sa.select(node_observation.c.xname, node_observation.c.power, node_observation.c.seen_at).where(
            node_observation.c.xname.in_(xnames)
        )
    )
    return {row.xname: Observation(*row) for row in rows}


def _node(xname: str, nid: int | None, state: str, tenant: str | None, version: int) -> Node:
    return Node(xname=xname, nid=nid, state=NodeState(state), tenant=tenant, version=version)
