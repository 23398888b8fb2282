"""The cluster's events about its pods and Jobs."""

from __future__ import annotations

from typing import Any

import pytest

from csm_emulator.cluster.pods import Container
from csm_emulator.services.kubernetes.storage.events import MOST_EVENTS
from service_client import reopen
from services.kubernetes.api import PODS, Api

EVENTS = "/api/v1/namespaces/services/events"
AT = ("services", "cfs-1-abcde")


def start_job(api: Api) -> None:
    containers = [Container("git-clone", "clone:1", init=True), Container("ansible", "aee:1")]
    api.site.context.cluster.start_pod(*AT, containers, owner=("Job", "cfs-1"))


def event_texts(api: Api, query: str = "") -> list[tuple[str, str]]:
    """Reasons and messages; the events of one object are in the order of their time."""
    events = api.get(f"{EVENTS}?{query}")["items"]
    return [(event["reason"], event["message"]) for event in events]


def write(api: Api, name: str) -> None:
    api.create(EVENTS, name, involvedObject={"kind": "Pod", "name": "p", "namespace": "services"}, reason="R")


def test_on_the_first_day_everything_runs_already(api: Api) -> None:
    assert api.get("/api/v1/events")["items"] == []


def test_the_life_of_a_job(api: Api) -> None:
    cluster = api.site.context.cluster
    start_job(api)
    for name in ("git-clone", "ansible"):
        cluster.begin(*AT, name)
        cluster.end(*AT, name, 0)
    assert event_texts(api, "fieldSelector=involvedObject.kind%3DJob") == [
        ("SuccessfulCreate", "Created pod: cfs-1-abcde"),
        ("Completed", "Job completed"),
    ]
    assert event_texts(api, "fieldSelector=involvedObject.kind%3DPod") == [
        ("Scheduled", "Successfully assigned services/cfs-1-abcde to ncn-m001"),
        ("Pulled", 'Container image "clone:1" already present on machine'),
        ("Created", "Created container: git-clone"),
        ("Started", "Started container git-clone"),
        ("Pulled", 'Container image "aee:1" already present on machine'),
        ("Created", "Created container: ansible"),
        ("Started", "Started container ansible"),
    ]
    cluster.delete_job("services", "cfs-1")
    assert len(event_texts(api)) == 9


def test_events_are_found_by_what_they_are_about(api: Api) -> None:
    start_job(api)
    api.site.context.cluster.begin(*AT, "git-clone")
    uid = api.get(f"{PODS}/{AT[1]}")["metadata"]["uid"]
    about = f"involvedObject.name%3D{AT[1]},involvedObject.namespace%3Dservices,involvedObject.uid%3D{uid}"
    reasons = [reason for reason, _ in event_texts(api, f"fieldSelector={about}")]
    assert reasons == ["Scheduled", "Pulled", "Created", "Started"]
    (started,) = api.get(f"{EVENTS}?fieldSelector=reason%3DStarted")["items"]
    assert started["involvedObject"]["fieldPath"] == "spec.initContainers{git-clone}"
    assert started["source"] == {"component": "kubelet", "host": "ncn-m001"}
    assert ["0s", "Normal", "Started", f"pod/{AT[1]}", "Started container git-clone"] in [
        row[:5] for row in api.rows(EVENTS)[1]
    ]


@pytest.mark.parametrize("way", ["ansible", "git-clone", "lost"])
def test_a_job_that_fails(api: Api, way: str) -> None:
    cluster = api.site.context.cluster
    start_job(api)
    cluster.begin(*AT, "git-clone")
    if way == "lost":
        cluster.delete_pod(*AT)
    else:
        cluster.end(*AT, "git-clone", 1 if way == "git-clone" else 0)
    if way == "ansible":
        cluster.begin(*AT, "ansible")
        cluster.end(*AT, "ansible", 2)
    assert event_texts(api, "fieldSelector=type%3DWarning") == [
        ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
    ]


def test_a_pod_that_is_deleted_and_the_one_after_it(api: Api) -> None:
    (name,) = api.names(f"{PODS}?labelSelector=app.kubernetes.io/name%3Dcray-ims")
    api.ask("DELETE", f"{PODS}/{name}")
    api.ask("DELETE", f"{PODS}/{name}")
    assert event_texts(api) == [("Killing", "Stopping container cray-ims")]
    api.step(20)
    (new_pod,) = api.names(f"{PODS}?labelSelector=app.kubernetes.io/name%3Dcray-ims")
    reasons = [reason for reason, _ in event_texts(api, f"fieldSelector=involvedObject.name%3D{new_pod}")]
    assert reasons == ["Scheduled", "Pulled", "Created", "Started"]


def written(api: Api) -> list[str]:
    """The events without those of CronJobs, which run every few minutes."""
    return [name for name in api.names(EVENTS) if "." not in name]


def test_an_hour_later_they_are_forgotten(api: Api) -> None:
    write(api, "early")
    api.step(1800)
    write(api, "late")
    api.step(1700)
    assert written(api) == ["early", "late"]
    api.site = reopen(api.site)
    api.step(200)
    assert written(api) == ["late"]
    assert api.ask("GET", f"{EVENTS}/early").status == 404
    api.step(1800)
    assert written(api) == []


def test_there_are_not_too_many(api: Api) -> None:
    for number in range(MOST_EVENTS + 5):
        write(api, f"e{number:04}")
    assert api.names(EVENTS)[0] == "e0005"
    assert len(api.names(EVENTS)) == MOST_EVENTS


def test_an_event_with_a_finalizer(api: Api) -> None:
    body: Any = {"metadata": {"name": "held", "finalizers": ["a/b"]}, "involvedObject": {"namespace": "services"}}
    assert api.ask("POST", EVENTS, body).status == 201
    assert api.ask("DELETE", f"{EVENTS}/held").status == 200
    assert api.names(EVENTS) == ["held"]
    api.patch(f"{EVENTS}/held", {"metadata": {"finalizers": None}})
    assert api.names(EVENTS) == []
