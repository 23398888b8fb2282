"""Heartbeats that clients send, and the changes that HBTD reports."""

from __future__ import annotations

import pytest

from csm_emulator.site import Site
from csm_emulator.transport.call import Reply
from service_client import GARBAGE, Service, Spy

FULL = {"Component": "x1c0s0b0n0", "Hostname": "h", "NID": "1", "Status": "OK", "Timestamp": "now"}
BULK = "/hsm/v2/State/Components/BulkStateData"


@pytest.fixture
def hbtd(site: Site) -> Service:
    return Service(site, "hbtd", "/hmi/v1")


@pytest.fixture
def spy(site: Site) -> Spy:
    spy = Spy(site)
    spy.instead["smd"] = Reply(200, b"{}")
    return spy


def beats(hbtd: Service, name: str) -> bool:
    return bool(hbtd.get(f"/hbstate/{name}")["Heartbeating"])


def test_a_beat_is_seen_at_once_and_forgotten_after_errtime(hbtd: Service, spy: Spy) -> None:
    assert not beats(hbtd, "x1c0s0b0n0")
    assert hbtd.ask("POST", "/heartbeat", FULL).status == 200
    assert beats(hbtd, "x1c0s0b0n0")
    assert beats(hbtd, "X1c00s0b0n0")
    hbtd.step(19.0)
    assert beats(hbtd, "x1c0s0b0n0")
    hbtd.step(1.0)
    assert not beats(hbtd, "x1c0s0b0n0")


def test_start_warning_and_death_are_reported_to_hsm_at_checks(hbtd: Service, spy: Spy) -> None:
    hbtd.ask("POST", "/heartbeat/x1c0s0b0n0", {"Status": "OK", "TimeStamp": "now"})
    hbtd.ask("POST", "/heartbeat/x1c0s0b0n1", {"Status": "OK", "TimeStamp": "now"})
    assert spy.bodies(BULK) == []
    hbtd.step(5.0)
    about = {"ID": "", "Message": "Heartbeat started", "Flag": ""}
    names = ["x1c0s0b0n0", "x1c0s0b0n1"]
    assert spy.bodies(BULK) == [{"ComponentIDs": names, "State": "Ready", "Flag": "OK", "ExtendedInfo": about}]
    hbtd.step(15.0)
    changes = [(body["State"], body["Flag"], body["ExtendedInfo"]["Message"]) for body in spy.bodies(BULK)[1:]]
    assert changes == [
        ("Ready", "Warning", "Heartbeat stopped -- might be dead"),
        ("Standby", "Alert", "Heartbeat stopped -- declared dead"),
    ]
    hbtd.step(600.0)
    assert len(spy.bodies(BULK)) == 3
    assert hbtd.site.scheduler.next_moment() is None


def test_a_beat_after_the_warning_is_a_restart(hbtd: Service, spy: Spy) -> None:
    hbtd.ask("POST", "/heartbeat", FULL)
    hbtd.step(12.0)
    hbtd.ask("POST", "/heartbeat", FULL)
    hbtd.step(5.0)
    assert [body["ExtendedInfo"]["Message"] for body in spy.bodies(BULK)] == [
        "Heartbeat started",
        "Heartbeat stopped -- might be dead",
        "Heartbeat restarted",
    ]


def test_a_report_that_hsm_refuses_is_repeated(hbtd: Service, spy: Spy) -> None:
    spy.instead["smd"] = Reply(503, b"no healthy upstream")
    hbtd.ask("POST", "/heartbeat", FULL)
    hbtd.step(5.0)
    assert spy.bodies(BULK) == []
    assert hbtd.get("/health")["HsmStatus"] == "Not ready"
    spy.instead["smd"] = Reply(200, b"{}")
    hbtd.ask("POST", "/heartbeat", FULL)
    hbtd.step(5.0)
    assert [body["Flag"] for body in spy.bodies(BULK)] == ["OK"]


def test_only_the_last_change_of_a_component_is_reported(hbtd: Service, spy: Spy) -> None:
    spy.instead["smd"] = Reply(503)
    hbtd.ask("POST", "/heartbeat", FULL)
    hbtd.step(11.0)
    spy.instead["smd"] = Reply(200)
    hbtd.step(4.0)
    assert [(body["State"], body["Flag"]) for body in spy.bodies(BULK)] == [("Ready", "Warning")]


