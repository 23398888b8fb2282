"""Reviewed and executed plans, by digest."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.domain.errors import UnknownPlan
from canton.store.database import insert_new, now
from canton.store.schema import plan


def put(connection: Connection, digest: str, body: str) -> None:
    """Keep a plan; the same digest is the same plan, so a second time changes nothing."""
    insert_new(connection, plan, [{"digest": digest, "body": body}], created_at=now())


def find(connection: Connection, digest: str) -> str:
    body = connection.execute(sa.select(plan.c.body).where(plan.c.digest == digest)).scalar_one_or_none()
    if body is None:
        raise UnknownPlan(f"there is no plan {digest}; make a dry run and use the digest that it prints", digest=digest)
    return str(body)
