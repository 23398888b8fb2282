"""State changes: from HSM to the batch, and from the batch to the subscribers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service_client import Service, open_site, reopen

NODE = "x1000c0s0b0n0"
Sent = list[tuple[str, Any]]


@pytest.fixture
def posts() -> Sent:
    return []


@pytest.fixture
def hmnfd(tmp_path: Path, posts: Sent) -> Iterator[Service]:
    site = open_site(tmp_path / "state", "empty", posts)
    yield Service(site, "hmnfd", "/hmi")
    site.state_file.close()


def subscribe(hmnfd: Service, agent: str, node: str = NODE, **fields: Any) -> None:
    body = {"Components": ["all"], "Url": f"http://127.0.0.1/{agent}", **fields}
    assert hmnfd.ask("POST", f"/v2/subscriptions/{node}/agents/{agent}", body).status == 200


def scn(hmnfd: Service, *components: str, **fields: Any) -> None:
    assert hmnfd.ask("POST", "/v1/scn", {"Components": list(components), **fields}).status == 200


def test_equal_changes_wait_and_go_together(hmnfd: Service, posts: Sent) -> None:
    subscribe(hmnfd, "agent", States=["Ready"])
    scn(hmnfd, "x1c0s0b0n0", State="Ready", Flag="OK")
    scn(hmnfd, "X1c0s0b0n1", State="Ready", Flag="OK")
    assert posts == []
    hmnfd.step(5.0)
    assert posts == [
        (
            "http://127.0.0.1/agent",
            {"Components": ["x1c0s0b0n0", "x1c0s0b0n1"], "State": "Ready", "Timestamp": "2027-01-15T08:00:05Z"},
        )
    ]
    hmnfd.step(60.0)
    assert len(posts) == 1
    assert hmnfd.site.scheduler.next_moment() is None


def test_another_change_sends_the_batch_at_once(hmnfd: Service, posts: Sent) -> None:
    subscribe(hmnfd, "agent", States=["Ready", "On"])
    scn(hmnfd, "x1c0s0b0n0", State="Ready")
    scn(hmnfd, "x1c0s0b0n0", State="On")
    assert [body["State"] for _, body in posts] == ["Ready"]
    hmnfd.step(5.0)
    assert [body["State"] for _, body in posts] == ["Ready", "On"]


def test_a_full_batch_does_not_wait(hmnfd: Service, posts: Sent) -> None:
    hmnfd.ask("PATCH", "/v1/params", {"Scn_max_cache": 3})
    subscribe(hmnfd, "agent", States=["Ready"])
    for number in range(3):
        scn(hmnfd, f"x1c0s{number}b0n0", State="Ready")
    assert [len(body["Components"]) for _, body in posts] == [3]


def test_each_subscriber_gets_the_states_of_its_subscription(hmnfd: Service, posts: Sent) -> None:
    subscribe(hmnfd, "nodes", States=["Populated"], Components=["allnodes"])
    subscribe(hmnfd, "two", States=["Populated"], Components=["x1c0s0b0n0", "x9"])
    subscribe(hmnfd, "roles", Roles=["Compute"])
    subscribe(hmnfd, "enabled", Enabled=False)
    scn(hmnfd, "x1c0s0b0n0", "x1c0s0b0", "x1c0s0b0n0", State="Populated")
    hmnfd.step(5.0)
    scn(hmnfd, "x1c0s0b0n0", Enabled=True)
    hmnfd.step(5.0)
    components_of = {url.rpartition("/")[2]: body["Components"] for url, body in posts}
    assert components_of == {"nodes": ["x1c0s0b0n0", "x1c0s0b0n0"], "two": ["x1c0s0b0n0"], "enabled": ["x1c0s0b0n0"]}


def test_a_state_is_found_anywhere_in_the_key(hmnfd: Service, posts: Sent) -> None:
    subscribe(hmnfd, "monitor", States=["Ready"])
    scn(hmnfd, "x1c0s0b0n0", State="On")
    hmnfd.step(5.0)
    assert [url for url, _ in posts] == ["http://127.0.0.1/monitor"]


def test_a_node_that_went_down_loses_its_subscriptions(hmnfd: Service, posts: Sent) -> None:
    subscribe(hmnfd, "agent", States=["Off"])
    subscribe(hmnfd, "other", "x1000c0s0b0n1", States=["Off"])
    scn(hmnfd, NODE, State="Off")
    hmnfd.step(5.0)
    assert [url for url, _ in posts] == ["http://127.0.0.1/other"]
    assert hmnfd.get("/v1/health")["PruneMap"] == "Number of items:1"
    hmnfd.step(10.0)
    assert [one["SubscriberAgent"] for one in hmnfd.get("/v2/subscriptions")["SubscriptionList"]] == ["other"]
    assert hmnfd.get("/v1/health")["PruneMap"] == "No contents"


def test_a_restart_in_the_middle_of_a_batch(hmnfd: Service, posts: Sent) -> None:
    subscribe(hmnfd, "agent", States=["Ready"])
    scn(hmnfd, "x1c0s0b0n0", State="Ready")
    reopened_site = reopen(hmnfd.site, posts)
    reopened_site.step(5.0)
    assert len(posts) == 1
    reopened_site.state_file.close()


def test_a_change_in_hsm_reaches_the_subscriber(tmp_path: Path) -> None:
    outgoing: Sent = []
    site = open_site(tmp_path / "tiny.state", "tiny", outgoing)
    hmnfd = Service(site, "hmnfd", "/hmi")
    site.step(10.0)
    node = min(node for node in site.machine.topology.running if node.startswith("x1000"))
    subscribe(hmnfd, "agent", "x3000c0s1b0n0", States=["Off", "Ready", "Standby"])
    site.machine.power.reset(node, "ForceOff", "test")
    site.step(60.0)
    assert [(body["Components"], body["State"]) for _, body in outgoing][:1] == [([node], "Off")]
    site.state_file.close()


@pytest.mark.parametrize("body", [{"State": 5}, {"Components": "x"}, {"Enabled": "no"}])
def test_a_change_that_cannot_be_read_is_hmnfds_own_fault(hmnfd: Service, body: dict[str, Any]) -> None:
    assert hmnfd.refusal("POST", "/v2/scn", body) == (500, "Error unmarshalling SCN JSON")
