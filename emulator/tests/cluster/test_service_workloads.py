"""A service needs its pods: without them its API is down, and the work of its operators waits."""

from __future__ import annotations

import pytest

from csm_emulator.cluster.service_workloads import WORKLOADS
from csm_emulator.nodes.consoles import START
from csm_emulator.site import Site
from csm_emulator.transport.call import Call
from service_client import Service
from services.cfs_runs.lab import JSON_BODY, NODE, OFF, OTHER, Lab
from services.kubernetes.api import TENANTS, Api
from services.kubernetes.test_custom import SPEC

STATEFUL = ("slingshot-fabric-manager", "cray-keycloak", "cray-vault")


def scale(site: Site, workload: tuple[str, str], replicas: int) -> None:
    scale_soon(site, workload, replicas)
    site.step(180)


def scale_soon(site: Site, workload: tuple[str, str], replicas: int) -> None:
    """Asserts that no pod has ended yet, and none has started since."""
    namespace, name = workload
    kind = "statefulsets" if name in STATEFUL else "deployments"
    path = f"/apis/apps/v1/namespaces/{namespace}/{kind}/{name}"
    assert Api(site).patch(path, {"spec": {"replicas": replicas}}).status == 200


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
    assert set(tiny.services) - set(WORKLOADS) == {"kubernetes", "s3"}
    for workload in WORKLOADS.values():
        assert tiny.context.cluster.runs(workload), workload


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
    tiny.context.cluster.delete_pod("services", lab.pods("s")[0].name)
    scale(tiny, ("services", "cray-cfs-operator"), 0)
    assert lab.ims.ask("GET", f"/jobs/{job}").status == 200
    scale(tiny, ("services", "cray-cfs-operator"), 1)
    assert lab.ims.ask("GET", f"/jobs/{job}").status == 404


def test_a_service_with_a_new_pod_starts_again(tiny: Site) -> None:
    """HMNFD subscribes with HSM once in the life of its pod."""
    tiny.step(60)
    hsm = Service(tiny, "smd", "/hsm/v2")

    def subscribers() -> set[str]:
        services = {one["Subscriber"] for one in hsm.get("/Subscriptions/SCN")["SubscriptionList"]}
        return {name for name in services if name.startswith("cray-hmnfd-")}

    subscribers_before = subscribers()
    scale(tiny, WORKLOADS["hmnfd"], 0)
    assert subscribers() == subscribers_before
    scale(tiny, WORKLOADS["hmnfd"], 1)
    assert len(subscribers() - subscribers_before) == 1


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


def test_a_deleted_session_keeps_its_jobs_until_the_operator_is_back(tiny: Site) -> None:
    lab = Lab(tiny)
    lab.configure("c", lab.layer("one"))
    lab.do("PATCH", "/options", {"batcher_disable": True})
    image = next(one["id"] for one in lab.ims.get("/images") if one["name"].startswith("compute"))
    target = {"definition": "image", "groups": [{"name": "Compute", "members": [image]}]}
    lab.cfs.break_("image-job-stuck", "*", status="fetching_image")
    lab.start("image", "c", target=target)
    lab.start("live", "c", NODE)
    tiny.step(60)
    ims_job = lab.status("image")["ims_job"]
    scale(tiny, ("services", "cray-cfs-operator"), 0)
    lab.do("DELETE", "/sessions/image")
    lab.do("DELETE", "/sessions/live")
    lab.start("live", "c", OTHER)
    tiny.step(1800)
    assert [len(lab.pods(name)) for name in ("image", "live")] == [1, 1]
    assert lab.ims.ask("GET", f"/jobs/{ims_job}").ok
    assert lab.states(NODE) == [("one", "applied")], "what runs already runs on"
    assert (lab.status("live")["status"], lab.states(OTHER)) == ("pending", [])
    lab = lab.reopened()
    scale(lab.site, ("services", "cray-cfs-operator"), 1)
    assert lab.pods("image") == []
    assert lab.ims.ask("GET", f"/jobs/{ims_job}").status == 404
    assert lab.finish("live") == "true"
    assert lab.pods("live")[0].owner == ("Job", lab.status("live")["job"])
    assert lab.states(OTHER) == [("one", "applied")]


def test_old_sessions_stay_until_the_operator_is_back(tiny: Site) -> None:
    lab = Lab(tiny)
    lab.configure("c", lab.layer("one"))
    lab.do("PATCH", "/options", {"session_ttl": "1h"})
    assert lab.run("s", "c", NODE) == "true"
    scale(tiny, ("services", "cray-cfs-operator"), 0)
    tiny.step(3 * 3600)
    assert lab.status("s")["status"] == "complete"
    scale(tiny, ("services", "cray-cfs-operator"), 1)
    tiny.step(300)
    assert lab.cfs.get("/sessions")["sessions"] == []


