"""The groups and partitions of a component."""

from __future__ import annotations

from services.smd.hsm_client import Hsm

N0, N1 = "x0c0s0b0n0", "x0c0s0b0n1"


def test_groups_and_partition_of_each(hsm: Hsm) -> None:
    hsm.make(N0, N1)
    hsm.do("POST", "/groups", {"label": "blue", "members": {"ids": [N0]}})
    hsm.do("POST", "/groups", {"label": "red", "members": {"ids": [N0]}})
    hsm.do("POST", "/partitions", {"name": "p1", "members": {"ids": [N0]}})
    both = {"id": N0, "groupLabels": ["blue", "red"], "partitionName": "p1"}
    assert hsm.read(f"/memberships/{N0.upper()}") == both
    assert hsm.read("/memberships") == [both, {"id": N1, "groupLabels": [], "partitionName": ""}]
    assert hsm.read("/memberships?group=red") == [both]
    assert hsm.read("/memberships?group=NULL&type=node")[0]["id"] == N1


def test_those_that_are_not_there(hsm: Hsm) -> None:
    assert hsm.read("/memberships") == []
    assert hsm.refusal("GET", "/memberships/foo") == (400, "invalid xname")
    assert hsm.refusal("GET", "/memberships/x9") == (404, "No such xname: x9")
