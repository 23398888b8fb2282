"""Strategic merge patch: a merge patch that knows by which key the items of a list are the same."""

from __future__ import annotations

from typing import Any

Json = Any
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
            merged[field] = [each for each in merged.get(field) or () if each not in value]
        elif not name.startswith("$"):
            _merge_field(merged, name, value)
    for name, value in patch.items():
        if name.startswith(_ORDER) and isinstance(value, list):
            _order(merged, name.removeprefix(_ORDER), value)
    return merged


def _merge_field(merged: dict[str, Json], name: str, value: Json) -> None:
    before = merged.get(name)
    if value is None or (isinstance(value, dict) and value.get("$patch") == "delete"):
        merged.pop(name, None)
    elif isinstance(value, list) and isinstance(before, list):
        merged[name] = _merge_list(name, before, value)
    else:
        merged[name] = merge(before, value) if isinstance(value, dict) else value


def _key(field: str, items: list[Json]) -> str:
    """By which the items of this list are the same; empty when the whole list is replaced."""
    if field == "ports":
        return "containerPort" if any(isinstance(each, dict) and "containerPort" in each for each in items) else "port"
    return _KEYS.get(field, "")


def _merge_list(field: str, before: list[Json], patch: list[Json]) -> list[Json]:
    if field in _PRIMITIVE:
        return [*before, *(each for each in patch if each not in before)]
    key = _key(field, patch)
    dicts = all(isinstance(each, dict) for each in (*before, *patch))
    if not key or not dicts or any(each.get("$patch") == "replace" for each in patch):
        return [each for each in patch if not (isinstance(each, dict) and each.get("$patch") == "replace")]
    merged = list(before)
    for each in patch:
        place = next((n for n, old in enumerate(merged) if old.get(key) == each.get(key)), None)
        if each.get("$patch") == "delete":
            if place is not None:
                del merged[place]
        elif place is None:
            merged.append({name: value for name, value in each.items() if not name.startswith("$")})
        else:
            merged[place] = merge(merged[place], each)
    return merged


def _order(merged: dict[str, Json], field: str, order: list[Json]) -> None:
    items = merged.get(field)
    if not isinstance(items, list):
        return
    key = _key(field, order)

    def place(item: Json) -> int:
        wanted = item.get(key) if key and isinstance(item, dict) else item
        for number, each in enumerate(order):
            if (each.get(key) if key and isinstance(each, dict) else each) == wanted:
                return number
        return len(order)

    merged[field] = sorted(items, key=place)
