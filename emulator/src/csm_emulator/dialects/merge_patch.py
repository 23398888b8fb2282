"""JSON Merge Patch (RFC 7386)."""

from __future__ import annotations

from csm_emulator.records import Json


def merged(target: Json, patch: Json) -> Json:
    """The merged value, as a new object; the arguments are not changed."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result
