"""Nodes from a file: all of them or none, and every wrong row named at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response
from pydantic import Field, ValidationError, WithJsonSchema
from sqlalchemy.engine import Connection

from canton.api.answers import Answer
from canton.api.changes import Change, Done, On, change
from canton.api.documents import Body, Name, answers
from canton.domain import xname
from canton.domain.data import Json
from canton.domain.errors import Conflict, Invalid, InvalidRequest, InvalidXname
from canton.domain.lifecycle import NodeState, must_have_tenant
from canton.domain.nodeset import fold
from canton.domain.xname import XnameType
from canton.operations.endings import Because
from canton.store import node_import, sites
from canton.store.node_import import Comparison, Line

router = APIRouter(tags=["nodes"])
MOST = 20_000
SHOWN = 100
Wrong = tuple[int, str]


class NewNode(Body):
    """What is left out stays as it is; a node that is new is then discovered."""

    xname: Annotated[str, Field(max_length=64)]
    nid: Annotated[int | None, Field(ge=0, lt=2**31)] = None
    power: Literal["on", "off", "unknown", None] = None
    state: Literal["discovered", "free", "assigned", None] = None
    tenant: Annotated[
        Name | None, Field(description="Whose a node that Canton has never seen is already; it is then assigned.")
    ] = None


class NodeImport(Body):
    site: Name
    # Read row by row below: whoever has ten wrong rows wants to hear of all ten.
    nodes: Annotated[
        list[Any],
        Field(max_length=MOST),
        WithJsonSchema({"type": "array", "maxItems": MOST, "items": NewNode.model_json_schema()}),
    ]


class Imported(Body):
    added: int
    changed: int
    unchanged: int
    nodes: Annotated[str, Field(description="Those that were added or changed, folded.")]


@router.post("/nodes/import", responses=answers(Imported, change=True))
def import_nodes(
    wanted: NodeImport,
    change: Annotated[Change, Depends(change("node.import"))],
    dry_run: Annotated[bool, Query(description="Only say what it would do.")] = False,
) -> Response:
    """Add nodes to a site, and set numbers and what was seen of those that are known.

    A node that is new may be said to be a tenant's already: whoever imports it vouches for that.
    """
    lines, wrong = _read(wanted.nodes)
    on = On(None)
    if dry_run:
        change.decide(on)
        with change.caller.database.read() as connection:
            return _answer(_compared(connection, wanted.site, lines, wrong)).response()

    def act(connection: Connection, _because: Because) -> Done:
        node_import.lock(connection)
        found = _compared(connection, wanted.site, lines, wrong)
        node_import.carry_out(connection, wanted.site, found)
        answer = _answer(found)
        return Done(answer, f"site:{wanted.site}", "node.imported", dict(answer.body or {}))

    return change.carry_out(on, act)


def _answer(found: Comparison) -> Answer:
    touched = fold(line.xname for line in (*found.added, *found.changed))
    body: dict[str, Json] = {
        "added": len(found.added),
        "changed": len(found.changed),
        "unchanged": len(found.unchanged),
        "nodes": touched,
    }
    return Answer(body, changed=bool(touched))


def _compared(connection: Connection, site: str, lines: Sequence[Line], wrong: Sequence[Wrong]) -> Comparison:
    sites.find(connection, site)
    found = node_import.compare(connection, site, lines)
    listed = sorted([*wrong, *found.clashes])
    if listed:
        # A row that can never be right makes the whole request a malformed one.
        kind = InvalidRequest if wrong else Conflict
        shown: list[Json] = [{"row": row, "what": what} for row, what in listed[:SHOWN]]
        count = len({row for row, _ in listed})
        raise kind(
            f"nothing was imported: {count} of the rows {'is' if count == 1 else 'are'} wrong, the first is row "
            f"{listed[0][0]}: {listed[0][1]}. Correct them all and import again",
            rows=shown,
            count=count,
        )
    return found


def _read(rows: Sequence[Any]) -> tuple[list[Line], list[Wrong]]:
    lines: list[Line] = []
    wrong: list[Wrong] = []
    for number, row in enumerate(rows, 1):
        try:
            lines.append(_line(number, NewNode.model_validate(row)))
        except ValidationError as error:
            wrong += [(number, what) for what in _mistakes(error)]
        except Invalid as error:
            wrong.append((number, error.message))
    return lines, [*wrong, *_doubles(lines)]


def _line(number: int, row: NewNode) -> Line:
    try:
        place = xname.parse(row.xname)
    except InvalidXname as error:
        # The message has a picture of the mistake, for terminals; here it is one line.
        first, *_, last = error.message.splitlines()
        raise InvalidXname(f"{first}; {last}") from error
    if place.type is not XnameType.NODE:
        raise InvalidXname(f"{place} is a {place.type}, not a node; a node is written as x1000c0s0b0n0")
    return Line(number, str(place), row.nid, row.power, _state(row), row.tenant)


def _state(row: NewNode) -> NodeState:
    owned = row.tenant is not None
    if row.state is None:
        return NodeState.ASSIGNED if owned else NodeState.DISCOVERED
    if must_have_tenant(NodeState(row.state)) != owned:
        said = f"{row.state} with tenant {row.tenant}" if owned else f"{row.state} without a tenant"
        raise InvalidRequest(f"a node cannot be {said}; write the state assigned and the tenant, or neither")
    return NodeState(row.state)


def _mistakes(error: ValidationError) -> Iterator[str]:
    for each in error.errors(include_url=False, include_input=False):
        where = ascii(each["loc"][0])[1:-1] if each["loc"] else "the row"
        yield f"{where}: {'there is no such field' if each['type'] == 'extra_forbidden' else each['msg']}"


def _doubles(lines: Sequence[Line]) -> Iterator[Wrong]:
    names = Counter(line.xname for line in lines)
    nids = Counter(line.nid for line in lines if line.nid is not None)
    for line in lines:
        if names[line.xname] > 1:
            yield line.number, f"{line.xname} stands in {names[line.xname]} rows; name it once"
        elif line.nid is not None and nids[line.nid] > 1:
            yield line.number, f"nid {line.nid} stands in {nids[line.nid]} rows; a number is one node's"
