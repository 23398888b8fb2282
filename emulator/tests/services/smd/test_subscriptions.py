"""State change notifications: the subscribers of each change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from csm_emulator.site import Site
from services.smd.hsm_client import COMPONENTS, Hsm

SCN = "/Subscriptions/SCN"
A, B = "x0c0s0b0n0", "x0c0s1b0n0"
URL = "http://127.0.0.1:1/hear"


@pytest.fixture
def posts(hsm: Hsm) -> list[tuple[str, Any]]:
    """The notifications that were sent, in order."""
    outgoing: list[tuple[str, Any]] = []
    object.__setattr__(hsm.site.context, "post", lambda url, body: outgoing.append((url, body)))
    return outgoing


def subscribe(hsm: Hsm, subscriber: str = "me@x", url: str = URL, **triggers: Any) -> int:
    body = {"Subscriber": subscriber, "Url": url, **triggers}
    return int(hsm.do("POST", SCN, body).json()["ID"])


def test_a_state_is_sent_to_its_subscribers(hsm: Hsm, posts: list[tuple[str, Any]]) -> None:
    subscribe(hsm, States=["on"])
    subscribe(hsm, "other", "http://127.0.0.1:2/", States=["Off"])
    hsm.make(A, B)
    posts.clear()
    hsm.do("PATCH", f"{COMPONENTS}/BulkStateData", {"ComponentIDs": [A, B], "State": "On"})
    assert posts == [(URL, {"Components": [A, B], "Flag": "OK", "State": "On"})]


@pytest.mark.parametrize(
    ("triggers", "path", "change", "payload"),
    [
        ({"Enabled": True}, "Enabled", {"Enabled": False}, {"Enabled": False}),
        ({"Roles": ["Service"]}, "Role", {"Role": "service"}, {"Role": "Service"}),
        (
            {"SoftwareStatus": ["AdminDown"]},
            "SoftwareStatus",
            {"SoftwareStatus": "admindown"},
            {"SoftwareStatus": "admindown"},
        ),
    ],
)
def test_every_other_trigger(
    hsm: Hsm, posts: list[tuple[str, Any]], triggers: Any, path: str, change: Any, payload: Any
) -> None:
    subscribe(hsm, **triggers)
    hsm.make(A)
    posts.clear()
    hsm.do("PATCH", f"{COMPONENTS}/{A}/{path}", change)
    assert posts == [(URL, {"Components": [A], **payload})]


def test_a_url_gets_a_change_once_with_several_subscriptions(hsm: Hsm, posts: list[tuple[str, Any]]) -> None:
    subscribe(hsm, "one", States=["On"])
    subscribe(hsm, "two", States=["On", "Off"])
    hsm.make(A)
    posts.clear()
    hsm.do("PATCH", f"{COMPONENTS}/{A}/StateData", {"State": "On"})
    assert len(posts) == 1


def test_a_deleted_subscription_gets_no_changes(hsm: Hsm, posts: list[tuple[str, Any]]) -> None:
    number = subscribe(hsm, States=["On", "Off"])
    hsm.make(A)
    posts.clear()
    hsm.do("PATCH", f"{SCN}/{number}", {"Op": "Remove", "States": ["On"]})
    hsm.do("PATCH", f"{COMPONENTS}/{A}/StateData", {"State": "On"})
    assert posts == []
    hsm.do("DELETE", f"{SCN}/{number}")
    hsm.do("PATCH", f"{COMPONENTS}/{A}/StateData", {"State": "Off"})
    assert posts == []


def test_services_of_the_cluster_are_notified_directly(
    hsm: Hsm, posts: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    hsm.make(A)
    subscribe(hsm, url="http://cray-hmnfd/hmi/v1/scn", States=["On"])
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(type(hsm.site.context.mesh), "ask", lambda _, *args: calls.append(args))
    hsm.do("PATCH", f"{COMPONENTS}/{A}/StateData", {"State": "On"})
    assert calls == [("hmnfd", "POST", "/hmi/v1/scn", {"Components": [A], "Flag": "OK", "State": "On"})]
    assert posts == []


def test_subscriptions_are_stored_as_they_were_written(hsm: Hsm) -> None:
    number = subscribe(hsm, States=["ready"], Roles=["compute"])
    record = {"ID": number, "Subscriber": "me@x", "Roles": ["compute"], "States": ["ready"], "Url": URL}
    assert hsm.read(SCN) == {"SubscriptionList": [record]}
    hsm.do("PATCH", f"{SCN}/{number}", {"Op": "add", "States": ["On"]})
    hsm.do("PATCH", f"{SCN}/{number}", {"Op": "replace", "Roles": ["Service"]})
    assert hsm.read(f"{SCN}/{number}") == {**record, "Roles": ["Service"], "States": ["ready", "On"]}
    assert hsm.ask("PUT", f"{SCN}/{number}", {"Subscriber": "me@x", "Url": URL, "Enabled": True}).status == 204
    assert hsm.read(f"{SCN}/{number}") == {"ID": number, "Subscriber": "me@x", "Enabled": True, "Url": URL}


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({}, "Missing name of subscriber"),
        ({"Subscriber": "a"}, "Missing url"),
        ({"Subscriber": "a", "Url": "u", "States": ["Sleepy"]}, "Invalid state 'Sleepy'"),
        ({"Subscriber": "a", "Url": "u", "Roles": ["King"]}, "Invalid role 'King'"),
        ({"Subscriber": "a", "Url": "u", "SoftwareStatus": [""]}, "SoftwareStatus can not be an empty string"),
    ],
)
def test_subscriptions_that_are_none(hsm: Hsm, body: Any, detail: str) -> None:
    assert hsm.refusal("POST", SCN, body) == (400, detail)
    assert hsm.read(SCN) == {"SubscriptionList": None}


def test_the_same_subscriber_and_url_again(hsm: Hsm) -> None:
    subscribe(hsm, States=["On"])
    assert hsm.refusal("POST", SCN, {"Subscriber": "me@x", "Url": URL, "States": ["Off"]}) == (400, "Subscribe failed")
    assert subscribe(hsm, "another", States=["On"]) == 3
    for number in ("0", "-1", "one", "9" * 30):
        assert hsm.refusal("GET", f"{SCN}/{number}") == (400, f"Invalid id - {number}")


def test_subscriptions_survive_a_restart(open_machine: Callable[[str], Site]) -> None:
    hsm = Hsm(open_machine("empty"))
    subscribe(hsm, States=["On"])
    hsm.site.save()
    assert any(row[0] == "smd.subscriptions" for row in hsm.site.state_file.rows())
