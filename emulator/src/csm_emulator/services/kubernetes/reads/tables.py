"""Objects as a table or with their metadata only, when a client requests that."""

from __future__ import annotations

import re
from collections.abc import Sequence

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import Column, Kind
from csm_emulator.services.kubernetes.reads import cells
from csm_emulator.services.kubernetes.reads.ages import age
from csm_emulator.services.kubernetes.reads.columns import AGE, BUILT_IN, NAME
from csm_emulator.transport.call import Call

_STEP = re.compile(r"\.([A-Za-z0-9_-]+)|\[(\d+)\]|\['([^']+)'\]|\.([A-Za-z0-9_\\.-]+)")
_AS = re.compile(r"as=([A-Za-z]+)")
_META = "meta.k8s.io/v1"
TABLE, PARTIAL, PARTIAL_LIST = "Table", "PartialObjectMetadata", "PartialObjectMetadataList"


def requested_form(call: Call) -> str:
    """The first known form in the Accept header: Table, PartialObjectMetadata(List), or empty for whole objects."""
    for offer in call.headers.get("accept", "").split(","):
        match = _AS.search(offer.replace(" ", ""))
        if match is None:
            return ""
        if match[1] in (TABLE, PARTIAL, PARTIAL_LIST) and "g=meta.k8s.io" in offer:
            return match[1]
    return ""


def columns(kind: Kind) -> tuple[Column, ...]:
    if kind.storage_key in BUILT_IN:
        return BUILT_IN[kind.storage_key][0]
    return (NAME, *(kind.columns or (AGE,)))


def table(kind: Kind, values: Sequence[Json], call: Call, now: float, meta: Json = None, *, head: bool = True) -> Json:
    document = {"kind": TABLE, "apiVersion": _META, "metadata": meta or {}}
    definitions = [_definition(column) for column in columns(kind)] if head else []
    return {**document, "columnDefinitions": definitions, "rows": [_row(kind, value, call, now) for value in values]}


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
    object_part = {"object": value if included == "Object" else partial(value)} if included != "None" else {}
    return {"cells": _cells(kind, value, now), **object_part}


def _cells(kind: Kind, value: Json, now: float) -> list[Json]:
    if kind.storage_key in BUILT_IN:
        return BUILT_IN[kind.storage_key][1](value, now)
    if not kind.columns:
        return cells.plain_cells(value, now)
    return [value["metadata"]["name"], *(_cell(column, value, now) for column in kind.columns)]


def _cell(column: Column, value: Json, now: float) -> Json:
    cell = json_path(value, column.path)
    if column.type == "date":
        return age(cell, now) if cell else "<unknown>"
    if isinstance(cell, dict | list):
        return str(cell)
    return cell


def json_path(value: Json, path: str) -> Json:
    """The value at a JSONPath of fields and indexes only; None when there is none."""
    current = value
    for step in _STEP.finditer(path):
        name, number, quoted, escaped = step.groups()
        key = name or quoted or escaped
        if number is not None:
            current = current[int(number)] if isinstance(current, list) and int(number) < len(current) else None
        else:
            current = current.get(key) if isinstance(current, dict) else None
    return current


def partial(value: Json) -> Json:
    return {"kind": PARTIAL, "apiVersion": _META, "metadata": value["metadata"]}
