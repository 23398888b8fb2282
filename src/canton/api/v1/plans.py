"""Plans: list and show them, whether or not they were carried out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from canton.api.auth.caller import CallerDep
from canton.api.rendering.documents import NAME_PATTERN, Items, answers
from canton.api.rendering.operations import (
    DIGEST_PATTERN,
    TEXT_PATTERN,
    ListedPlan,
    Plan,
    render_listed_plan,
    render_plan,
)
from canton.api.rendering.paging import Paging, paging
from canton.api.rendering.responses import json_response
from canton.policy.permissions import PROVIDERS
from canton.store.operations import plans

router = APIRouter(tags=["plans"])


@router.get("/plans", responses=answers(Items[ListedPlan]))
def list_plans(
    caller: CallerDep,
    page: Annotated[Paging, paging(tuple(plans.SORTS), tuple(ListedPlan.model_fields), "-created_at")],
    tenant: Annotated[str | None, Query(pattern=NAME_PATTERN)] = None,
    kind: Annotated[str | None, Query(pattern=TEXT_PATTERN)] = None,
) -> Response:
    """The plans that the caller may see, the newest first."""
    with caller.database.read() as connection:
        visibility = plans.PlanVisibility(caller.visible("plan.read"), PROVIDERS)
        list_page = plans.page(connection, visibility, {"tenant": tenant, "kind": kind}, page.window)
    return page.answer(list_page, render_listed_plan)


@router.get("/plans/{digest}", responses=answers(Plan))
def show_plan(
    caller: CallerDep, digest: Annotated[str, Path(pattern=DIGEST_PATTERN, description="As a dry run printed it.")]
) -> Response:
    """One plan with its steps, and the versions of what it was computed from."""
    with caller.database.read() as connection:
        row = plans.show(connection, digest, plans.PlanVisibility(caller.visible("plan.read"), PROVIDERS))
    caller.charge(size=len(row["body"]))
    return json_response(render_plan(row))
