"""Roles: the ones that can be bound, and their permissions."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from fastapi import APIRouter
from fastapi.responses import Response
from sqlalchemy.engine import RowMapping

from canton.api.auth.caller import CallerDep
from canton.api.rendering.documents import Body, Items, answers
from canton.api.rendering.paging import Paging, paging
from canton.domain.json_types import Json
from canton.policy.roles import Role as PolicyRole
from canton.store.listing import ListPage, Window

router = APIRouter(tags=["roles"])


class Role(Body):
    """A named set of permissions."""

    name: str
    scope: Literal["provider", "tenant"]
    description: str
    permissions: list[str]
    builtin: bool


def render(role: PolicyRole) -> dict[str, Json]:
    plain = {name: getattr(role, name) for name in ("name", "scope", "description", "builtin")}
    return {**plain, "permissions": sorted(role.permissions)}


@router.get("/roles", responses=answers(Items[Role]))
def list_roles(caller: CallerDep, page: Annotated[Paging, paging(("name",), tuple(Role.model_fields))]) -> Response:
    """The roles: the built-in ones, and those of the configuration."""
    visible_roles = caller.services.roles.values() if caller.visible("role.read") is None else ()
    return page.answer(_list_page([render(role) for role in visible_roles], page.window), dict)


def _list_page(roles: list[dict[str, Json]], window: Window) -> ListPage:
    """A page of the roles of the configuration, as the store makes pages of rows."""
    last = str(window.after[0]) if window.after else None
    ordered = sorted(roles, key=lambda role: str(role["name"]), reverse=window.descending)
    names = [str(role["name"]) for role in ordered]
    beyond = [name for name in names if last is None or (name < last if window.descending else name > last)]
    page_roles = [role for role in ordered if role["name"] in beyond[: window.limit]]
    following = [beyond[window.limit - 1]] if len(beyond) > window.limit else None
    # These are not rows of a table, but the page reads them only by key.
    return ListPage(cast("list[RowMapping]", page_roles), following)
