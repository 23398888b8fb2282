"""A service needs its pods: without them its API is away, and what an operator does waits for the operator."""

from __future__ import annotations

import pytest

from canton.emulator.cluster.service_workloads import WORKLOADS
from canton.emulator.site import Site
from canton.emulator.wire.call import Call
from emulator.cfs_runs.lab import JSON_BODY, NODE, Lab
from emulator.kubernetes.api import Api
from emulator.service_client import Service

STATEFUL = ("slingshot-fabric-manager", "cray-keycloak", "cray-vault")


def scale(site: Site, workload: tuple[str, str], replicas: int) -> None:
    namespace, name = workload
    kind = "statefulsets" if name in STATEFUL else "deployments"
    path = f"/apis/apps/v1/namespaces/{namespace}/{kind}/{name}"
    assert Api(site).patch(path, {"spec": {"replicas": replicas}}).status == 200
    site.step(180)


@pytest.mark.parametrize("service", sorted(WORKLOADS))
def test_without_a_pod_the_gateway_has_no_upstream(tiny: Site, service: str) -> None:
    anything = Call("GET", "/nowhere")
    assert tiny.ask(service, anything).status != 503
    scale(tiny, WORKLOADS[service], 0)
    reply = tiny.ask(service, anything)
    assert (reply.status, reply.body) == (503, b"no healthy upstream")
    scale(tiny, WORKLOADS[service], 1)
    assert tiny.ask(service, anything).status != 503


def test_every_service_of_the_cluster_has_its_workload(tiny: Site) -> None:
    assert set(tiny.faces) - set(WORKLOADS) == {"kubernetes", "s3"}
    for workload in WORKLOADS.values():
        assert tiny.world.cluster.runs(workload), workload


def test_cfs_sessions_wait_for_their_operator(tiny: Site) -> None:
    lab = Lab(tiny)
    lab.configure("c", lab.layer("one"))
    scale(tiny, ("services", "cray-cfs-operator"), 0)
    lab.start("s", "c", NODE)
    tiny.step(600)
    assert (lab.status("s")["status"], lab.status("s")["job"], lab.pods("s")) == ("pending", None, [])
    scale(tiny, ("services", "cray-cfs-operator"), 1)
    assert lab.finish("s") == "true"


def test_a_tenant_waits_for_its_operator(tiny: Site) -> None:
    api = Api(tiny)
    path = "/apis/tapms.hpe.com/v1alpha3/namespaces/tenants/tenants"
    resource = {"type": "compute", "xnames": [NODE], "hsmgrouplabel": "waits", "enforceexclusivehsmgroups": True}
    spec = {"tenantname": "vcluster-blue", "childnamespaces": ["user"], "tenantresources": [resource]}
    api.create(path, "vcluster-blue", apiVersion="tapms.hpe.com/v1alpha3", kind="Tenant", spec=spec)
    scale(tiny, WORKLOADS["tapms"], 0)
    assert api.get(f"{path}/vcluster-blue")["spec"]["state"] != "Deployed"
    assert Service(tiny, "smd", "/hsm/v2").ask("GET", "/groups/waits").status == 404
    scale(tiny, WORKLOADS["tapms"], 1)
    assert api.get(f"{path}/vcluster-blue")["spec"]["state"] == "Deployed"


def test_a_job_of_ims_without_a_session_waits_for_the_operator_of_cfs(tiny: Site) -> None:
    lab = Lab(tiny)
    lab.configure("c", lab.layer("one"))
    groups = [{"name": "Compute", "members": [lab.ims.get("/images")[0]["id"]]}]
    lab.start("s", "c", target={"definition": "image", "groups": groups})
    lab.until_layer("s")
    job = lab.status("s")["ims_job"]
    tiny.world.cluster.delete_pod("services", lab.pods("s")[0].name)
    scale(tiny, ("services", "cray-cfs-operator"), 0)
    assert lab.ims.ask("GET", f"/jobs/{job}").status == 200
    scale(tiny, ("services", "cray-cfs-operator"), 1)
    assert lab.ims.ask("GET", f"/jobs/{job}").status == 404


def test_a_service_whose_pod_is_new_begins_anew(tiny: Site) -> None:
    """HMNFD subscribes with HSM once in the life of its pod."""
    tiny.step(60)
    hsm = Service(tiny, "smd", "/hsm/v2")

    def subscribers() -> set[str]:
        found = {one["Subscriber"] for one in hsm.get("/Subscriptions/SCN")["SubscriptionList"]}
        return {name for name in found if name.startswith("cray-hmnfd-")}

    before = subscribers()
    scale(tiny, WORKLOADS["hmnfd"], 0)
    assert subscribers() == before
    scale(tiny, WORKLOADS["hmnfd"], 1)
    assert len(subscribers() - before) == 1


def test_a_session_that_runs_is_reported_when_the_operator_is_back(tiny: Site) -> None:
    lab = Lab(tiny)
    lab.configure("c", lab.layer("one"))
    lab.start("s", "c", NODE)
    tiny.step(5)
    scale(tiny, ("services", "cray-cfs-operator"), 0)
    tiny.step(1800)
    assert lab.pods("s")[0].phase == "Succeeded"
    assert lab.status("s")["status"] != "complete"
    scale(tiny, ("services", "cray-cfs-operator"), 1)
    assert lab.finish("s") == "true"


def test_components_wait_for_the_batcher(tiny: Site) -> None:
    lab = Lab(tiny)
    lab.configure("c", lab.layer("one"))
    scale(tiny, ("services", "cray-cfs-batcher"), 0)
    reply = lab.cfs.ask("PATCH", f"/components/{NODE}", {"desired_config": "c", "enabled": True}, JSON_BODY)
    assert reply.ok
    tiny.step(900)
    assert lab.cfs.get("/sessions")["sessions"] == []
    scale(tiny, ("services", "cray-cfs-batcher"), 1)
    tiny.step(300)
    assert len(lab.cfs.get("/sessions")["sessions"]) == 1


def test_a_stable_component_is_taken_up_by_the_status_operator_alone(tiny: Site) -> None:
    """An enabled component that wants nothing is disabled again by BOS's status operator."""
    bos = Service(tiny, "bos", "/v2")
    scale(tiny, ("services", "cray-bos-operator-status"), 0)
    assert bos.ask("PATCH", f"/components/{NODE}", {"enabled": True}, JSON_BODY).ok
    tiny.step(300)
    assert bos.get(f"/components/{NODE}")["enabled"] is True
    scale(tiny, ("services", "cray-bos-operator-status"), 1)
    assert bos.get(f"/components/{NODE}")["enabled"] is False
