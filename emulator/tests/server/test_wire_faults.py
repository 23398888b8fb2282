"""What a client sees when the wire is broken, over a real socket."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator

import pytest

from csm_emulator.process import Emulator, emulate

NODES = "/hsm/v2/State/Components?type=Node"


@pytest.fixture(scope="module")
def running() -> Iterator[Emulator]:
    with emulate("tiny", "--speed", "0") as machine:
        yield machine


@pytest.fixture
def machine(running: Emulator) -> Iterator[Emulator]:
    yield running
    running.clear()


def groups(machine: Emulator) -> list[str]:
    labels: list[str] = machine.send("GET", machine.services["smd"] + "/hsm/v2/groups/labels").json()
    return labels


def make(machine: Emulator, label: str) -> int:
    body = f'{{"label": "{label}"}}'
    headers = {"Content-Type": "application/json"}
    return machine.send("POST", machine.services["smd"] + "/hsm/v2/groups", body, headers).status


def test_a_lost_response_was_carried_out_all_the_same(machine: Emulator) -> None:
    machine.fault("lost-response", "smd", remaining=1, facts={"method": "POST"})
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        make(machine, "lost")
    assert "lost" in groups(machine)
    assert make(machine, "found") == 201


def test_a_doubled_one_was_carried_out_twice(machine: Emulator) -> None:
    machine.fault("doubled-response", "smd", remaining=1)
    assert make(machine, "doubled") == 409


def test_an_error_changes_nothing_and_strikes_as_often_as_asked(machine: Emulator) -> None:
    machine.fault("server-error", "smd", remaining=2, facts={"status": 502})
    assert [make(machine, "broken") for _ in range(3)] == [502, 502, 201]


def test_only_what_the_fault_names_is_hit(machine: Emulator) -> None:
    machine.fault("server-error", "smd", facts={"path": "/groups"})
    assert machine.send("GET", machine.services["smd"] + NODES).status == 200
    assert machine.send("GET", machine.services["smd"] + "/hsm/v2/groups").status == 503


def test_latency_delays_one_and_not_the_others(machine: Emulator) -> None:
    machine.fault("latency", "smd", remaining=1, facts={"seconds": 0.5})
    began = time.monotonic()
    assert machine.send("GET", machine.services["smd"] + NODES).status == 200
    assert time.monotonic() - began >= 0.5


def test_a_service_that_restarts_is_away_for_a_while(machine: Emulator) -> None:
    machine.fault("service-restart", "sls", facts={"seconds": 10})
    url = machine.services["sls"] + "/v1/version"
    assert machine.send("GET", url).status == 503
    assert machine.send("GET", machine.services["smd"] + NODES).status == 200
    machine.step(11)
    assert machine.send("GET", url).status == 200
    assert machine.ask_control("GET", "/faults")["faults"] == []


def test_a_probability_hits_about_so_often(machine: Emulator) -> None:
    machine.fault("server-error", "smd", probability=0.5)
    url = machine.services["smd"] + "/hsm/v2/service/values/state"
    statuses = [machine.send("GET", url).status for _ in range(60)]
    assert 15 <= statuses.count(503) <= 45


def test_tokens_of_before_count_as_expired(machine: Emulator) -> None:
    url = machine.url + "/apis/smd" + NODES
    old = {"Authorization": f"Bearer {machine.token()}"}
    assert machine.send("GET", url, headers=old).status == 200
    time.sleep(1.1)  # tokens know whole seconds
    machine.fault("token-expiry", "keycloak")
    assert machine.send("GET", url, headers=old).status == 403
    time.sleep(1.1)
    assert machine.send("GET", url, headers={"Authorization": f"Bearer {machine.token()}"}).status == 200
