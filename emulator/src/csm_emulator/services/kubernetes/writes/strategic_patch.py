"""Strategic merge patch: a merge patch that merges lists item by item, by a key per field."""

from __future__ import annotations

from csm_emulator.records import Json

_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "imagePullSecrets": "name",
    "secrets": "name",
    "conditions": "type",
    "ownerReferences": "uid",
    "addresses": "type",
    "hostAliases": "ip",
}
_PRIMITIVE = frozenset({"finalizers"})
_DELETE_FROM = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"
_RETAIN = "$retainKeys"


def merge(target: Json, patch: Json) -> Json:
    """``target`` is not changed."""
    if not isinstance(patch, dict):
        return patch
    if patch.get("$patch") == "replace":
        return {name: value for name, value in patch.items() if name != "$patch"}
    merged = dict(target) if isinstance(target, dict) else {}
    if isinstance(patch.get(_RETAIN), list):
        merged = {name: value for name, value in merged.items() if name in patch[_RETAIN]}
    for name, value in patch.items():
        if name.startswith(_DELETE_FROM) and isinstance(value, list):
            field = name.removeprefix(_DELETE_FROM)
            merged[field] = [item for item in merged.get(field) or () if item not in value]
        elif not name.startswith("$"):
            _merge_field(merged, name, value)
    for name, value in patch.items():
        if name.startswith(_ORDER) and isinstance(value, list):
            _order(merged, name.removeprefix(_ORDER), value)
    return merged


def _merge_field(merged: dict[str, Json], name: str, value: Json) -> None:
    previous = merged.get(name)
    if value is None or (isinstance(value, dict) and value.get("$patch") == "delete"):
        merged.pop(name, None)
    elif isinstance(value, list) and isinstance(previous, list):
        merged[name] = _merge_list(name, previous, value)
    else:
        merged[name] = merge(previous, value) if isinstance(value, dict) else value


def _key(field: str, items: list[Json]) -> str:
    """The merge key of this list's items; empty when the whole list is replaced."""
    if field == "ports":
        return "containerPort" if any(isinstance(item, dict) and "containerPort" in item for item in items) else "port"
    return _KEYS.get(field, "")


def _merge_list(field: str, previous: list[Json], patch: list[Json]) -> list[Json]:
    if field in _PRIMITIVE:
        return [*previous, *(item for item in patch if item not in previous)]
    key = _key(field, patch)
    dicts = all(isinstance(item, dict) for item in (*previous, *patch))
    if not key or not dicts or any(item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if not (isinstance(item, dict) and item.get("$patch") == "replace")]
    merged = list(previous)
    for item in patch:
        index = next((n for n, old in enumerate(merged) if old.get(key) == item.get(key)), None)
        if item.get("$patch") == "delete":
            if index is not None:
                del merged[index]
        elif index is None:
            merged.append({name: value for name, value in item.items() if not name.startswith("$")})
        else:
            merged[index] = merge(merged[index], item)
    return merged


def _order(merged: dict[str, Json], field: str, order: list[Json]) -> None:
    items = merged.get(field)
    if not isinstance(items, list):
        return
    key = _key(field, order)

    def position(item: Json) -> int:
        identity = item.get(key) if key and isinstance(item, dict) else item
        for number, entry in enumerate(order):
            if (entry.get(key) if key and isinstance(entry, dict) else entry) == identity:
                return number
        return len(order)

    merged[field] = sorted(items, key=position)
