"""Reviewed and executed plans, by digest."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.domain.errors import UnknownPlan
from canton.store.database import insert_new, now
from canton.store.schema import plan


@dataclass(frozen=True, slots=True)
class Facts:
    """What lists show of a plan and go by."""

    kind: str
    tenant: str | None
    summary: str


def put(connection: Connection, digest: str, body: str, facts: Facts) -> None:
    """Keep a plan; the same digest is the same plan, so a second time changes nothing."""
    insert_new(connection, plan, [{"digest": digest, "body": body, **asdict(facts)}], created_at=now())


def find(connection: Connection, digest: str) -> str:
    body = connection.execute(sa.select(plan.c.body).where(plan.c.digest == digest)).scalar_one_or_none()
    if body is None:
        raise unknown(digest)
    return str(body)


def unknown(digest: str) -> UnknownPlan:
    return UnknownPlan(f"there is no plan {digest}; make a dry run and use the digest that it prints", digest=digest)
