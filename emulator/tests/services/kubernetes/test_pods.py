"""Pods of the cluster as Kubernetes shows them, and the controllers that keep them running."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from csm_emulator.cluster.pods import Container
from service_client import reopen
from services.kubernetes.api import MERGE, PODS, STRATEGIC, Api

DEPLOYMENTS = "/apis/apps/v1/namespaces/services/deployments"
SETS = "/apis/apps/v1/namespaces/services/statefulsets"
JOBS = "/apis/batch/v1/namespaces/services/jobs"


def ims(api: Api) -> list[str]:
    return api.names(f"{PODS}?labelSelector=app.kubernetes.io/name%3Dcray-ims")


def start_job(api: Api, *containers: str, init: str = "git-clone") -> None:
    api.site.context.cluster.start_pod(
        "services",
        "cfs-1-abcde",
        [Container(init, init=True), *(Container(name) for name in containers)],
        {"cfsession": "s"},
        owner=("Job", "cfs-1"),
        node="ncn-m001",
    )


def pod_status(api: Api, name: str) -> tuple[str, str]:
    """Readiness and status as kubectl prints them."""
    _, rows = api.rows(f"{PODS}?fieldSelector=metadata.name%3D{name}")
    return rows[0][1], rows[0][2]


def test_a_pod_from_waiting_to_its_end(api: Api) -> None:
    start_job(api, "inventory", "ansible")
    cluster, at = api.site.context.cluster, ("services", "cfs-1-abcde")
    assert pod_status(api, at[1]) == ("0/2", "Init:0/1")
    assert api.get(f"{PODS}/{at[1]}")["status"]["phase"] == "Pending"
    cluster.begin(*at, "git-clone")
    api.step(5)
    cluster.end(*at, "git-clone", 0)
    assert pod_status(api, at[1]) == ("0/2", "PodInitializing")
    cluster.begin(*at, "inventory")
    cluster.begin(*at, "ansible")
    assert pod_status(api, at[1]) == ("2/2", "Running")
    pod = api.get(f"{PODS}/{at[1]}")
    assert {condition["type"]: condition["status"] for condition in pod["status"]["conditions"]} == {
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
        "PodScheduled": "True",
    }
    assert pod["spec"]["restartPolicy"] == "Never"
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "Job"
    assert pod["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    cluster.end(*at, "inventory", 0)
    assert pod_status(api, at[1]) == ("1/2", "NotReady"), "one has ended, and so the pod is not ready"
    cluster.end(*at, "ansible", 2)
    assert pod_status(api, at[1]) == ("0/2", "Error"), "by name ansible is the first"
    ended = api.get(f"{PODS}/{at[1]}")["status"]
    assert ended["phase"] == "Failed"
    codes = [
        (container["name"], container["state"]["terminated"]["exitCode"]) for container in ended["containerStatuses"]
    ]
    assert codes == [("ansible", 2), ("inventory", 0)]
    api.ask("DELETE", f"{PODS}/{at[1]}")
    assert pod_status(api, at[1]) == ("0/2", "Error"), "what has ended does not stop"


def test_every_pod_is_on_a_node_of_the_machine(api: Api) -> None:
    api.create("/api/v1/namespaces/user/pods", "mine", spec={"containers": [{"name": "c", "image": "i"}]})
    api.site.context.cluster.start_pod("ims", "unplaced", [Container("c")])
    (node,) = api.get("/api/v1/nodes")["items"]
    assert {"type": "InternalIP", "address": api.rows("/api/v1/nodes")[1][0][5]} in node["status"]["addresses"]
    for pod in api.get("/api/v1/pods")["items"]:
        assert pod["spec"]["nodeName"] == node["metadata"]["name"]
        assert pod["status"]["hostIP"] == api.rows("/api/v1/nodes")[1][0][5]
        assert pod["status"]["hostIPs"] == [{"ip": pod["status"]["hostIP"]}]


def test_pods_are_found_by_fields_and_labels(api: Api) -> None:
    start_job(api, "ansible")
    assert api.names(f"{PODS}?fieldSelector=status.phase%3DPending") == ["cfs-1-abcde"]
    assert api.names(f"{PODS}?labelSelector=cfsession%3Ds") == ["cfs-1-abcde"]
    assert "cfs-1-abcde" in api.names("/api/v1/pods?fieldSelector=spec.nodeName%3Dncn-m001")


def test_a_job_is_what_its_pods_say(api: Api) -> None:
    assert api.names(JOBS) == []
    start_job(api, "ansible")
    job = api.get(f"{JOBS}/cfs-1")
    assert job["status"]["active"] == 1
    assert api.get(f"{PODS}/cfs-1-abcde")["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
    cluster, at = api.site.context.cluster, ("services", "cfs-1-abcde")
    for name in ("git-clone", "ansible"):
        cluster.begin(*at, name)
        cluster.end(*at, name, 0)
    finished_job = api.get(f"{JOBS}/cfs-1")
    assert finished_job["status"]["succeeded"] == 1
    assert finished_job["status"]["conditions"][0]["type"] == "Complete"
    assert int(finished_job["metadata"]["resourceVersion"]) > int(job["metadata"]["resourceVersion"])
    assert api.rows(JOBS)[1][0][:3] == ["cfs-1", "Complete", "1/1"]
    assert api.ask("DELETE", f"{JOBS}/cfs-1", {"propagationPolicy": "Background"}).status == 200
    assert api.names(JOBS) == []
    assert cluster.pod(*at) is None


def test_a_job_s_selector_finds_its_pods(api: Api) -> None:
    start_job(api, "ansible")
    job = api.get(f"{JOBS}/cfs-1")
    ((key, value),) = job["spec"]["selector"]["matchLabels"].items()
    assert value == job["metadata"]["uid"]
    for label in (key, "controller-uid"):
        assert api.names(f"{PODS}?labelSelector={quote(label)}%3D{value}") == ["cfs-1-abcde"]
    assert api.names(f"{PODS}?labelSelector=job-name%3Dcfs-1") == ["cfs-1-abcde"]


def test_a_job_that_lost_its_pod_has_failed_and_stays(api: Api) -> None:
    start_job(api, "ansible")
    assert api.ask("DELETE", f"{PODS}/cfs-1-abcde", {"gracePeriodSeconds": 0}).status == 200
    assert api.names(f"{PODS}?labelSelector=job-name%3Dcfs-1") == []
    for site in (api.site, reopen(api.site)):
        api.site = site
        status = api.get(f"{JOBS}/cfs-1")["status"]
        assert status["failed"] == 1
        assert [(one["type"], one["reason"]) for one in status["conditions"]] == [("Failed", "BackoffLimitExceeded")]
    assert api.ask("DELETE", f"{JOBS}/cfs-1").status == 200
    assert api.names(JOBS) == []
    assert api.ask("DELETE", f"{JOBS}/cfs-1").status == 404


def test_a_job_of_a_service_is_changed_by_the_service_alone(api: Api) -> None:
    assert api.ask("POST", JOBS, {"metadata": {"name": "j"}, "spec": {"template": {}}}).status == 422
    start_job(api, "ansible")
    assert api.patch(f"{JOBS}/cfs-1", {"metadata": {"labels": {"a": "b"}}}).status == 405


def test_a_deleted_pod_takes_a_while_and_is_replaced(api: Api) -> None:
    (pod_before,) = ims(api)
    deleted_pod = api.ask("DELETE", f"{PODS}/{pod_before}").json()
    assert deleted_pod["metadata"]["deletionGracePeriodSeconds"] == 30
    assert pod_status(api, pod_before) == ("1/1", "Terminating")
    api.step(15)
    (pod_after,) = ims(api)
    assert pod_after != pod_before
    assert pod_status(api, pod_after) == ("1/1", "Running")


def test_a_pod_can_be_killed_at_once(api: Api) -> None:
    (pod_before,) = ims(api)
    api.ask("DELETE", f"{PODS}/{pod_before}", {"gracePeriodSeconds": 0})
    assert api.ask("GET", f"{PODS}/{pod_before}").status == 404


def test_labels_of_a_pod_can_be_changed(api: Api) -> None:
    (name,) = ims(api)
    api.patch(f"{PODS}/{name}", {"metadata": {"labels": {"x": "y"}}})
    pod = api.site.context.cluster.pod("services", name)
    assert pod is not None
    assert pod.labels["x"] == "y"


@pytest.mark.parametrize("way", ["scale", "patch", "put"])
def test_a_deployment_is_scaled(api: Api, way: str) -> None:
    scale = api.get(f"{DEPLOYMENTS}/cray-ims/scale")
    assert (scale["kind"], scale["spec"], scale["status"]["replicas"]) == ("Scale", {"replicas": 1}, 1)
    if way == "scale":
        assert api.patch(f"{DEPLOYMENTS}/cray-ims/scale", {"spec": {"replicas": 3}}).status == 200
    elif way == "put":
        assert api.ask("PUT", f"{DEPLOYMENTS}/cray-ims/scale", {**scale, "spec": {"replicas": 3}}).status == 200
    else:
        assert api.patch(f"{DEPLOYMENTS}/cray-ims", {"spec": {"replicas": 3}}, STRATEGIC).status == 200
    assert len(ims(api)) == 1
    api.step(20)
    assert len(ims(api)) == 3
    deployment = api.get(f"{DEPLOYMENTS}/cray-ims")
    assert (deployment["status"]["readyReplicas"], deployment["status"]["observedGeneration"]) == (3, 2)
    assert api.rows(f"{DEPLOYMENTS}/cray-ims")[1][0][:4] == ["cray-ims", "3/3", 3, 3]
    api.patch(f"{DEPLOYMENTS}/cray-ims/scale", {"spec": {"replicas": 0}})
    api.step(20)
    assert ims(api) == []
    assert api.site.scheduler.next_moment() is None


def test_a_new_template_rolls_out(api: Api) -> None:
    (pod_before,) = ims(api)
    image = {"spec": {"template": {"spec": {"containers": [{"name": "cray-ims", "image": "other:2"}]}}}}
    changed = api.patch(f"{DEPLOYMENTS}/cray-ims", image, STRATEGIC).json()
    assert len(changed["spec"]["template"]["spec"]["containers"]) == 1
    api.step(3)
    assert pod_before in ims(api)
    api.step(30)
    (pod_after,) = ims(api)
    assert pod_after != pod_before
    assert api.get(f"{PODS}/{pod_after}")["spec"]["containers"][0]["image"] == "other:2"
    assert api.get(f"{DEPLOYMENTS}/cray-ims")["status"]["updatedReplicas"] == 1


def test_a_stateful_set_goes_up_and_down_in_order(api: Api) -> None:
    def pods() -> list[str]:
        return api.names(f"{PODS}?labelSelector=app.kubernetes.io/name%3Dcray-console-node")

    assert pods() == ["cray-console-node-0", "cray-console-node-1"]
    api.patch(f"{SETS}/cray-console-node/scale", {"spec": {"replicas": 4}})
    api.step(2)
    assert len(pods()) == 3
    api.step(30)
    assert pods()[-1] == "cray-console-node-3"
    pod = api.site.context.cluster.pod("services", "cray-console-node-3")
    assert pod is not None
    assert pod.program == "console-node"
    api.patch(f"{SETS}/cray-console-node/scale", {"spec": {"replicas": 1}})
    api.step(40)
    assert pods() == ["cray-console-node-0"]


def test_the_number_of_pods_is_bounded(api: Api) -> None:
    assert api.patch(f"{DEPLOYMENTS}/cray-ims/scale", {"spec": {"replicas": 1_000_000}}).status == 200
    api.step(20)
    assert len(ims(api)) == 200
    assert api.get(f"{DEPLOYMENTS}/cray-ims")["status"]["unavailableReplicas"] == 999_800


def test_what_cannot_be_a_number_of_pods(api: Api) -> None:
    for replicas, status in (("x", 400), (-1, 422), (None, 200), (True, 400)):
        reply = api.ask("PATCH", f"{DEPLOYMENTS}/cray-bos/scale?dryRun=All", {"spec": {"replicas": replicas}}, MERGE)
        assert reply.status == status, replicas


def test_a_client_makes_a_deployment_and_takes_it_away(api: Api) -> None:
    path = "/apis/apps/v1/namespaces/user/deployments"
    labels = {"app": "a"}
    template: Any = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    api.create(path, "mine", spec={"selector": {"matchLabels": labels}, "template": template})
    api.step(20)
    assert len(api.names("/api/v1/namespaces/user/pods")) == 1
    api.ask("DELETE", f"{path}/mine")
    api.step(20)
    assert api.names("/api/v1/namespaces/user/pods") == []
    assert api.names("/apis/apps/v1/namespaces/user/replicasets") == []


def test_a_client_makes_a_pod(api: Api) -> None:
    path = "/api/v1/namespaces/user/pods"
    spec = {"containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "B"}]}], "nodeName": "ncn-m001"}
    assert api.create(path, "mine", spec=spec)["status"]["phase"] == "Pending"
    api.step(10)
    pod = api.get(f"{path}/mine")
    assert (pod["status"]["phase"], pod["spec"]) == ("Running", spec)
    assert api.ask("POST", f"{path}/mine/eviction", {"metadata": {"name": "mine"}}).status == 201
    api.step(10)
    assert api.names(path) == []


def test_a_management_node_that_is_off_is_not_ready(api: Api) -> None:
    xname = next(place.xname for place in api.site.machine.topology.places.values() if place.role == "Management")
    api.site.machine.power.reset(xname, "ForceOff", "test")
    api.step(20)
    assert api.rows("/api/v1/nodes")[1][0][1] == "Ready"
    api.step(60)
    assert api.rows("/api/v1/nodes")[1][0][1] == "NotReady"
