"""Merging of cloud-init data."""

from __future__ import annotations

from csm_emulator.records import Json
from csm_emulator.services.bss.responses import Panic


def merge_patch(existing: Json, patch: Json) -> Json:
    """Apply a merge patch (RFC 7396); without existing data the result is the patch, with its nulls."""
    if not patch:
        return existing
    return _merge_objects(existing, patch) if existing else patch


def _merge_objects(document: Json, patch: Json) -> Json:
    if not isinstance(patch, dict):
        # Only a patch that replaces something other than an object loses its nulls.
        return patch if isinstance(document, dict) else _without_nulls(patch)
    if not isinstance(document, dict):
        return _without_nulls(patch)
    result = dict(document)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _without_nulls(value) if result.get(key) is None else _merge_objects(result[key], value)
    return result


def _without_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(inner) for inner in value]
    return value


def patched_cloud_init(existing: Json, patch: Json) -> Json:
    """The patched data; a patch of any phone-home field replaces all of them."""
    return {
        "meta-data": merge_patch(existing["meta-data"], patch["meta-data"]),
        "user-data": merge_patch(existing["user-data"], patch["user-data"]),
        "phone-home": patch["phone-home"] if any(patch["phone-home"].values()) else existing["phone-home"],
    }


def merge(first: Json, second: Json) -> Json:
    """Both documents merged, the second wins; raises ``Panic`` where an object meets another type, as BSS does."""
    result = dict(first)
    for key, value in second.items():
        if isinstance(first.get(key), dict):
            if not isinstance(value, dict):
                raise Panic
            result[key] = merge(first[key], value)
        else:
            result[key] = value
    return result


def lookup(data: Json, keys: list[str]) -> Json:
    """The value at this path of keys; raises ``KeyError``."""
    for key in keys:
        if not isinstance(data, dict):
            raise KeyError(key)
        data = data[key]
    return data
