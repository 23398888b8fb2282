"""Partitions."""

from __future__ import annotations

import pytest

from services.smd.hsm_client import Hsm

N0, N1 = "x0c0s0b0n0", "x0c0s0b0n1"


@pytest.fixture(autouse=True)
def nodes(hsm: Hsm) -> None:
    hsm.make(N0, N1)


def test_a_partition_is_made_and_found_again(hsm: Hsm) -> None:
    reply = hsm.do("POST", "/partitions", {"name": "P1.2", "tags": ["X"], "members": {"ids": [N0]}})
    assert (reply.status, reply.json()) == (201, [{"URI": "/hsm/v2/partitions/p1.2"}])
    assert hsm.ask("GET", "/partitions").body == b'[{"name":"p1.2","tags":["x"],"members":{"ids":["x0c0s0b0n0"]}}]\n'
    assert hsm.read("/partitions/names") == ["p1.2"]
    assert hsm.read("/partitions/P1.2/members") == {"ids": [N0]}


def test_a_node_is_in_one_partition(hsm: Hsm) -> None:
    hsm.do("POST", "/partitions", {"name": "p1", "members": {"ids": [N0]}})
    conflict = "operation would conflict with an existing member in another partition."
    assert hsm.refusal("POST", "/partitions", {"name": "p2", "members": {"ids": [N1, N0]}}) == (409, conflict)
    hsm.do("POST", "/partitions", {"name": "p2", "members": {"ids": [N1]}})
    assert hsm.refusal("POST", "/partitions/p2/members", {"id": N0}) == (409, conflict)
    hsm.do("DELETE", f"/partitions/p1/members/{N0}")
    hsm.do("POST", "/partitions/p2/members", {"id": N0})
    assert hsm.read("/partitions/p2/members") == {"ids": [N1, N0]}


@pytest.mark.parametrize("name", ["hard", "p", "p.1", "", "p1.1.1"])
def test_names_are_p_and_numbers(hsm: Hsm, name: str) -> None:
    detail = "couldn't validate partition: Bad partition name. Must be p# or p#.#"
    assert hsm.refusal("POST", "/partitions", {"name": name}) == (400, detail)


def test_patched_and_deleted(hsm: Hsm) -> None:
    hsm.do("POST", "/partitions", {"name": "p1"})
    hsm.do("PATCH", "/partitions/p1", {"description": "first", "tags": ["A"]})
    assert hsm.read("/partitions?tag=a") == [
        {"name": "p1", "description": "first", "tags": ["a"], "members": {"ids": []}}
    ]
    assert hsm.refusal("POST", "/partitions", {"name": "p1"})[0] == 409
    hsm.do("DELETE", "/partitions/p1")
    assert hsm.refusal("GET", "/partitions/p1") == (404, "No such partition: p1")
    assert hsm.refusal("DELETE", "/partitions/p1") == (404, "no such partition.")
