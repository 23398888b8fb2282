"""Objects as a table, or with their metadata only, when a client asks for that."""

from __future__ import annotations

import re
from collections.abc import Sequence

from csm_emulator.services.kubernetes.kinds.kinds import Column, Json, Kind
from csm_emulator.services.kubernetes.reads import columns as cells
from csm_emulator.services.kubernetes.reads.ages import age
from csm_emulator.transport.call import Call

_STEP = re.compile(r"\.([A-Za-z0-9_-]+)|\[(\d+)\]|\['([^']+)'\]|\.([A-Za-z0-9_\\.-]+)")
_AS = re.compile(r"as=([A-Za-z]+)")
_META = "meta.k8s.io/v1"
TABLE, PARTIAL, PARTIAL_LIST = "Table", "PartialObjectMetadata", "PartialObjectMetadataList"


def wanted(call: Call) -> str:
    """The first form of its Accept header that is known: Table, PartialObjectMetadata(List), or empty for all of it."""
    for offer in call.headers.get("accept", "").split(","):
        found = _AS.search(offer.replace(" ", ""))
        if found is None:
            return ""
        if found[1] in (TABLE, PARTIAL, PARTIAL_LIST) and "g=meta.k8s.io" in offer:
            return found[1]
    return ""


def columns(kind: Kind) -> tuple[Column, ...]:
    if kind.place in cells.BUILT_IN:
        return cells.BUILT_IN[kind.place][0]
    return (cells.NAME, *(kind.columns or (cells.AGE,)))


def table(kind: Kind, found: Sequence[Json], call: Call, now: float, meta: Json = None, *, head: bool = True) -> Json:
    told = {"kind": TABLE, "apiVersion": _META, "metadata": meta or {}}
    listed = [_definition(column) for column in columns(kind)] if head else []
    return {**told, "columnDefinitions": listed, "rows": [_row(kind, each, call, now) for each in found]}


def _definition(column: Column) -> Json:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _row(kind: Kind, value: Json, call: Call, now: float) -> Json:
    included = call.first("includeObject", "Metadata")
    shown = {"object": value if included == "Object" else partial(value)} if included != "None" else {}
    return {"cells": _cells(kind, value, now), **shown}


def _cells(kind: Kind, value: Json, now: float) -> list[Json]:
    if kind.place in cells.BUILT_IN:
        return cells.BUILT_IN[kind.place][1](value, now)
    if not kind.columns:
        return cells.plain(value, now)
    return [value["metadata"]["name"], *(_cell(column, value, now) for column in kind.columns)]


def _cell(column: Column, value: Json, now: float) -> Json:
    found = look_up(value, column.path)
    if column.type == "date":
        return age(found, now) if found else "<unknown>"
    if isinstance(found, dict | list):
        return str(found)
    return found


def look_up(value: Json, path: str) -> Json:
    """The plain part of JSONPath: fields and indexes. None when nothing is there."""
    found = value
    for step in _STEP.finditer(path):
        name, number, quoted, other = step.groups()
        key = name or quoted or other
        if number is not None:
            found = found[int(number)] if isinstance(found, list) and int(number) < len(found) else None
        else:
            found = found.get(key) if isinstance(found, dict) else None
    return found


def partial(value: Json) -> Json:
    return {"kind": PARTIAL, "apiVersion": _META, "metadata": value["metadata"]}
