"""The records of transitions, and those that survive a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from csm_emulator.machine.topology import catalog as topologies
from csm_emulator.services.pcs.transitions import records
from csm_emulator.site import Site, StartOptions
from csm_emulator.state.file import StateFile
from power_client import DOWN, DOWN_TOO, UP, Pcs

DAY = 86400.0
UNKNOWN = "3fa85f64-5717-4562-b3fc-2c963f66afa6"


def open_tiny(path: Path) -> Site:
    return Site(StartOptions(topologies.load("tiny"), seed=7, speed=0.0, moment=1_800_000_000.0), StateFile(path))


def story(pcs: Pcs) -> list[object]:
    """All replies about the transitions, second by second."""
    transitions = [pcs.start("off", UP, DOWN), pcs.start("on", DOWN, DOWN_TOO)]
    statuses: list[object] = []
    for _ in range(120):
        pcs.site.step(1.0)
        statuses += [pcs.show(transition) for transition in transitions]
    return statuses


def test_the_same_seed_and_requests_give_the_same_times(tmp_path: Path) -> None:
    first, second = open_tiny(tmp_path / "a"), open_tiny(tmp_path / "b")
    assert story(Pcs(first)) == story(Pcs(second))
    first.state_file.close()
    second.state_file.close()


def test_a_machine_that_was_killed_goes_on(tmp_path: Path) -> None:
    untouched, killed = open_tiny(tmp_path / "a"), open_tiny(tmp_path / "b")
    transition = Pcs(untouched).start("hard-restart", UP)
    assert Pcs(killed).start("hard-restart", UP) == transition
    untouched.step(70.0)
    killed.step(70.0)
    killed.save()
    killed.state_file.close()
    killed = open_tiny(tmp_path / "b")
    assert Pcs(killed).state(transition) == "in-progress"
    untouched.step(200.0)
    killed.step(200.0)
    assert Pcs(killed).show(transition) == Pcs(untouched).show(transition)
    assert Pcs(killed).state(transition) == "completed"
    untouched.state_file.close()
    killed.state_file.close()


def test_a_service_that_restarts_takes_its_transitions_up(pcs: Pcs) -> None:
    transition = pcs.start("hard-restart", UP)
    pcs.site.step(5.0)
    pcs.break_("service-restart", "pcs", seconds=30)
    assert pcs.ask("GET", f"/transitions/{transition}").status == 503
    pcs.site.step(31.0)
    assert pcs.state(transition) == "in-progress"
    pcs.finish(transition)
    assert pcs.task(transition, UP)["taskStatus"] == "succeeded"
    assert pcs.orders(UP) == ["GracefulShutdown", "On"]
    assert pcs.site.machine.power.state(UP) == "on"


def test_what_the_old_process_had_in_mind_is_forgotten(pcs: Pcs) -> None:
    transition = pcs.start("soft-restart", UP)
    pcs.site.step(1.0)
    pcs.break_("service-restart", "pcs", seconds=5)
    pcs.site.step(30.0)
    assert pcs.state(transition) == "in-progress"
    pcs.finish(transition)
    assert pcs.task(transition, UP)["taskStatusDescription"] == "Transition confirmed, gracefulrestart"
    assert pcs.orders(UP) == ["GracefulRestart"]


def test_an_ended_one_does_not_begin_again(pcs: Pcs) -> None:
    transition = pcs.start("on", DOWN)
    pcs.finish(transition)
    record_before = pcs.show(transition)
    pcs.break_("service-restart", "pcs", seconds=5)
    pcs.site.step(120.0)
    assert pcs.show(transition) == record_before
    assert pcs.orders(DOWN) == ["On"]


def test_records_live_a_day(pcs: Pcs) -> None:
    transition = pcs.start("on", UP)
    pcs.finish(transition)
    pcs.site.step(DAY - 60.0)
    assert pcs.state(transition) == "completed"
    pcs.site.step(60.0)
    assert pcs.ask("GET", f"/transitions/{transition}").status == 404
    assert pcs.ask("GET", "/transitions").json() == {"transitions": []}


def test_after_a_day_even_the_endless_is_aborted(pcs: Pcs) -> None:
    pcs.finish(pcs.start("on", DOWN))
    transition = pcs.start("soft-off", DOWN, taskDeadlineMinutes=-1)
    pcs.site.step(DAY + 20.0)
    assert pcs.state(transition) == "aborted"


def test_the_list_has_no_tasks(pcs: Pcs) -> None:
    transition = pcs.start("Soft-OFF", UP)
    pcs.site.step(1.0)
    (entry,) = pcs.ask("GET", "/transitions").json()["transitions"]
    assert entry["transitionID"] == transition
    assert entry["operation"] == "Soft-Off"
    assert "tasks" not in entry
    assert entry["taskCounts"]["in-progress"] == 1
    assert entry["createTime"] == "2027-01-15T08:00:00Z"
    assert entry["automaticExpirationTime"] == "2027-01-16T08:00:00Z"


def test_creation_returns_the_location(pcs: Pcs) -> None:
    reply = pcs.ask("POST", "/transitions", {"operation": "on", "location": []})
    assert reply.json()["operation"] == "On"
    assert dict(reply.headers)["Location"] == f"../transitions/{reply.json()['transitionID']}"


@pytest.mark.parametrize(
    ("text", "status", "detail"),
    [
        (UNKNOWN, 404, f"Key /transition/{UNKNOWN} does not exist"),
        (UNKNOWN.upper(), 404, f"Key /transition/{UNKNOWN} does not exist"),
        ("urn:uuid:" + UNKNOWN, 404, f"Key /transition/{UNKNOWN} does not exist"),
        ("x", 400, "invalid UUID length: 1"),
        (UNKNOWN[:-1] + "g", 400, "invalid UUID format"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_no_such_transition(pcs: Pcs, method: str, text: str, status: int, detail: str) -> None:
    reply = pcs.ask(method, f"/transitions/{text}")
    assert (reply.status, reply.media) == (status, "application/problem+json")
    assert reply.json() == {
        "type": "about:blank",
        "detail": detail,
        "status": status,
        "title": "Not Found" if status == 404 else "Bad Request",
    }


def test_the_number_of_ended_records_is_bounded(pcs: Pcs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MAX_ENDED", 2)
    started = []
    for _ in range(3):
        started.append(pcs.start("on", UP))
        pcs.site.step(1.0)
    kept_ids = {record["transitionID"] for record in pcs.ask("GET", "/transitions").json()["transitions"]}
    assert kept_ids == set(started[1:])


def test_long_texts_are_cut_when_a_record_is_large() -> None:
    one = {"xname": UP, "taskStatusDescription": "d" * 40, "error": "e" * 200}
    assert records._within_size([one] * 10) == [one] * 10
    assert records._within_size([one] * 10_000)[0] == {
        **one,
        "taskStatusDescription": "...",
        "error": "e" * 130 + "...",
    }
    short = {"xname": UP, "taskStatusDescription": "d" * 140}
    assert records._within_size([short] * 10_000)[0] == {**short, "taskStatusDescription": "d" * 130 + "..."}
