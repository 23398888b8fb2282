"""Quotas: the limits of a tenant, and what it uses."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import Field
from sqlalchemy.engine import Connection

from canton.api.auth.caller import CallerDep
from canton.api.middleware.body_routes import Route
from canton.api.mutations.changes import Change, ChangeResult, ChangeTarget, change
from canton.api.rendering.documents import Body, Name, TenantName, answers
from canton.api.rendering.responses import Answer, json_response
from canton.domain import tenant as domain
from canton.domain.json_types import Json
from canton.operations.engine.completion import Attribution
from canton.store.access import quotas, tenants

router = APIRouter(tags=["quotas"], route_class=Route)
# As much as a column holds.
Limit = Annotated[int | None, Field(ge=0, le=2**31 - 1, description="Null: no limit.")]


class Usage(Body):
    nodes: int
    open_operations: int
    service_accounts: int


class Limits(Body):
    """All three limits are required, so that none is removed by leaving it out."""

    nodes: Limit
    open_operations: Limit
    service_accounts: Limit


class Quota(Limits):
    """The limits of a tenant, and what it uses."""

    tenant: Name
    used: Usage
    version: Annotated[int, Field(description="0 if no quota was ever set.")]


def _quota(connection: Connection, tenant: str) -> dict[str, Json]:
    limits, version = quotas.find(connection, tenant)
    return {"tenant": tenant, **asdict(limits), "used": quotas.used(connection, tenant), "version": version}


_SHOWN = {code: response for code, response in answers(Quota, tagged=True).items() if code != 304}


@router.get("/tenants/{name}/quota", responses=_SHOWN)
def show_quota(caller: CallerDep, name: TenantName) -> Response:
    """The limits of a tenant, and what it uses. The entity tag changes only with the limits."""
    caller.require_visible("quota.read", name, tenants.unknown(name))
    with caller.database.read() as connection:
        tenants.find(connection, name)
        body = _quota(connection, name)
    # The use changes without a new version, so the answer is never 304.
    return json_response(body, headers={"ETag": f'"{body["version"]}"'})


@router.put("/tenants/{name}/quota", responses=answers(Quota, change=True))
def set_quota(name: TenantName, new_limits: Limits, change: Annotated[Change, change("quota.set")]) -> Response:
    """Set all limits. A tenant that already has more keeps it, but gets no more."""

    def apply(connection: Connection, _because: Attribution) -> ChangeResult:
        limits = domain.Quota(**new_limits.model_dump())
        version, changed = quotas.put(connection, name, limits, change.if_version)
        answer = Answer(_quota(connection, name), version=version, changed=changed)
        return ChangeResult(answer, f"quota:{name}", "quota.set", asdict(limits))

    return change.carry_out(ChangeTarget(name, tenants.unknown(name), "tenant.read"), apply)
