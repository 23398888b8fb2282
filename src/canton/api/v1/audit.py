"""The audit: who did what, when and why, and who was not allowed to."""

from __future__ import annotations

import json
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response
from sqlalchemy.engine import RowMapping

from canton.api.auth.caller import CallerDep
from canton.api.rendering.documents import NAME_PATTERN, Body, Instant, Items, Since, answers
from canton.api.rendering.operations import TEXT_PATTERN
from canton.api.rendering.paging import Paging, paging
from canton.domain.json_types import Json
from canton.domain.timestamps import from_text, to_text
from canton.store import audit

router = APIRouter(tags=["audit"])
Text = Annotated[str | None, Query(pattern=TEXT_PATTERN)]


class Record(Body):
    """One record of the chain; its hash covers it and the one before."""

    seq: int
    at: Instant
    actor: str
    action: str
    subject: str
    tenant: str | None
    reason: str
    details: dict[str, Any]
    hash: str


def render(row: RowMapping) -> dict[str, Json]:
    plain = {name: row[name] for name in ("seq", "actor", "action", "subject", "tenant", "reason", "hash")}
    return {**plain, "at": to_text(row["at"]), "details": json.loads(row["details"])}


def _filters(
    tenant: Annotated[str | None, Query(pattern=NAME_PATTERN)] = None,
    actor: Text = None,
    action: Text = None,
    subject: Text = None,
    since: Since = None,
) -> list[sa.ColumnElement[bool]]:
    exact = audit.matching(tenant=tenant, actor=actor, action=action, subject=subject)
    return exact + audit.since(from_text(since) if since else None)


@router.get("/audit", responses=answers(Items[Record]))
def list_audit(
    caller: CallerDep,
    page: Annotated[Paging, paging(tuple(audit.SORTS), tuple(Record.model_fields), "-seq")],
    filters: Annotated[list[sa.ColumnElement[bool]], Depends(_filters)],
) -> Response:
    """The records that the caller may see, the newest first."""
    with caller.database.read() as connection:
        list_page = audit.page(connection, caller.visible("audit.read"), filters, page.window)
    return page.answer(list_page, render)