def test_with_nosm_no_change_is_reported(hbtd: Service, spy: Spy) -> None:
    assert hbtd.ask("PATCH", "/params", {"Nosm": "yes"}).status == 200
    hbtd.ask("POST", "/heartbeat", FULL)
    hbtd.step(6.0)
    assert spy.bodies(BULK) == []
    hbtd.ask("PATCH", "/params", {"Nosm": "off"})
    hbtd.step(5.0)
    assert len(spy.bodies(BULK)) == 1


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"Component": ""}, "Missing Component field"),
        ({"Hostname": None}, "Missing Hostname field"),
        ({"NID": ""}, "Missing NID field"),
        ({"Status": ""}, "Missing Status field"),
        ({"Timestamp": ""}, "Missing Timestamp field"),
        ({"Component": "foo"}, "Invalid Component Name"),
        ({"Component": "X1c0s0b0n0"}, "Invalid Component Name"),
        ({"Component": "x1c0s0b0n0\0"}, "Invalid Component Name"),
        ({"NID": "twelve"}, "Invalid NID"),
        ({"NID": "9223372036854775808"}, "Invalid NID"),
        ({"NID": 12}, "Invalid data type in NID field"),
        ({"Component": ["x"]}, "Invalid data type in Component field"),
    ],
)
def test_errors_of_a_heartbeat_are_named(hbtd: Service, change: dict[str, object], detail: str) -> None:
    reply = hbtd.ask("POST", "/heartbeat", FULL | change)
    assert reply.json() == {
        "type": "about:blank",
        "title": "Invalid Request",
        "detail": detail,
        "instance": "/hmi/v1/heartbeat",
        "status": 400,
    }


@pytest.mark.parametrize("nid", ["0x10", "-5", "0b11", "017", "1_000", "-9223372036854775808"])
def test_go_reads_more_numbers_than_one_thinks(hbtd: Service, nid: str) -> None:
    assert hbtd.ask("POST", "/heartbeat", FULL | {"NID": nid}).status == 200


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/heartbeat"), ("POST", "/heartbeat/x0"), ("POST", "/hbstates"), ("PATCH", "/params")]
)
def test_garbage_is_refused_or_ignored(hbtd: Service, method: str, path: str) -> None:
    params_before = hbtd.get("/params")
    for body in GARBAGE:
        reply = hbtd.ask(method, path, body)
        assert reply.status == 400 or (reply.status == 200 and body in (b"null", GARBAGE[-1]))
        assert hbtd.get("/params") == params_before


def test_states_are_returned_by_name(hbtd: Service) -> None:
    hbtd.ask("POST", "/heartbeat", FULL)
    reply = hbtd.ask("POST", "/hbstates", {"XNames": ["x1c0s0b0n0", "other", ""]})
    assert [state["Heartbeating"] for state in reply.json()["HBStates"]] == [True, False, False]
    assert hbtd.ask("POST", "/hbstates", {"XNames": []}).json() == {"HBStates": None}
    assert hbtd.refusal("POST", "/hbstates", {"XNames": "x"}) == (400, "Error unmarshalling inbound request")


def test_a_name_that_is_none_does_not_keep_hsm_from_hearing_of_others(hbtd: Service, spy: Spy) -> None:
    hbtd.ask("POST", "/heartbeat/params", {"Status": "OK", "Timestamp": "now"})
    hbtd.ask("POST", "/heartbeat/x1c0s0b0n0", {"Status": "OK", "Timestamp": "now"})
    hbtd.step(5.0)
    assert spy.bodies(BULK)[0]["ComponentIDs"] == ["x1c0s0b0n0"]
    assert hbtd.get("/params")["Interval"] == "5"


def test_other_methods_are_not_allowed(hbtd: Service) -> None:
    assert hbtd.ask("PUT", "/heartbeat").status == 405
    assert hbtd.ask("DELETE", "/params").status == 405
    assert hbtd.ask("GET", "/nowhere").status == 404
    assert hbtd.ask("GET", "/liveness").status == 204
    assert hbtd.ask("GET", "/readiness").status == 204
