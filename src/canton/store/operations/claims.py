"""Claims: at most one open operation holds a node, with a purpose."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.domain.invariants import Claim
from canton.store.database import insert_new, now
from canton.store.schema import claim


def take(connection: Connection, operation_id: str, purpose: str, nodes: Sequence[str]) -> list[Claim]:
    """Claim all nodes, or return the claims in the way (the caller then rolls back).

    Nodes are claimed in the same order everywhere, so that two transactions cannot deadlock.
    """
    rows = [{"node": node, "operation": operation_id, "purpose": purpose} for node in sorted(set(nodes))]
    in_the_way: list[Claim] = []
    while rows and not in_the_way:
        attempt = connection.begin_nested()
        if insert_new(connection, claim, rows, since=now()) == len(rows):
            attempt.commit()
            return []
        # The claims in the way may be released before they are read: then all nodes are claimed again from the start,
        # since claiming only the rest would break the order.
        attempt.rollback()
        in_the_way = held(connection, nodes)
    return in_the_way


def held(connection: Connection, nodes: Sequence[str]) -> list[Claim]:
    """The claims on these nodes."""
    rows = connection.execute(
        sa.select(claim.c.node, claim.c.operation, claim.c.purpose, claim.c.since)
        .where(claim.c.node.in_(nodes))
        .order_by(claim.c.node)
    )
    return [Claim(*row) for row in rows]


def release(connection: Connection, operation_id: str) -> list[str]:
    """Release all claims of an operation; returns the nodes."""
    nodes = connection.scalars(sa.delete(claim).where(claim.c.operation == operation_id).returning(claim.c.node))
    return sorted(nodes)
