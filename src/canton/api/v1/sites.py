"""Sites: list, show, create, update, delete."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response
from sqlalchemy.engine import Connection, RowMapping

from canton.api.auth.caller import CallerDep
from canton.api.middleware.body_routes import Route
from canton.api.mutations.changes import Change, ChangeResult, ChangeTarget, change
from canton.api.rendering.documents import NAME_PATTERN, Body, Description, Instant, Items, Name, answers
from canton.api.rendering.paging import Paging, paging
from canton.api.rendering.responses import Answer, object_response
from canton.domain.json_types import Json
from canton.domain.timestamps import to_text
from canton.operations.engine.completion import Attribution
from canton.store.inventory import sites

router = APIRouter(tags=["sites"], route_class=Route)
SiteName = Annotated[str, Path(pattern=NAME_PATTERN, description="The site's name.", examples=["alps"])]


class Site(Body):
    """A place where nodes stand."""

    name: Name
    description: str
    version: int
    created_at: Instant


class NewSite(Body):
    name: Name
    description: Description = ""


class SiteUpdate(Body):
    description: Description


def render(row: RowMapping) -> dict[str, Json]:
    plain = {name: row[name] for name in ("name", "description", "version")}
    return {**plain, "created_at": to_text(row["created_at"])}


def _target(name: str) -> ChangeTarget:
    return ChangeTarget(None, sites.unknown(name), "site.read")


@router.get("/sites", responses=answers(Items[Site]))
def list_sites(
    caller: CallerDep,
    page: Annotated[Paging, paging(tuple(sites.SORTS), tuple(Site.model_fields))],
) -> Response:
    """The sites. Every caller with a role may see them."""
    with caller.database.read() as connection:
        list_page = sites.page(connection, caller.visible("site.read"), page.window)
    return page.answer(list_page, render)


@router.post("/sites", status_code=201, responses=answers(Site, 201, change=True))
def create_site(new_site: NewSite, change: Annotated[Change, change("site.create")]) -> Response:
    """Create a site; it has no nodes yet."""

    def apply(connection: Connection, _because: Attribution) -> ChangeResult:
        row = sites.create(connection, new_site.name, new_site.description)
        answer = Answer(render(row), 201, row["version"], f"/v1/sites/{new_site.name}")
        return ChangeResult(answer, f"site:{new_site.name}", "site.created", {"description": new_site.description})

    return change.carry_out(ChangeTarget(None), apply)


@router.get("/sites/{name}", responses=answers(Site, tagged=True))
def show_site(request: Request, caller: CallerDep, name: SiteName) -> Response:
    """One site."""
    caller.require_visible("site.read", None, sites.unknown(name))
    with caller.database.read() as connection:
        row = sites.find(connection, name)
    return object_response(request, render(row), row["version"])


@router.patch("/sites/{name}", responses=answers(Site, change=True))
def update_site(name: SiteName, update: SiteUpdate, change: Annotated[Change, change("site.update")]) -> Response:
    """Change its description."""

    def apply(connection: Connection, _because: Attribution) -> ChangeResult:
        row, changed = sites.describe(connection, name, update.description, change.if_version)
        answer = Answer(render(row), version=row["version"], changed=changed)
        return ChangeResult(answer, f"site:{name}", "site.updated", {"description": update.description})

    return change.carry_out(_target(name), apply)


@router.delete("/sites/{name}", status_code=204, responses=answers(None, 204, change=True))
def delete_site(name: SiteName, change: Annotated[Change, change("site.delete")]) -> Response:
    """Delete a site that has no nodes."""

    def apply(connection: Connection, _because: Attribution) -> ChangeResult:
        sites.delete(connection, name, change.if_version)
        return ChangeResult(Answer(status=204), f"site:{name}", "site.deleted")

    return change.carry_out(_target(name), apply)
