"""JSON patches: the limits and messages that the API server adds to jsonpatch."""

from __future__ import annotations

from typing import Any

import pytest

from csm_emulator.services.kubernetes.writes.json_patch import MOST_OPERATIONS, PatchError, apply

DOCUMENT = {"data": {"a": "x" * 1000, "list": [1]}}


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ({"op": "test", "path": "/data/a", "value": "y"}, "testing value /data/a failed"),
        ({"op": "test", "path": "/data/list/0", "value": True}, "testing value /data/list/0 failed"),
        (
            {"op": "add", "path": "/none/a", "value": 1},
            "add operation does not apply: the path does not exist: /none/a",
        ),
        ({"op": "remove", "path": "/data/list/00"}, "remove operation does not apply: the path does not exist"),
        ({"op": "replace", "path": "/data/b", "value": 1}, "replace operation does not apply: "),
        ({"op": "copy", "from": "/none", "path": "/data/b"}, "copy operation does not apply: "),
        ({"op": "copy", "path": "/data/b"}, "copy operation does not apply: "),
        ({"op": "add", "path": "/data/b"}, "add operation does not apply: "),
        ({"op": "add", "path": 5, "value": 1}, "add operation does not apply: "),
        ({"op": "turn", "path": "/data"}, "turn operation does not apply: "),
        ({"op": [], "path": "/data"}, "[] operation does not apply: "),
        ({}, "None operation does not apply: "),
    ],
)
def test_refusals_are_short_and_leave_the_document(operation: dict[str, Any], reason: str) -> None:
    document_before = repr(DOCUMENT)
    with pytest.raises(PatchError) as refused:
        apply(DOCUMENT, [{"op": "add", "path": "/more", "value": 1}, operation])
    assert str(refused.value).startswith(reason)
    assert len(str(refused.value)) < 200
    assert repr(DOCUMENT) == document_before


def test_a_patch_has_at_most_ten_thousand_operations() -> None:
    operations = [{"op": "add", "path": "/data/b", "value": 1}] * MOST_OPERATIONS
    assert apply(DOCUMENT, operations)["data"]["b"] == 1
    with pytest.raises(PatchError, match="maximum operations"):
        apply(DOCUMENT, [*operations, operations[0]])
