"""Claims: at most one open operation holds a node, and says what for."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.domain.invariants import Claim
from canton.store.database import insert_new, now
from canton.store.schema import claim


def take(connection: Connection, operation_id: str, purpose: str, nodes: Sequence[str]) -> list[Claim]:
    """Claim all nodes, or answer with the claims in the way (the caller then rolls back).

    Nodes are claimed in one order everywhere, so that two takers wait for each other and never in a circle.
    """
    rows = [{"node": node, "operation": operation_id, "purpose": purpose} for node in sorted(set(nodes))]
    in_the_way: list[Claim] = []
    while rows and not in_the_way:
        attempt = connection.begin_nested()
        if insert_new(connection, claim, rows, since=now()) == len(rows):
            attempt.commit()
            return []
        # Whoever was in the way may have let go before we see who it was: then once more, from the start, since
        # with some nodes in hand we would no longer claim in that one order.
        attempt.rollback()
        in_the_way = held(connection, nodes)
    return in_the_way


def held(connection: Connection, nodes: Sequence[str]) -> list[Claim]:
    """Who holds these nodes."""
    rows = connection.execute(
        sa.select(claim.c.node, claim.c.operation, claim.c.purpose, claim.c.since)
        .where(claim.c.node.in_(nodes))
        .order_by(claim.c.node)
    )
    return [Claim(*row) for row in rows]


def release(connection: Connection, operation_id: str) -> list[str]:
    """Let go of everything an operation holds; answers with the nodes."""
    nodes = connection.scalars(sa.delete(claim).where(claim.c.operation == operation_id).returning(claim.c.node))
    return sorted(nodes)
