"""The client of HSM that the other services share: requests on the wire, and typed answers."""

from __future__ import annotations

import json

import pytest

from csm_emulator.clients.hsm import PARTITIONS, Group, HsmClient, UnexpectedAnswer
from csm_emulator.records import Json
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.mesh import Mesh

PROBLEM = json_reply({"type": "about:blank", "status": 400, "detail": "bad"}, 400, "application/problem+json")


class FakeHsm:
    def __init__(self, reply: Reply) -> None:
        self.calls: list[tuple[str, str, Json]] = []
        self._reply = reply

    def answer(self, service: str, call: Call) -> Reply:
        assert service == "smd"
        self.calls.append((call.method, call.target, json.loads(call.body) if call.body else None))
        return self._reply


def client_of(reply: Reply) -> tuple[HsmClient, FakeHsm]:
    hsm = FakeHsm(reply)
    return HsmClient(Mesh(hsm.answer)), hsm


def test_a_query_is_sent_as_the_caller_encoded_it() -> None:
    client, hsm = client_of(json_reply({"Components": [{"ID": "x0c0s0b0n0", "State": "On"}]}))
    assert client.components("state=%21Empty&type=node").value() == [{"ID": "x0c0s0b0n0", "State": "On"}]
    assert client.components().ok
    assert [target for _, target, _ in hsm.calls] == [
        "/hsm/v2/State/Components?state=%21Empty&type=node",
        "/hsm/v2/State/Components",
    ]


def test_groups_and_partitions_have_the_same_form() -> None:
    client, hsm = client_of(json_reply([{"name": "p1", "members": {"ids": ["x0c0s0b0n0"]}}]))
    assert client.groups(PARTITIONS).value() == [Group("p1", ("x0c0s0b0n0",), "")]
    client.create_group(PARTITIONS, "p2", ["blue"], ["x0c0s0b0n1"])
    client.remove_member(PARTITIONS, "a/b", "x0c0s0b0n1")
    assert hsm.calls[1:] == [
        ("POST", "/hsm/v2/partitions", {"name": "p2", "tags": ["blue"], "members": {"ids": ["x0c0s0b0n1"]}}),
        ("DELETE", "/hsm/v2/partitions/a%2Fb/members/x0c0s0b0n1", None),
    ]


def test_reservations() -> None:
    keys = {"ID": "x0c0s0b0n0", "ReservationKey": "r", "DeputyKey": "d"}
    client, hsm = client_of(json_reply({"Success": [keys], "Failure": []}))
    assert client.reserve(["x0c0s0b0n0"], "rigid", 3).value() == [keys]
    client.release({"x0c0s0b0n0": "r"}, "flexible")
    assert hsm.calls == [
        (
            "POST",
            "/hsm/v2/locks/service/reservations",
            {"ComponentIDs": ["x0c0s0b0n0"], "ProcessingModel": "rigid", "ReservationDuration": 3},
        ),
        (
            "POST",
            "/hsm/v2/locks/service/reservations/release",
            {"ReservationKeys": [{"ID": "x0c0s0b0n0", "Key": "r"}], "ProcessingModel": "flexible"},
        ),
    ]


def test_an_error_has_no_components_and_is_no_list() -> None:
    client, _ = client_of(PROBLEM)
    response = client.components()
    assert (response.ok, response.status, response.value()) == (False, 400, [])
    with pytest.raises(UnexpectedAnswer):
        client.power_maps().value()


def test_a_body_that_is_not_json() -> None:
    client, _ = client_of(Reply(503, b"no healthy upstream"))
    with pytest.raises(json.JSONDecodeError):
        client.components().value()
