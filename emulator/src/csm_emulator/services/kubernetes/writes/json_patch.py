"""JSON Patch (RFC 6902) with the limits and the words of the API server. The target is never changed."""

from __future__ import annotations

import copy
import json

from jsonpatch import JsonPatch, JsonPatchException, JsonPatchTestFailed
from jsonpointer import JsonPointerException, resolve_pointer

from csm_emulator.records import Json

MOST_OPERATIONS = 10_000
"""Operations in one patch, as the API server allows."""
MOST_COPIED = 3 << 20
"""Bytes that the copies of one patch may add."""


class PatchError(Exception):
    """The patch does not fit to the object."""


def apply(target: Json, patch: Json) -> Json:
    """The patched object; raises ``PatchError``. ``patch`` may be anything that a client sent."""
    if not isinstance(patch, list) or not all(isinstance(operation, dict) for operation in patch):
        raise PatchError("cannot unmarshal the patch into a list of operations")
    if len(patch) > MOST_OPERATIONS:
        raise PatchError(f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(patch)}")
    document, copied = copy.deepcopy(target), 0
    for operation in patch:
        try:
            copied += _copied(document, operation)
            if copied > MOST_COPIED:
                raise PatchError(
                    f"the accumulated size increase of copy is {copied}, exceeding the limit {MOST_COPIED}"
                )
            document = JsonPatch([operation]).apply(document, in_place=True)
        except (JsonPatchException, JsonPointerException) as error:
            raise PatchError(_reason(operation, error)) from error
    return document


def _copied(document: Json, operation: Json) -> int:
    """Bytes that the operation adds by copying."""
    if operation.get("op") != "copy" or not isinstance(operation.get("from"), str):
        return 0
    return len(json.dumps(resolve_pointer(document, operation["from"])))


def _reason(operation: Json, error: Exception) -> str:
    """The errors of pointers and of failed tests quote the whole document, so they are put in other words."""
    kind, path = operation.get("op"), operation.get("path")
    if isinstance(error, JsonPatchTestFailed):
        return f"testing value {path} failed"
    if isinstance(error, JsonPointerException):
        return f"{kind} operation does not apply: the path does not exist: {path}"
    return f"{kind} operation does not apply: {error}"