def test_without_tapms_kubernetes_refuses_tenants(tiny: Site) -> None:
    scale(tiny, ("tapms-operator", "cray-tapms-operator"), 0)
    reply = Api(tiny).ask("POST", TENANTS, {"metadata": {"name": "t"}, "spec": SPEC})
    url = "https://tapms-webhook-service.tapms-operator.svc:443/mutate-tapms-hpe-com-v1alpha3-tenant?timeout=30s"
    assert (reply.status, reply.json()["message"]) == (
        500,
        'Internal error occurred: failed calling webhook "mtenant.kb.io": failed to call webhook: '
        f'Post "{url}": no endpoints available for service "tapms-webhook-service"',
    )
    assert Api(tiny).names(TENANTS) == []


def test_capmc_releases_its_reservations_when_it_ends(tiny: Site) -> None:
    def is_reserved() -> bool:
        reply = tiny.mesh.ask("smd", "POST", "/hsm/v2/locks/status", {"ComponentIDs": [NODE]})
        return bool(reply.json()["Components"][0]["Reserved"])

    capmc = Service(tiny, "capmc", "/capmc/v1")
    assert capmc.ask("POST", "/xname_reinit", {"xnames": [NODE]}).ok
    scale_soon(tiny, ("services", "cray-capmc"), 0)
    releases = 0
    while tiny.context.cluster.runs(("services", "cray-capmc")):
        assert is_reserved()
        tiny.step(1)
        releases += 1
        assert releases < 60
    assert not is_reserved()
    scale(tiny, ("services", "cray-capmc"), 1)
    assert not is_reserved()
    assert tiny.machine.power.state(NODE) == "off", "no service switches it on again"


def test_without_console_data_no_console_is_found(tiny: Site) -> None:
    consoles = Service(tiny, "console-operator", "/console-operator")

    def node_pod() -> tuple[int, dict[str, str]]:
        reply = consoles.ask("GET", "/getNodePod", {"xname": NODE}, JSON_BODY)
        return reply.status, reply.json()

    pod_before = node_pod()
    assert pod_before[0] == 200
    scale(tiny, ("services", "cray-console-data"), 0)
    reason = "invalid character 'o' in literal null (expecting 'u')"
    assert node_pod() == (500, {"message": f"There was an error querying console-data service: {reason}"})
    reply = consoles.ask("GET", f"/tail/{NODE}")
    assert (reply.status, reply.json()) == (404, {"message": f"Node {NODE} is not currently being monitored"})
    scale(tiny, ("services", "cray-console-data"), 1)
    assert node_pod() == pod_before


def test_a_node_stays_in_pxe_until_tftp_is_back(tiny: Site) -> None:
    scale(tiny, ("services", "cray-tftp"), 0)
    tiny.machine.power.reset(OFF, "On", "test")
    tiny.step(3600)
    assert tiny.machine.boot.stage(OFF) == "pxe"
    text = "".join(tiny.context.consoles.read(OFF, START)[0])
    assert text.count("PXE-E18: Server response timeout.") in (46, 47, 48), "once a minute, and old lines go"
    assert "iPXE 1.21" not in text
    boot_stages = [
        entry for entry in tiny.log.after(0, 10_000) if entry["what"] == "boot-stage" and entry["stage"] == "pxe"
    ]
    assert len(boot_stages) == 1
    tiny.machine.power.reset(OTHER, "ForceRestart", "test")
    scale(tiny, ("services", "cray-tftp"), 1)
    tiny.step(600)
    assert tiny.machine.boot.sends_heartbeats(OFF)
    assert tiny.machine.boot.sends_heartbeats(OTHER)
    assert "iPXE 1.21" in "".join(tiny.context.consoles.read(OFF, START)[0])


def test_nodes_boot_with_the_ipxe_that_was_built_last(tiny: Site) -> None:
    """cray-ipxe builds the binary, and puts it where cray-tftp reads it."""
    scale(tiny, ("services", "cray-ipxe-x86-64"), 0)
    tiny.machine.power.reset(OFF, "On", "test")
    tiny.step(900)
    assert tiny.machine.boot.sends_heartbeats(OFF)


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
    """BOS's status operator disables an enabled component that desires nothing."""
    bos = Service(tiny, "bos", "/v2")
    scale(tiny, ("services", "cray-bos-operator-status"), 0)
    assert bos.ask("PATCH", f"/components/{NODE}", {"enabled": True}, JSON_BODY).ok
    tiny.step(300)
    assert bos.get(f"/components/{NODE}")["enabled"] is True
    scale(tiny, ("services", "cray-bos-operator-status"), 1)
    assert bos.get(f"/components/{NODE}")["enabled"] is False
