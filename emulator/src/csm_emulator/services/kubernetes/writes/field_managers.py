"""Server-side apply: who owns which field. Lists count as one field each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = Any
Path = tuple[str, ...]
_UNOWNED = {("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")}


def leaves(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    if isinstance(value, dict) and (value or not path):
        for name, each in value.items():
            yield from leaves(each, (*path, name))
    elif path not in _UNOWNED:
        yield path, value


def owned_by(entry: Json) -> set[Path]:
    """The fields that an entry of ``managedFields`` names."""
    return set(_named(entry.get("fieldsV1") or {}))


def _named(fields: Json, path: Path = ()) -> Iterator[Path]:
    """What a client wrote there may be anything."""
    known = fields if isinstance(fields, dict) else {}
    inner = {name: each for name, each in known.items() if name.startswith("f:")}
    if not inner and path:
        yield path
    for name, each in inner.items():
        yield from _named(each, (*path, name.removeprefix("f:")))


def fields_v1(paths: set[Path]) -> Json:
    tree: Json = {}
    for path in sorted(paths):
        branch = tree
        for step in path:
            branch = branch.setdefault(f"f:{step}", {})
    return tree


def clashes(live: Json, applied: Json, manager: str) -> list[tuple[str, Path]]:
    """(other manager, field) for each field that somebody else owns with another value."""
    wanted = dict(leaves(applied))
    present = dict(leaves(live))
    found = []
    for entry in live["metadata"].get("managedFields") or ():
        if entry.get("manager") == manager and entry.get("operation") == "Apply":
            continue
        found += [
            (str(entry.get("manager")), path)
            for path in sorted(owned_by(entry))
            if path in wanted and path in present and present[path] != wanted[path]
        ]
    return found


def apply(live: Json, applied: Json, manager: str) -> Json:
    """The object after it: what this manager applied before and leaves out now goes, unless others own it too."""
    entries = live["metadata"].get("managedFields") or []
    mine = set().union(*(owned_by(each) for each in entries if _is_mine(each, manager)))
    others = set().union(*(owned_by(each) for each in entries if not _is_mine(each, manager)))
    wanted = {path for path, _ in leaves(applied)}
    result = live
    for path in mine - wanted - others:
        result = _without(result, path)
    return _laid_over(result, applied)


def noted(result: Json, applied: Json, manager: str, moment: str) -> Json:
    """The same object, with what this manager owns now in its ``managedFields``."""
    wanted = {path for path, _ in leaves(applied)}
    entries = []
    for each in result["metadata"].get("managedFields") or ():
        if _is_mine(each, manager):
            continue
        kept = owned_by(each) - wanted if each.get("operation") != "Apply" else owned_by(each)
        if kept:
            entries.append({**each, "fieldsV1": fields_v1(kept)})
    entries.append(
        {
            "manager": manager,
            "operation": "Apply",
            "apiVersion": applied.get("apiVersion", ""),
            "time": moment,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields_v1(wanted),
        }
    )
    return {**result, "metadata": {**result["metadata"], "managedFields": entries}}


def _is_mine(entry: Json, manager: str) -> bool:
    return bool(entry.get("manager") == manager and entry.get("operation") == "Apply")


def _without(value: Json, path: Path) -> Json:
    if not isinstance(value, dict) or path[0] not in value:
        return value
    rest = {name: each for name, each in value.items() if name != path[0]}
    return rest if len(path) == 1 else {**rest, path[0]: _without(value[path[0]], path[1:])}


def _laid_over(value: Json, applied: Json) -> Json:
    if not isinstance(value, dict) or not isinstance(applied, dict):
        return applied
    return {**value, **{name: _laid_over(value.get(name), each) for name, each in applied.items()}}
