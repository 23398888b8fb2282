"""Watches: the changes after a version."""

from __future__ import annotations

import pytest

from csm_emulator.cluster.pods import Container
from csm_emulator.services.kubernetes.storage import history
from services.kubernetes.api import HOOKS, MAPS, PODS, TABLE, Api


def changes(events: list[dict[str, dict[str, dict[str, str]]]]) -> list[tuple[object, str]]:
    return [(event["type"], event["object"]["metadata"]["name"]) for event in events]


def void(_: object) -> None:
    """Runs an action without a reply."""


def version(api: Api) -> str:
    return str(api.get(MAPS)["metadata"]["resourceVersion"])


def test_changes_after_a_version(api: Api) -> None:
    api.create(MAPS, "old")
    start = version(api)
    api.create(MAPS, "before")

    def do() -> None:
        api.create(MAPS, "new")
        api.create("/api/v1/namespaces/services/configmaps", "elsewhere")
        api.patch(f"{MAPS}/new", {"data": {"a": "b"}})
        api.ask("DELETE", f"{MAPS}/new")

    events = api.events(f"{MAPS}?watch=true&resourceVersion={start}", do)
    assert changes(events) == [("ADDED", "before"), ("ADDED", "new"), ("MODIFIED", "new"), ("DELETED", "new")]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))
    assert events[2]["object"]["data"] == {"a": "b"}


def test_without_a_version_everything_comes_first(api: Api) -> None:
    api.create(MAPS, "old")
    events = api.events(f"{MAPS}?watch=1", lambda: None)
    assert changes(events) == [("ADDED", "old")]
    path = f"{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    added, bookmark = api.events(path, lambda: None)
    assert (added["type"], bookmark["type"]) == ("ADDED", "BOOKMARK")
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_what_leaves_the_selection_is_deleted_for_the_watcher(api: Api) -> None:
    api.create(MAPS, "one")
    start = version(api)

    def do() -> None:
        api.patch(f"{MAPS}/one", {"metadata": {"labels": {"x": "y"}}})
        api.patch(f"{MAPS}/one", {"metadata": {"labels": {"x": "z"}}})

    events = api.events(f"{MAPS}?watch=true&labelSelector=x%3Dy&resourceVersion={start}", do)
    assert changes(events) == [("ADDED", "one"), ("DELETED", "one")]


def test_one_object_is_watched_by_its_name(api: Api) -> None:
    api.create(MAPS, "one")
    api.create(MAPS, "two")
    assert changes(api.events(f"{MAPS}?watch=true&fieldSelector=metadata.name%3Dtwo", lambda: None)) == [
        ("ADDED", "two")
    ]
    assert changes(api.events(f"{MAPS}/one?watch=true", lambda: None)) == [("ADDED", "one")]


def test_pods_and_jobs_are_watched_too(api: Api) -> None:
    cluster, at, start = api.site.context.cluster, ("services", "j-1"), version(api)

    def do() -> None:
        cluster.start_pod(*at, [Container("c")], owner=("Job", "j"))
        cluster.begin(*at, "c")
        cluster.end(*at, "c", 0)
        cluster.delete_pod(*at)
        cluster.delete_job("services", "j")

    path = f"{PODS}?watch=true&resourceVersion={start}"
    events = api.events(path, do)
    assert changes(events) == [("ADDED", "j-1"), ("MODIFIED", "j-1"), ("MODIFIED", "j-1"), ("DELETED", "j-1")]
    assert [event["object"]["status"]["phase"] for event in events] == ["Pending", "Running", "Succeeded", "Succeeded"]
    jobs = api.events(f"/apis/batch/v1/jobs?watch=true&resourceVersion={start}", lambda: None)
    assert changes(jobs) == [("ADDED", "j"), ("MODIFIED", "j"), ("MODIFIED", "j"), ("DELETED", "j")]


def test_too_old_a_version_is_gone(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_CHANGES", 5)
    start = version(api)
    for number in range(30):
        api.create(MAPS, f"m{number}")
    (event,) = api.events(f"{MAPS}?watch=true&resourceVersion={start}", lambda: None)
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    assert event["object"]["message"].startswith(f"too old resource version: {start} (")
    assert api.message("GET", f"{MAPS}?watch=true&resourceVersion=x").startswith("400 BadRequest")


def test_a_table_is_watched_with_its_head_once(api: Api) -> None:
    api.create(MAPS, "one")
    first, second = api.events(f"{MAPS}?watch=true", lambda: void(api.create(MAPS, "two")), TABLE)
    assert [column["name"] for column in first["object"]["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert second["object"]["columnDefinitions"] == []
    assert second["object"]["rows"][0]["cells"] == ["two", 0, "0s"]


def test_a_watch_ends_in_time_and_has_bookmarks(api: Api) -> None:
    path = f"{HOOKS}?watch=true&timeoutSeconds=120&allowWatchBookmarks=true&resourceVersion={version(api)}"
    events = api.events(path, lambda: api.step(61))
    assert [event["type"] for event in events] == ["BOOKMARK"]
    assert events[0]["object"]["kind"] == "GlobalTenantHook"
    assert "name" not in events[0]["object"]["metadata"]


def test_a_watch_ends_with_the_machine(api: Api) -> None:
    assert api.events(f"{HOOKS}?watch=true", api.site.close) == []
