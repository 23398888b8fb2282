"""Pods: their logs, their events, their end, and that all of them survive a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from csm_emulator.cluster import logs
from csm_emulator.cluster.pods import Container, PodEvent
from csm_emulator.errors import NotFound
from csm_emulator.site import Site
from service_client import MOMENT, open_site, reopen

NAMES = ("services", "cfs-1")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return open_site(tmp_path / "state")


def _start(site: Site, *containers: Container) -> None:
    site.context.cluster.start_pod(
        *NAMES, containers or (Container("git", init=True), Container("main")), {"app": "cfs"}
    )


def test_a_line_is_there_when_its_moment_has_come(site: Site) -> None:
    _start(site)
    cluster = site.context.cluster
    cluster.write_log(*NAMES, "main", [(MOMENT + 10, "later"), (MOMENT + 5, "not before the one above")])
    assert cluster.log(*NAMES, "main") == []
    site.step(10)
    assert [text for _, text in cluster.log(*NAMES, "main")] == ["later", "not before the one above"]
    assert cluster.log(*NAMES, "main", position=1) == [(MOMENT + 10, "not before the one above")]


def test_a_follower_goes_on_from_where_it_was(site: Site) -> None:
    _start(site)
    cluster = site.context.cluster
    events, position = [], 0
    for turn in range(5):
        cluster.write_log(*NAMES, "main", [f"{turn}.{number}" for number in range(3)])
        lines, position = cluster.follow(*NAMES, "main", position, most=2)
        events += [text for _, text in lines]
    while True:
        lines, position = cluster.follow(*NAMES, "main", position, most=2)
        if not lines:
            break
        events += [text for _, text in lines]
    assert events == [f"{turn}.{number}" for turn in range(5) for number in range(3)]


def test_future_lines_of_an_ended_container_are_dropped(site: Site) -> None:
    _start(site)
    cluster = site.context.cluster
    cluster.begin(*NAMES, "main")
    cluster.write_log(*NAMES, "main", [(MOMENT + second, f"{second}") for second in range(0, 100, 10)])
    site.step(25)
    cluster.end(*NAMES, "main", 137)
    site.step(1000)
    assert [text for _, text in cluster.log(*NAMES, "main")] == ["0", "10", "20"]


def test_of_a_long_log_the_beginning_is_gone_and_positions_stay(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MOST_BYTES", 100)
    _start(site)
    cluster = site.context.cluster
    for number in range(50):
        cluster.write_log(*NAMES, "main", [f"line {number:03}"])
    lines, position = cluster.follow(*NAMES, "main", 0)
    assert position == 50
    assert lines[-1][1] == "line 049"
    assert 5 < len(lines) < 15


@pytest.mark.parametrize(
    ("ended", "phase"),
    [({}, "Pending"), ({"git": 0}, "Pending"), ({"git": 1}, "Failed"), ({"git": 0, "main": 0}, "Succeeded"),
     ({"git": 0, "main": 2}, "Failed")],
)  # fmt: skip
def test_phases_are_put_together_from_the_containers(site: Site, ended: dict[str, int], phase: str) -> None:
    _start(site)
    for name, code in ended.items():
        site.context.cluster.end(*NAMES, name, code)
    pod = site.context.cluster.pod(*NAMES)
    assert pod is not None
    assert pod.phase == phase


def test_a_pod_with_a_running_container_runs(site: Site) -> None:
    _start(site)
    site.context.cluster.begin(*NAMES, "main")
    pod = site.context.cluster.pod(*NAMES)
    assert pod is not None
    assert pod.phase == "Running"


def test_watchers_hear_of_everything_with_rising_versions(site: Site) -> None:
    pod_events: list[PodEvent] = []
    cluster = site.context.cluster
    cluster.watch(pod_events.append)
    _start(site)
    cluster.begin(*NAMES, "main")
    cluster.write_file(*NAMES, "main", "/mnt/image/complete", "{}")
    cluster.delete_pod(*NAMES)
    assert [(event.kind, event.what) for event in pod_events] == [
        ("added", ""),
        ("changed", ""),
        ("file", "main:/mnt/image/complete"),
        ("deleted", ""),
    ]
    versions = [event.pod.version for event in pod_events if event.kind != "file"]
    assert versions == sorted(set(versions))


def test_what_is_gone_is_gone_with_its_logs_and_files(site: Site) -> None:
    _start(site)
    cluster = site.context.cluster
    cluster.write_log(*NAMES, "main", ["hello"])
    cluster.write_file(*NAMES, "main", "/tmp/file", "x")  # noqa: S108 (a path in a container)
    cluster.delete_pod(*NAMES)
    with pytest.raises(NotFound):
        cluster.write_log(*NAMES, "main", ["still here?"])
    _start(site)
    assert cluster.log(*NAMES, "main") == []
    assert cluster.read_file(*NAMES, "main", "/tmp/file") is None  # noqa: S108


def test_pods_logs_and_files_survive(site: Site) -> None:
    _start(site)
    cluster = site.context.cluster
    cluster.begin(*NAMES, "git")
    cluster.write_log(*NAMES, "main", ["now", (MOMENT + 60, "in a minute")])
    cluster.write_file(*NAMES, "main", "/a", "b")
    pod_before = cluster.pod(*NAMES)
    reopened_site = reopen(site)
    cluster = reopened_site.context.cluster
    assert cluster.pod(*NAMES) == pod_before
    assert cluster.read_file(*NAMES, "main", "/a") == "b"
    assert [text for _, text in cluster.log(*NAMES, "main")] == ["now"]
    cluster.write_log(*NAMES, "main", ["and then"])
    reopened_site.step(60)
    assert [text for _, text in cluster.log(*NAMES, "main")] == ["now", "in a minute", "and then"]
    reopened_site.state_file.close()
