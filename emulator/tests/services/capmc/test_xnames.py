"""Power by xname: the nodes that are switched, the replies, and the transitions in PCS."""

from __future__ import annotations

from typing import Any

import pytest

from power_client import BLADE, BMC, DOWN, DOWN_TOO, UP, UP_TOO
from service_client import Service

ON, OFF, REINIT, STATUS = "/xname_on", "/xname_off", "/xname_reinit", "/get_xname_status"
FINE = {"e": 0, "err_msg": ""}


def reply_of(capmc: Service, path: str, body: Any) -> dict[str, Any]:
    reply = capmc.ask("POST", path, body)
    assert reply.status == 200, reply.body
    return dict(reply.json())


def test_on(capmc: Service) -> None:
    assert reply_of(capmc, ON, {"xnames": [DOWN], "reason": "because"}) == FINE
    capmc.site.step(30.0)
    assert capmc.site.machine.power.state(DOWN) == "on"


def test_off_is_graceful_unless_forced(capmc: Service) -> None:
    assert reply_of(capmc, OFF, {"xnames": [UP]}) == FINE
    assert reply_of(capmc, OFF, {"xnames": [UP_TOO], "force": True}) == FINE
    capmc.site.step(1.0)
    assert (capmc.orders(UP), capmc.orders(UP_TOO)) == (["GracefulShutdown"], ["ForceOff"])


def test_off_takes_along_what_is_inside(capmc: Service) -> None:
    assert reply_of(capmc, OFF, {"xnames": [BLADE]}) == FINE
    capmc.site.step(1.0)
    assert (capmc.orders(UP), capmc.orders(UP_TOO), capmc.orders(BLADE)) == (
        ["GracefulShutdown"],
        ["GracefulShutdown"],
        [],
    )
    capmc.site.step(600.0)
    assert capmc.site.machine.power.state(BLADE) == "off"


def test_reinit_is_off_and_then_on(capmc: Service) -> None:
    assert reply_of(capmc, REINIT, {"xnames": [UP]}) == FINE
    capmc.site.step(300.0)
    assert capmc.orders(UP) == ["GracefulShutdown", "On"]
    assert capmc.site.machine.power.state(UP) == "on"


def test_recursive(capmc: Service) -> None:
    assert reply_of(capmc, ON, {"xnames": [BLADE], "recursive": True}) == FINE
    capmc.site.step(1.0)
    assert capmc.orders(DOWN) == ["On"]
    assert capmc.orders(DOWN_TOO) == []


def test_prereq(capmc: Service) -> None:
    reply_of(capmc, OFF, {"xnames": [BLADE], "force": True})
    capmc.site.step(120.0)
    assert capmc.site.machine.power.state(BLADE) == "off"
    assert reply_of(capmc, ON, {"xnames": [DOWN], "prereq": True}) == FINE
    capmc.site.step(240.0)
    assert capmc.site.machine.power.state(DOWN) == "on"


def test_locked(capmc: Service) -> None:
    capmc.site.mesh.ask("smd", "POST", "/hsm/v2/locks/lock", {"ComponentIDs": [DOWN]})
    assert reply_of(capmc, ON, {"xnames": [DOWN]}) == {
        "e": 37,
        "err_msg": "Error: Failed to reserve components while performing a On.",
    }


def test_a_type_that_a_command_is_not_for(capmc: Service) -> None:
    assert reply_of(capmc, REINIT, {"xnames": [BLADE], "force": True}) == {
        "e": -1,
        "err_msg": "Errors encountered with 1 components for ForceRestart",
        "xnames": [
            {
                "xname": BLADE,
                "e": -1,
                "err_msg": f"Skipping {BLADE}: Type, 'ComputeModule', not defined in power sequence for 'ForceRestart'",
            }
        ],
    }


def test_unknown_xnames(capmc: Service) -> None:
    reply = capmc.ask("POST", ON, {"xnames": [DOWN, "x1000c7s7b0n0"]})
    assert reply.status == 400
    assert reply.json() == {
        "e": 22,
        "err_msg": "invalid argument",
        "xnames": [{"xname": "x1000c7s7b0n0", "e": 22, "err_msg": "disabled or not found"}],
    }
    assert capmc.orders(DOWN) == []


