"""Server-side apply: which manager owns which field. A list counts as one field."""

from __future__ import annotations

from collections.abc import Iterator

from csm_emulator.records import Json

Path = tuple[str, ...]
_UNOWNED = {("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")}


def leaves(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    if isinstance(value, dict) and (value or not path):
        for name, field in value.items():
            yield from leaves(field, (*path, name))
    elif path not in _UNOWNED:
        yield path, value


def owned_by(entry: Json) -> set[Path]:
    """The paths in an entry of ``managedFields``."""
    return set(_paths_of(entry.get("fieldsV1") or {}))


def _paths_of(fields: Json, path: Path = ()) -> Iterator[Path]:
    """The paths below ``path``; ``fields`` comes from a client and may be of any type."""
    named_fields = fields if isinstance(fields, dict) else {}
    inner = {name: field for name, field in named_fields.items() if name.startswith("f:")}
    if not inner and path:
        yield path
    for name, field in inner.items():
        yield from _paths_of(field, (*path, name.removeprefix("f:")))


def fields_v1(paths: set[Path]) -> Json:
    tree: Json = {}
    for path in sorted(paths):
        branch = tree
        for step in path:
            branch = branch.setdefault(f"f:{step}", {})
    return tree


def conflicts_with(live: Json, applied: Json, manager: str) -> list[tuple[str, Path]]:
    """(other manager, path) for each field that another manager owns with another value."""
    applied_leaves = dict(leaves(applied))
    live_leaves = dict(leaves(live))
    conflicts = []
    for entry in live["metadata"].get("managedFields") or ():
        if entry.get("manager") == manager and entry.get("operation") == "Apply":
            continue
        conflicts += [
            (str(entry.get("manager")), path)
            for path in sorted(owned_by(entry))
            if path in applied_leaves and path in live_leaves and live_leaves[path] != applied_leaves[path]
        ]
    return conflicts


def apply(live: Json, applied: Json, manager: str) -> Json:
    """The object after the apply; fields that only this manager owned and no longer applies are removed."""
    entries = live["metadata"].get("managedFields") or []
    own_paths = set().union(*(owned_by(entry) for entry in entries if _is_mine(entry, manager)))
    other_paths = set().union(*(owned_by(entry) for entry in entries if not _is_mine(entry, manager)))
    applied_paths = {path for path, _ in leaves(applied)}
    result = live
    for path in own_paths - applied_paths - other_paths:
        result = _without(result, path)
    return _overlay(result, applied)


def with_managed_fields(result: Json, applied: Json, manager: str, moment: str) -> Json:
    """The object with this manager's fields in its ``managedFields``."""
    applied_paths = {path for path, _ in leaves(applied)}
    entries = []
    for entry in result["metadata"].get("managedFields") or ():
        if _is_mine(entry, manager):
            continue
        remaining = owned_by(entry) - applied_paths if entry.get("operation") != "Apply" else owned_by(entry)
        if remaining:
            entries.append({**entry, "fieldsV1": fields_v1(remaining)})
    entries.append(
        {
            "manager": manager,
            "operation": "Apply",
            "apiVersion": applied.get("apiVersion", ""),
            "time": moment,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields_v1(applied_paths),
        }
    )
    return {**result, "metadata": {**result["metadata"], "managedFields": entries}}


def _is_mine(entry: Json, manager: str) -> bool:
    return bool(entry.get("manager") == manager and entry.get("operation") == "Apply")


def _without(value: Json, path: Path) -> Json:
    if not isinstance(value, dict) or path[0] not in value:
        return value
    remainder = {name: field for name, field in value.items() if name != path[0]}
    return remainder if len(path) == 1 else {**remainder, path[0]: _without(value[path[0]], path[1:])}


def _overlay(value: Json, applied: Json) -> Json:
    if not isinstance(value, dict) or not isinstance(applied, dict):
        return applied
    return {**value, **{name: _overlay(value.get(name), field) for name, field in applied.items()}}
