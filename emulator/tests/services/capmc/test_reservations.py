"""CAPMC reserves the nodes of an order, lends the reservation to PCS, and answers when PCS has begun."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from csm_emulator.machine_choice import MachineRequest
from csm_emulator.site_runner import SiteRunner
from csm_emulator.state.file import StateFile
from csm_emulator.transport.call import Call, ConnectionAborted, Reply
from power_client import DOWN, UP
from service_client import Service

ON, OFF, REINIT = "/xname_on", "/xname_off", "/xname_reinit"
FINE = {"e": 0, "err_msg": ""}
BUSY = {"e": 37, "err_msg": "Error: Failed to reserve components while performing a On."}


def reserved(capmc: Service, node: str) -> bool:
    reply = capmc.site.mesh.ask("smd", "POST", "/hsm/v2/locks/status", {"ComponentIDs": [node]})
    return bool(reply.json()["Components"][0]["Reserved"])


def order(capmc: Service, path: str, node: str, **more: Any) -> Reply:
    """The reply, while virtual time goes on."""
    capmc.site.clock.set_speed(0.001)
    return capmc.ask("POST", path, {"xnames": [node], **more})


def seconds_until_answered(capmc: Service, reply: Reply, most: float = 900.0) -> tuple[float, Any]:
    assert reply.later is not None
    passed = 0.0
    while passed < most:
        ready = reply.later()
        if ready is not None:
            return passed, ready.json()
        capmc.site.step(0.5)
        passed += 0.5
    raise AssertionError("no answer")


@pytest.mark.parametrize(("path", "node"), [(ON, DOWN), (OFF, UP)])
def test_an_order_is_answered_when_pcs_has_begun(capmc: Service, path: str, node: str) -> None:
    reply = order(capmc, path, node)
    assert reserved(capmc, node)
    waited, reply_body = seconds_until_answered(capmc, reply)
    assert 2.0 <= waited <= 4.5
    assert reply_body == FINE
    assert not reserved(capmc, node)
    capmc.site.step(300.0)
    assert capmc.site.machine.power.state(node) == path.removeprefix("/xname_")


def test_pcs_is_lent_the_reservation(capmc: Service) -> None:
    order(capmc, ON, DOWN)
    capmc.site.step(1.0)
    transition = capmc.site.mesh.ask("pcs", "GET", "/transitions").json()["transitions"][0]
    record = capmc.site.mesh.ask("pcs", "GET", f"/transitions/{transition['transitionID']}").json()
    assert record["taskCounts"]["failed"] == 0
    assert capmc.orders(DOWN) == ["On"]


def test_a_reinit_is_answered_when_the_node_is_off_and_ordered_on(capmc: Service) -> None:
    reply = order(capmc, REINIT, UP)
    waited, reply_body = seconds_until_answered(capmc, reply)
    assert reply_body == FINE
    assert waited > 4.0
    assert capmc.orders(UP) == ["GracefulShutdown", "On"]
    assert not reserved(capmc, UP)


def test_on_after_a_reinit_of_the_same_node(capmc: Service) -> None:
    seconds_until_answered(capmc, order(capmc, REINIT, UP))
    _, reply_body = seconds_until_answered(capmc, order(capmc, ON, UP))
    assert reply_body == FINE


def test_a_second_order_for_a_reserved_node_is_refused(capmc: Service) -> None:
    order(capmc, REINIT, UP)
    capmc.site.step(10.0)
    assert order(capmc, ON, UP).json() == BUSY
    capmc.site.step(900.0)
    assert not reserved(capmc, UP)


def test_a_reinit_keeps_its_reservation_for_as_long_as_it_takes(capmc: Service) -> None:
    reply = order(capmc, REINIT, UP)
    capmc.break_("bmc-unreachable", "x1000c0s0b0")
    passed = 0
    while reply.later is not None and reply.later() is None:
        assert reserved(capmc, UP)
        capmc.site.step(5.0)
        passed += 5
        assert passed < 3600
    assert passed >= 60
    assert not reserved(capmc, UP)


def test_a_reservation_is_renewed_for_longer_than_it_lasts(capmc: Service) -> None:
    """PCS repeats its first reply for five minutes; a reservation lasts three."""
    end = capmc.site.clock.now() + 300.0
    first: list[Reply] = []

    def ask(service: str, call: Call) -> Reply:
        reply = capmc.site.ask(service, call)
        if service == "pcs" and call.method == "GET" and capmc.site.clock.now() < end:
            first.append(reply)
            return first[0]
        return reply

    capmc.site.mesh._ask = ask
    reply = order(capmc, REINIT, UP)
    for _ in range(29):
        capmc.site.step(10.0)
        assert reserved(capmc, UP)
    assert seconds_until_answered(capmc, reply)[1] == FINE
    assert not reserved(capmc, UP)


def test_a_restart_releases_what_it_had_reserved(capmc: Service) -> None:
    reply = order(capmc, REINIT, UP)
    capmc.break_("service-restart", "capmc")
    capmc.site.step(5.0)
    assert reply.later is not None
    with pytest.raises(ConnectionAborted):
        reply.later()
    capmc.site.step(60.0)
    assert not reserved(capmc, UP)


def test_a_clock_that_stands_makes_no_client_wait(capmc: Service) -> None:
    reply = capmc.ask("POST", ON, {"xnames": [DOWN]})
    assert (reply.later, reply.json()) == (None, FINE)
    capmc.site.step(10.0)
    assert not reserved(capmc, DOWN)


def test_others_are_served_while_a_client_waits(tmp_path: Path) -> None:
    body = json.dumps({"xnames": [DOWN]}).encode()

    async def scenario(running: SiteRunner) -> None:
        ticking = asyncio.create_task(running.tick_forever())
        began = running.site.clock.now()
        waiting = asyncio.create_task(running.answer_at("capmc", Call("POST", "/capmc/v1/xname_on", body=body)))
        await asyncio.sleep(0)
        assert (await running.answer_at("smd", Call("GET", "/hsm/v2/service/ready"))).status == 200
        assert not waiting.done()
        reply = await asyncio.wait_for(waiting, 30)
        assert (reply.status, reply.json()) == (200, FINE)
        assert running.site.clock.now() - began >= 2.0
        ticking.cancel()

    with contextlib.closing(StateFile(tmp_path / "state")) as state_file:
        asyncio.run(scenario(SiteRunner(state_file, MachineRequest("tiny", speed=4.0), lambda *_: None)))
