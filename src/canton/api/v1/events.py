"""Events: a page of past ones, or a stream of new ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from canton.api.auth.attribution import PERMISSION as ATTRIBUTION
from canton.api.auth.caller import CallerDep, authenticate
from canton.api.events import sse
from canton.api.events.connection import EventStream
from canton.api.events.cursor import LONGEST
from canton.api.events.reader import START, ReaderRights, StartPosition, Subscription, open_reader
from canton.api.rendering.documents import NAME_PATTERN, PROBLEM, Body, Instant, Items, Since, answers
from canton.api.rendering.operations import TEXT_PATTERN
from canton.api.rendering.problems import MEDIA_TYPE
from canton.api.rendering.responses import json_response
from canton.domain.errors import Forbidden
from canton.domain.timestamps import from_text

router = APIRouter(tags=["events"])
PERMISSION = "event.read"


class Event(Body):
    """Something that happened."""

    at: Instant
    kind: str
    subject: str
    tenant: str | None
    body: Annotated[
        dict[str, Any], Field(description="`actor` and `reason` are included only for callers who hold audit.read.")
    ]


def _documented() -> dict[int | str, dict[str, Any]]:
    responses = answers(Items[Event])
    responses[200]["content"] = {sse.MEDIA_TYPE: {"schema": {"type": "string"}}}
    refused = {"content": {MEDIA_TYPE: {"schema": {"$ref": PROBLEM}}}}
    return responses | {403: {"description": "There is nothing that the caller may follow.", **refused}}


def _is_live(request: Request) -> bool:
    accepted = ",".join(request.headers.getlist("accept")).split(",")
    return any(media_type.partition(";")[0].strip().lower() == sse.MEDIA_TYPE for media_type in accepted)


def _start_position(
    request: Request,
    after: Annotated[
        str | None, Query(max_length=LONGEST, description="An event's id, `next` of the page before, or `start`.")
    ] = None,
    last_event_id: Annotated[
        str | None,
        Header(
            alias="Last-Event-ID",
            max_length=LONGEST,
            description="The id of the last event received; overrides `after`.",
        ),
    ] = None,
    since: Since = None,
    newest: Annotated[int | None, Query(ge=1, le=10_000, description="Start with the newest N events.")] = None,
) -> StartPosition:
    """``after`` overrides ``since`` and ``newest``; of these two the later position counts."""
    first = None if _is_live(request) or since or newest else START
    return StartPosition(last_event_id or after or first, from_text(since) if since else None, newest)


def _subscription(
    request: Request,
    caller: CallerDep,
    start: Annotated[StartPosition, Depends(_start_position)],
    tenant: Annotated[str | None, Query(pattern=NAME_PATTERN)] = None,
    subject: Annotated[str | None, Query(pattern=TEXT_PATTERN, description="An operation, or `tenant:psi`.")] = None,
) -> Subscription:
    return Subscription(_current_rights(request), tenant, subject, start, caller.accounting_key)


def _current_rights(request: Request) -> Callable[[], Awaitable[ReaderRights]]:
    """A function that authenticates again, so that an expired token or an ended binding ends the stream."""

    async def sight() -> ReaderRights:
        caller = await run_in_threadpool(authenticate, request)
        return ReaderRights(caller.visible(PERMISSION), caller.visible(ATTRIBUTION), caller.visible("member.read"))

    return sight


@router.get("/events", responses=_documented())
async def read_events(
    request: Request,
    caller: CallerDep,
    subscription: Annotated[Subscription, Depends(_subscription)],
    limit: Annotated[int, Query(ge=1, le=1000, description="At most this many entries on a page.")] = 100,
) -> Response:
    """The events of the tenants that the caller may see; those of one tenant are in order.

    With `Accept: text/event-stream` the answer is a stream of new events, unless a parameter says where to start;
    otherwise it is a page of the oldest events. `since` and `newest` start later.
    """
    live, hub = _is_live(request), caller.services.hub
    if live and caller.visible(PERMISSION) == frozenset():
        raise Forbidden(
            f"no role of {caller.principal.id} holds {PERMISSION}, so there is nothing to follow; see: canton whoami",
            permission=PERMISSION,
            rule="not-granted",
            tenant=subscription.tenant,
        )
    reader = await open_reader(hub, subscription)
    if live:
        visible = caller.visible(PERMISSION)
        # A reader that follows a tenant which it may not see still counts for its own tenants.
        followed = visible and (visible & {subscription.tenant} or visible)
        return EventStream(hub, reader, caller.principal.id, followed)
    page = await reader.page(limit)
    caller.charge(entries=page.read, size=page.size)
    return json_response({"items": page.items, "next": page.cursor if page.more else None})