def test_unknown_xnames_may_be_passed_over(capmc: Service) -> None:
    body = {"xnames": [DOWN, "x1000c7s7b0n0", "nonsense"], "continue": True}
    refusal = reply_of(capmc, ON, body)
    assert (refusal["e"], refusal["err_msg"]) == (0, "Errors encountered with 2/3 Xnames for On")
    assert [entry["xname"] for entry in refusal["xnames"]] == ["nonsense", "x1000c7s7b0n0"]
    capmc.site.step(1.0)
    assert capmc.orders(DOWN) == ["On"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "Bad Request: EOF"),
        (b'{"xnames":', "Bad Request: unexpected EOF"),
        (b"{}", "Bad Request: Missing required xnames parameter"),
        (b'{"xnames": []}', "Bad Request: Required xnames list is empty"),
        (
            b'{"xnames": "x"}',
            "Bad Request: json: cannot unmarshal string into Go struct field XnameControl.xnames of type []string",
        ),
        (
            b'{"xnames": ["x1"], "recursive": true, "prereq": true}',
            "Bad Request: recursive and prereq options are mutually exclusive",
        ),
    ],
)
@pytest.mark.parametrize("path", [ON, OFF, REINIT])
def test_bodies_that_are_refused(capmc: Service, path: str, body: bytes, message: str) -> None:
    reply = capmc.ask("POST", path, body)
    assert (reply.status, reply.json()) == (400, {"e": 400, "err_msg": message})


def test_names_that_are_none_or_come_twice(capmc: Service) -> None:
    reply = capmc.ask("POST", ON, {"xnames": [DOWN, DOWN, "nonsense"]})
    assert reply.status == 400
    assert [(entry["xname"], entry["err_msg"]) for entry in reply.json()["xnames"]] == [
        (DOWN, "invalid/duplicate xname"),
        ("nonsense", "invalid/duplicate xname"),
    ]


def test_status(capmc: Service) -> None:
    assert reply_of(capmc, STATUS, {"xnames": [DOWN, UP_TOO, UP]}) == {**FINE, "off": [DOWN], "on": [UP, UP_TOO]}
    filtered = {"xnames": [DOWN, UP], "filter": "show_off|Show_Ready"}
    assert reply_of(capmc, STATUS, filtered) == {**FINE, "off": [DOWN]}
    everything = reply_of(capmc, STATUS, {})
    assert {UP, BLADE, "x1000c0"} <= set(everything["on"])
    assert BMC not in everything["on"]


def test_status_of_what_does_not_answer(capmc: Service) -> None:
    capmc.break_("bmc-unreachable", BMC)
    assert reply_of(capmc, STATUS, {"xnames": [UP]}) == {**FINE, "undefined": [UP]}


def test_status_from_hsm(capmc: Service) -> None:
    assert reply_of(capmc, STATUS, {"xnames": [UP], "source": "hsm"}) == {**FINE, "ready": [UP]}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "no request"),
        (b'{"filter": "show_off|show_me"}', "invalid filter string: show_me"),
        (b'{"source": "tea leaves"}', "unknown status source 'tea leaves'"),
        (b'{"xnames": ["nonsense", "x1", "x1"]}', "invalid/duplicate xnames: [nonsense x1]"),
        (b'{"xnames": ["x1000c7s7b0n0"]}', "disabled or not found: [x1000c7s7b0n0]"),
        # CAPMC asks HSM for nodes that are off or on, and a node that is Ready is neither.
        (f'{{"xnames": ["{UP}"], "filter": "show_off"}}'.encode(), f"disabled or not found: [{UP}]"),
        (b'{"xnames": ["x1000c7s7b0n0"], "source": "smd"}', "xnames not found: [x1000c7s7b0n0]"),
    ],
)
def test_status_that_is_refused(capmc: Service, body: bytes, message: str) -> None:
    reply = capmc.ask("POST", STATUS, body)
    assert (reply.status, reply.json()) == (400, {"e": 400, "err_msg": message})


def test_pcs_away(capmc: Service) -> None:
    capmc.break_("service-restart", "pcs")
    assert reply_of(capmc, ON, {"xnames": [DOWN]}) == {
        "e": 500,
        "err_msg": "Error: Failed to send power request to PCS.",
    }
    assert reply_of(capmc, STATUS, {"xnames": [DOWN]})["err_msg"] == "Error: Failed to get status from PCS."
