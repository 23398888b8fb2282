"""Imports nodes, all of them or none; the answer names every wrong row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import Field, ValidationError, WithJsonSchema
from sqlalchemy.engine import Connection

from canton.api.auth.import_authorization import require_import_allowed
from canton.api.middleware.body_routes import Route
from canton.api.mutations.changes import Change, ChangeResult, ChangeTarget, change
from canton.api.rendering.documents import Body, Name, answers
from canton.api.rendering.problems import LONGEST_NAME, what_is_wrong
from canton.api.rendering.responses import Answer
from canton.domain.errors import Conflict, Invalid, InvalidRequest, InvalidXname
from canton.domain.json_types import Json
from canton.domain.lifecycle import NodeState, must_have_tenant
from canton.domain.nodeset.nodeset import fold
from canton.domain.xname import xname
from canton.domain.xname.xname import XnameType
from canton.operations.engine.completion import Attribution
from canton.store.inventory import node_import, sites
from canton.store.inventory.node_import import Comparison, Line

router = APIRouter(tags=["nodes"], route_class=Route)
MOST = 20_000
SHOWN = 100
# The most fields of a row, which can use four. Listing the mistakes of 190,000 fields took 220 MB.
MOST_FIELDS = 50
RowMistake = tuple[int, str]
_PYDANTIC = re.compile("^(Input|String) should ")
_NO_FIELD = {"power": "workers read it from the site, so a file cannot set it; leave it out"}


class NewNode(Body):
    """A field that is left out stays as it is; a new node is then discovered.

    For a known node the fields must agree with what Canton knows. There is no field for power: workers read it.
    """

    xname: Annotated[str, Field(max_length=64)]
    nid: Annotated[int | None, Field(ge=0, lt=2**31)] = None
    state: Literal["discovered", "free", "assigned", None] = None
    tenant: Annotated[
        Name | None, Field(description="The tenant that a new node belongs to already; its state is then assigned.")
    ] = None


class NodeImport(Body):
    site: Name
    renumber: Annotated[bool, Field(description="Change the nid of known nodes that have another one.")] = False
    # Validated row by row below, so that the answer can name every wrong row.
    nodes: Annotated[
        list[Any],
        Field(max_length=MOST),
        WithJsonSchema({"type": "array", "maxItems": MOST, "items": NewNode.model_json_schema()}),
    ]


class Imported(Body):
    added: int
    changed: int
    unchanged: int
    nodes: Annotated[str, Field(description="The nodes that were added or changed, folded.")]


@router.post("/nodes/import", responses=answers(Imported, change=True))
def import_nodes(
    node_import_body: NodeImport,
    change: Annotated[Change, change("node.import")],
    dry_run: Annotated[bool, Query(description="Answer with what would be changed, and change nothing.")] = False,
) -> Response:
    """Add nodes to a site, and numbers to nodes that have none. A row that contradicts what Canton knows is refused.

    A new node may be imported as free, or as a tenant's: the caller confirms that nothing of an earlier user is left
    on it. That needs a reason and node.enroll, for a tenant's node also node.assign, and is refused if one of these
    needs a second person.
    """
    lines, wrong = _read(node_import_body.nodes)
    target = ChangeTarget(None)

    def check(connection: Connection) -> Comparison:
        """All checks, for a dry run and for the import itself."""
        sites.find(connection, node_import_body.site)
        comparison = node_import.compare(connection, node_import_body.site, lines, renumber=node_import_body.renumber)
        _refuse([*wrong, *comparison.clashes], malformed=bool(wrong))
        require_import_allowed(change, comparison.added, dry_run=dry_run)
        node_import.require_room(connection, comparison.added)
        return comparison

    if dry_run:
        change.decide(target)
        with change.caller.database.read() as connection:
            return _answer(check(connection)).response()

    def apply(connection: Connection, _because: Attribution) -> ChangeResult:
        node_import.lock(connection, lines)
        comparison = check(connection)
        node_import.carry_out(connection, node_import_body.site, comparison)
        answer = _answer(comparison)
        return ChangeResult(answer, f"site:{node_import_body.site}", "node.imported", dict(answer.body or {}))

    return change.carry_out(target, apply)


def _answer(comparison: Comparison) -> Answer:
    touched = fold(line.xname for line in (*comparison.added, *comparison.changed))
    body: dict[str, Json] = {
        "added": len(comparison.added),
        "changed": len(comparison.changed),
        "unchanged": len(comparison.unchanged),
        "nodes": touched,
    }
    return Answer(body, changed=bool(touched))


def _refuse(wrong: Sequence[RowMistake], *, malformed: bool) -> None:
    """Raise with the wrong rows, if any: InvalidRequest if one is malformed, else Conflict."""
    if not wrong:
        return
    ordered = sorted(wrong)
    kind = InvalidRequest if malformed else Conflict
    rows: list[Json] = [{"row": row, "what": what} for row, what in ordered[:SHOWN]]
    count = len({row for row, _ in ordered})
    row, what = ordered[0]
    if count == 1:
        message = f"nothing was imported: row {row} is wrong: {what}. Correct it and import again"
    else:
        message = f"nothing was imported: {count} rows are wrong, the first is row {row}: {what}. Correct them all and "
        message += "import again"
    raise kind(message, rows=rows, count=count)


def _read(rows: Sequence[Any]) -> tuple[list[Line], list[RowMistake]]:
    lines: list[Line] = []
    wrong: list[RowMistake] = []
    for number, row in enumerate(rows, 1):
        try:
            lines.append(_line(number, _new_node(row)))
        except ValidationError as error:
            wrong += [(number, what) for what in _mistakes(error)]
        except Invalid as error:
            wrong.append((number, error.message))
    return lines, [*wrong, *_repeated_rows(lines)]


def _new_node(row: object) -> NewNode:
    if isinstance(row, dict) and len(row) > MOST_FIELDS:
        names = ", ".join(NewNode.model_fields)
        raise InvalidRequest(f"it has {len(row)} fields; a row can only have {names}")
    return NewNode.model_validate(row)


def _line(number: int, row: NewNode) -> Line:
    try:
        place = xname.parse(row.xname)
    except InvalidXname as error:
        # The message shows the mistake on several lines, for terminals; here it must be one line.
        first, *_, last = error.message.splitlines()
        raise InvalidXname(f"{first}; {last}") from error
    if place.type is not XnameType.NODE:
        raise InvalidXname(f"{place} is a {place.type}, not a node; a node is written as x1000c0s0b0n0")
    return Line(number, str(place), row.nid, _state(row), row.tenant)


def _state(row: NewNode) -> NodeState | None:
    owned = row.tenant is not None
    if row.state is None:
        return None
    if must_have_tenant(NodeState(row.state)) != owned:
        description = f"{row.state} with tenant {row.tenant}" if owned else f"{row.state} without a tenant"
        raise InvalidRequest(f"a node cannot be {description}; write the state assigned and the tenant, or neither")
    return NodeState(row.state)


def _mistakes(error: ValidationError) -> Iterator[str]:
    for mistake in error.errors(include_url=False, include_input=False):
        where = ascii(str(mistake["loc"][0])[:LONGEST_NAME])[1:-1] if mistake["loc"] else "the row"
        what = _NO_FIELD.get(where) or what_is_wrong(mistake)
        yield f"{where}: {_PYDANTIC.sub('must ', what).removesuffix(' or None')}"


def _repeated_rows(lines: Sequence[Line]) -> Iterator[RowMistake]:
    names = Counter(line.xname for line in lines)
    nids = Counter(line.nid for line in lines if line.nid is not None)
    for line in lines:
        if names[line.xname] > 1:
            yield line.number, f"{line.xname} is in {names[line.xname]} rows; name it once"
        elif line.nid is not None and nids[line.nid] > 1:
            yield line.number, f"nid {line.nid} is in {nids[line.nid]} rows; two nodes cannot have the same number"
