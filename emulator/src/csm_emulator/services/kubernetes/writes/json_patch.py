"""JSON Patch (RFC 6902). What is given is never changed; a new value comes back."""

from __future__ import annotations

import copy
import json
from typing import Any

Json = Any
MOST = 10_000
"""Operations in one patch, as the API server allows."""
MOST_COPIED = 3 << 20
"""Bytes that its copies may add."""


class Unpatchable(Exception):
    """The patch does not fit to the object."""


def apply(target: Json, patch: Json) -> Json:
    """Raises ``Unpatchable``; ``patch`` may be anything that a client sent."""
    if not isinstance(patch, list) or not all(isinstance(each, dict) for each in patch):
        raise Unpatchable("cannot unmarshal the patch into a list of operations")
    if len(patch) > MOST:
        raise Unpatchable(f"The allowed maximum operations in a JSON patch is {MOST}, got {len(patch)}")
    whole, copied = [copy.deepcopy(target)], 0
    for operation in patch:
        if operation.get("op") == "copy":
            copied += len(json.dumps(_get(whole, _path(operation.get("from")))))
        if copied > MOST_COPIED:
            raise Unpatchable(f"the accumulated size increase of copy is {copied}, exceeding the limit {MOST_COPIED}")
        _carry_out(whole, operation)
    return whole[0]


def _carry_out(whole: list[Json], operation: Json) -> None:
    kind, path = operation.get("op"), _path(operation.get("path"))
    if kind in ("add", "replace", "test") and "value" not in operation:
        raise Unpatchable(f"{kind} operation does not apply: no value")
    if kind == "test":
        if _get(whole, path) != operation["value"]:
            raise Unpatchable(f"testing value {operation['path']} failed")
    elif kind == "add":
        _add(whole, path, copy.deepcopy(operation["value"]))
    elif kind == "replace":
        _remove(whole, path)
        _add(whole, path, copy.deepcopy(operation["value"]))
    elif kind == "remove":
        _remove(whole, path)
    elif kind in ("move", "copy"):
        source = _path(operation.get("from"))
        value = copy.deepcopy(_get(whole, source))
        if kind == "move":
            _remove(whole, source)
        _add(whole, path, value)
    else:
        raise Unpatchable(f"Unexpected kind: {kind}")


def _path(text: Json) -> list[str]:
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise Unpatchable(f"invalid path {text!r}")
    return ["0", *(part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:])]


def _get(whole: Json, path: list[str]) -> Json:
    found = whole
    for step in path:
        found = found[_place(found, step)]
    return found


def _place(where: Json, step: str, *, end: bool = False) -> Any:
    """The key or the index; raises ``Unpatchable`` when nothing is there."""
    if isinstance(where, dict) and (end or step in where):
        return step
    if isinstance(where, list):
        if step == "-" and end:
            return len(where)
        if step.isdecimal() and len(step) < 10 and int(step) < len(where) + end:
            return int(step)
    raise Unpatchable(f"the path does not exist: {step}")


def _add(whole: Json, path: list[str], value: Json) -> None:
    parent = _get(whole, path[:-1])
    place = _place(parent, path[-1], end=True)
    if isinstance(parent, list) and len(path) > 1:
        parent.insert(place, value)
    elif len(path) == 1:
        parent[:] = [value]
    else:
        parent[place] = value


def _remove(whole: Json, path: list[str]) -> None:
    parent = _get(whole, path[:-1])
    if len(path) == 1:
        parent[:] = [None]
    else:
        del parent[_place(parent, path[-1])]
