"""Tenants: list, show, create, update, suspend, resume, delete."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field
from sqlalchemy.engine import Connection, RowMapping

from canton.api.auth.caller import CallerDep
from canton.api.middleware.body_routes import Route
from canton.api.mutations.changes import Change, ChangeResult, ChangeTarget, change
from canton.api.rendering.documents import (
    NAME_PATTERN,
    Body,
    Description,
    Instant,
    Items,
    Name,
    TenantName,
    answers,
)
from canton.api.rendering.paging import Paging, paging
from canton.api.rendering.responses import Answer, object_response
from canton.domain.json_types import Json
from canton.domain.tenant import TenantState
from canton.domain.timestamps import to_text
from canton.operations.engine.completion import Attribution
from canton.policy.permissions import PROVIDERS
from canton.store.access import approvals, tenants

router = APIRouter(tags=["tenants"], route_class=Route)


class Tenant(Body):
    """An institution that has a part of the machine."""

    name: Name
    description: str
    state: Literal["active", "suspended"]
    nodes: int
    version: int
    created_at: Instant


class NewTenant(Body):
    name: Annotated[
        str, Field(pattern=NAME_PATTERN, description="The name cannot be used again after the tenant is deleted.")
    ]
    description: Description = ""


class TenantUpdate(Body):
    description: Description


def render(row: RowMapping) -> dict[str, Json]:
    plain = {name: row[name] for name in ("name", "description", "state", "nodes", "version")}
    return {**plain, "created_at": to_text(row["created_at"])}


def _target(name: str) -> ChangeTarget:
    return ChangeTarget(name, tenants.unknown(name), "tenant.read")


@router.get("/tenants", responses=answers(Items[Tenant]))
def list_tenants(
    caller: CallerDep,
    page: Annotated[Paging, paging(tuple(tenants.SORTS), tuple(Tenant.model_fields))],
    state: Literal["active", "suspended"] | None = None,
) -> Response:
    """The tenants that the caller may see."""
    with caller.database.read() as connection:
        list_page = tenants.page(connection, caller.visible("tenant.read"), state, page.window)
    return page.answer(list_page, render)


@router.post("/tenants", status_code=201, responses=answers(Tenant, 201, change=True))
def create_tenant(new_tenant: NewTenant, change: Annotated[Change, change("tenant.create")]) -> Response:
    """Create a tenant; it has no nodes, no members and no quota yet."""

    def apply(connection: Connection, _because: Attribution) -> ChangeResult:
        row = tenants.create(connection, new_tenant.name, new_tenant.description, change.caller.visible("tenant.read"))
        answer = Answer(render(row), 201, row["version"], f"/v1/tenants/{new_tenant.name}")
        return ChangeResult(
            answer, f"tenant:{new_tenant.name}", "tenant.created", {"description": new_tenant.description}
        )

    return change.carry_out(ChangeTarget(new_tenant.name), apply)


@router.get("/tenants/{name}", responses=answers(Tenant, tagged=True))
def show_tenant(request: Request, caller: CallerDep, name: TenantName) -> Response:
    """One tenant."""
    caller.require_visible("tenant.read", name, tenants.unknown(name))
    with caller.database.read() as connection:
        row = tenants.find(connection, name)
    return object_response(request, render(row), row["version"])


@router.patch("/tenants/{name}", responses=answers(Tenant, change=True))
def update_tenant(
    name: TenantName, update: TenantUpdate, change: Annotated[Change, change("tenant.update")]
) -> Response:
    """Change its description."""

    def apply(connection: Connection, _because: Attribution) -> ChangeResult:
        row, changed = tenants.change(connection, name, change.if_version, description=update.description)
        answer = Answer(render(row), version=row["version"], changed=changed)
        return ChangeResult(answer, f"tenant:{name}", "tenant.updated", {"description": update.description})

    return change.carry_out(_target(name), apply)


def _set_state(name: str, state: TenantState, event: str, change: Change) -> Response:
    def apply(connection: Connection, _because: Attribution) -> ChangeResult:
        row, changed = tenants.change(connection, name, change.if_version, state=state)
        if state is TenantState.SUSPENDED:
            approvals.withdraw_of_tenant(connection, name, PROVIDERS)
        return ChangeResult(Answer(render(row), version=row["version"], changed=changed), f"tenant:{name}", event)

    return change.carry_out(_target(name), apply)


@router.post("/tenants/{name}/suspend", responses=answers(Tenant, change=True))
def suspend_tenant(name: TenantName, change: Annotated[Change, change("tenant.suspend")]) -> Response:
    """Refuse every change by its members; they can still read, and running operations go on."""
    return _set_state(name, TenantState.SUSPENDED, "tenant.suspended", change)


@router.post("/tenants/{name}/resume", responses=answers(Tenant, change=True))
def resume_tenant(name: TenantName, change: Annotated[Change, change("tenant.resume")]) -> Response:
    """End the suspension: its members can make changes again."""
    return _set_state(name, TenantState.ACTIVE, "tenant.resumed", change)


@router.delete("/tenants/{name}", status_code=204, responses=answers(None, 204, change=True))
def delete_tenant(name: TenantName, change: Annotated[Change, change("tenant.delete")]) -> Response:
    """Delete a tenant that is empty; its name cannot be used again."""

    def apply(connection: Connection, _because: Attribution) -> ChangeResult:
        tenants.delete(connection, name, change.if_version)
        return ChangeResult(Answer(status=204), f"tenant:{name}", "tenant.deleted")

    return change.carry_out(_target(name), apply)
