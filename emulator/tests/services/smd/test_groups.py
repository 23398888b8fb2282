"""Groups as manta and the operators use them."""

from __future__ import annotations

from typing import Any

import pytest

from services.smd.hsm_client import Hsm

N0, N1, N2 = "x0c0s0b0n0", "x0c0s0b0n1", "x0c0s1b0n0"


@pytest.fixture(autouse=True)
def nodes(hsm: Hsm) -> None:
    hsm.make(N0, N1, N2)


def test_a_group_is_made_lowered_and_found_again(hsm: Hsm) -> None:
    body = {"label": "BLUE", "description": "", "tags": ["Big"], "members": {"ids": ["X0C0S0B0N0"]}}
    reply = hsm.do("POST", "/groups", body)
    assert (reply.status, reply.json()) == (201, [{"URI": "/hsm/v2/groups/blue"}])
    assert ("Location", "/hsm/v2/groups/blue") in reply.headers
    expected = b'{"label":"blue","description":"","tags":["big"],"members":{"ids":["x0c0s0b0n0"]}}'
    assert hsm.ask("GET", "/groups/Blue").body == expected + b"\n"
    assert hsm.ask("GET", "/groups").body == b"[" + expected + b"]\n"
    assert hsm.read("/groups/labels") == ["blue"]


def test_members_come_and_go(hsm: Hsm) -> None:
    hsm.do("POST", "/groups", {"label": "blue"})
    assert hsm.do("POST", "/groups/blue/members", {"id": N0}).json() == [{"URI": f"/hsm/v2/groups/blue/members/{N0}"}]
    conflict = "operation would conflict with an existing member in the same group."
    assert hsm.refusal("POST", "/groups/blue/members", {"id": N0}) == (409, conflict)
    assert hsm.refusal("POST", "/groups/blue/members", {"id": "x9"}) == (400, "linked component does not exist")
    assert hsm.refusal("POST", "/groups/red/members", {"id": N0}) == (404, "No such group: red")
    hsm.do("DELETE", f"/groups/blue/members/{N0}")
    assert hsm.refusal("DELETE", f"/groups/blue/members/{N0}") == (404, "group has no such member.")
    assert hsm.read("/groups/blue/members") == {"ids": []}


def test_of_groups_that_exclude_one_another_a_node_is_in_one(hsm: Hsm) -> None:
    hsm.do("POST", "/groups", {"label": "a", "exclusiveGroup": "Rack", "members": {"ids": [N0]}})
    conflict = "operation would conflict with an existing member in another exclusive group."
    other_group = {"label": "b", "exclusiveGroup": "rack", "members": {"ids": [N1, N0]}}
    assert hsm.refusal("POST", "/groups", other_group) == (409, conflict)
    assert hsm.read("/groups/labels") == ["a"]
    hsm.do("POST", "/groups", {**other_group, "members": {"ids": [N1]}})
    assert hsm.refusal("POST", "/groups/b/members", {"id": N0}) == (409, conflict)
    hsm.do("POST", "/groups", {"label": "c", "exclusiveGroup": "row", "members": {"ids": [N0, N1]}})


def test_a_group_seen_through_a_partition(hsm: Hsm) -> None:
    hsm.do("POST", "/groups", {"label": "blue", "members": {"ids": [N0, N1]}})
    hsm.do("POST", "/partitions", {"name": "p1", "members": {"ids": [N1, N2]}})
    assert hsm.read("/groups/blue/members?partition=P1") == {"ids": [N1]}
    assert hsm.read("/groups/blue/members?partition=NULL") == {"ids": [N0]}
    assert hsm.read("/groups?partition=p1")[0]["members"] == {"ids": [N1]}
    assert hsm.refusal("GET", "/groups/blue?partition=p9") == (400, "bad query param: no such partition")


def test_groups_by_tag_and_label(hsm: Hsm) -> None:
    hsm.do("POST", "/groups", {"label": "blue", "tags": ["x"]})
    hsm.do("POST", "/groups", {"label": "red", "tags": ["x", "y"]})
    assert [group["label"] for group in hsm.read("/groups?tag=Y")] == ["red"]
    assert [group["label"] for group in hsm.read("/groups?group=BLUE&tag=x")] == ["blue"]
    assert hsm.refusal("GET", "/groups?tag=no+way") == (400, "Invalid tag.")


def test_description_and_tags_are_patched(hsm: Hsm) -> None:
    hsm.do("POST", "/groups", {"label": "blue", "description": "one", "tags": ["x"]})
    assert hsm.do("PATCH", "/groups/blue", {"tags": []}).status == 204
    assert hsm.read("/groups/blue") == {"label": "blue", "description": "one", "members": {"ids": []}}
    hsm.do("PATCH", "/groups/blue", {"description": "two", "label": "ignored"})
    assert hsm.read("/groups/blue")["description"] == "two"
    assert hsm.refusal("PATCH", "/groups/red", {"description": "two"}) == (404, "no such group.")


def test_smd_has_two_answers_to_an_empty_patch(hsm: Hsm) -> None:
    reply = hsm.ask("PATCH", "/groups/red", {})
    assert reply.status == 400
    assert [line.split(b'"detail":')[1][:8] for line in reply.body.splitlines()] == [b'"Request', b'"no such']


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        ({}, 400, "couldn't validate group: group or partition field has invalid characters"),
        ({"label": "a b"}, 400, "couldn't validate group: group or partition field has invalid characters"),
        (
            {"label": "a", "members": {"ids": ["foo"]}},
            400,
            "couldn't validate group: got HMSTypeInvalid instead of valid type",
        ),
        ({"label": "a", "members": {"ids": ["x9"]}}, 400, "linked component does not exist"),
        ({"label": "a", "description": "d" * 256}, 500, "operation 'POST' failed during store."),
        (
            {"label": "a", "members": {"ids": [N0, N0]}},
            409,
            "operation would conflict with an existing group that has the same label "
            "or duplicate ids found in request.",
        ),
        (
            {"label": 5},
            500,
            "error decoding JSON json: cannot unmarshal number into Go struct field Group.label of type string",
        ),
    ],
)
def test_groups_that_smd_does_not_take(hsm: Hsm, body: Any, status: int, detail: str) -> None:
    assert hsm.refusal("POST", "/groups", body) == (status, detail)
    assert hsm.read("/groups") == []


def test_a_group_is_deleted_once(hsm: Hsm) -> None:
    hsm.do("POST", "/groups", {"label": "blue", "members": {"ids": [N0]}})
    hsm.do("DELETE", "/groups/BLUE")
    assert hsm.refusal("DELETE", "/groups/blue") == (404, "no such group.")
    assert hsm.read(f"/memberships/{N0}")["groupLabels"] == []
