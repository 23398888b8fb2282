"""Tenants that are refused, and the hooks that are called for the others."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from csm_emulator.transport.call import JSON, Call, Reply
from service_client import GARBAGE, Spy
from services.tapms.tenants_client import BLUE, GREEN, OTHER_GROUP, PATH, Tapms

VALIDATE, MUTATE = "/validate-tapms-hpe-com-v1alpha3-tenant", "/mutate-tapms-hpe-com-v1alpha3-tenant"
DENIED = 'admission webhook "vtenant.kb.io" denied the request: '


def why(reply: Reply) -> str:
    assert reply.status == 403, reply.body
    message = str(reply.json()["message"])
    assert message.startswith(DENIED)
    return message.removeprefix(DENIED)


def test_nodes_of_another_role(tapms: Tapms) -> None:
    compute, application = tapms.nodes()[0], tapms.nodes("Application")[0]
    message = why(tapms.create(tenantresources=[tapms.resource(compute, application, "x9c0s0b0n0")]))
    wrong = f"[{application} x9c0s0b0n0]"
    assert message == f"the following xname(s) do not have type Node and role Compute: {wrong}"
    message = why(tapms.create(tenantresources=[tapms.resource(compute, type="application")]))
    assert message == f"the following xname(s) do not have type Node and role Application: [{compute}]"
    assert tapms.tenant() is None
    tapms.step(60)
    assert tapms.group() is None


def test_a_node_belongs_to_one(tapms: Tapms) -> None:
    tapms.deploy()
    first, second, third = tapms.nodes()[:3]
    mine = tapms.resource(first, third, second, hsmgrouplabel=OTHER_GROUP)
    message = why(tapms.create(GREEN, tenantresources=[mine]))
    assert message == f"the following xname(s): '[{first} {second}]' already exist in an exclusive hsm group"
    assert tapms.create(GREEN, tenantresources=[{**mine, "enforceexclusivehsmgroups": False}]).status == 201


def test_exclusive_stays_exclusive(tapms: Tapms) -> None:
    tapms.deploy()
    reply = tapms.change(tenantresources=[tapms.resource(enforceexclusivehsmgroups=False)])
    assert why(reply) == "EnforceExclusiveHsmGroups field is immutable"


def test_hsm_is_away(tapms: Tapms) -> None:
    tapms.deploy()
    tapms.break_("server-error", "smd")
    assert why(tapms.change(childnamespaces=["x"])) == "HSM returned a non-200 response listing components"


def hook(url: str, *events: str, blocks: bool = False) -> dict[str, Any]:
    return {"name": "h", "url": url, "blockingcall": blocks, "eventtypes": list(events)}


def test_external_hooks_are_called(tapms: Tapms) -> None:
    url = "http://127.0.0.1:9/hook"
    assert tapms.create(tenanthooks=[hook(url, "CREATE", "DELETE", blocks=True)]).status == 201
    (where, body), *more = tapms.sent
    assert (where, body["eventtype"], more) == (url, "CREATE", [])
    assert body["tenantspec"]["tenantname"] == BLUE
    assert body["tenantspec"]["state"] == "New"
    tapms.until("Deployed")
    tapms.delete()
    assert [body["eventtype"] for _, body in tapms.sent] == ["CREATE", "DELETE"]


def test_hooks_see_the_operators_own_updates(tapms: Tapms) -> None:
    tapms.deploy(tenanthooks=[hook("http://127.0.0.1:9/", "UPDATE")])
    assert [body["tenantspec"]["state"] for _, body in tapms.sent] == ["Deploying", "Deployed"]


def test_hooks_for_all(tapms: Tapms) -> None:
    body = {
        "apiVersion": "tapms.hpe.com/v1alpha3",
        "kind": "GlobalTenantHook",
        "metadata": {"name": "all"},
        "spec": hook("http://127.0.0.1:9/all", "CREATE"),
    }
    reply = tapms.kubernetes("POST", f"{PATH}/globaltenanthooks", body)
    assert reply.status == 201, reply.body
    assert tapms.create().status == 201
    assert [url for url, _ in tapms.sent] == ["http://127.0.0.1:9/all"]


def test_a_service_of_the_cluster_may_refuse(tapms: Tapms) -> None:
    spy = Spy(tapms.site)
    spy.instead["guard"] = Reply(409)
    url = "http://cray-guard.services.svc.cluster.local/ask?a=b"
    message = why(tapms.create(tenanthooks=[hook(url, "CREATE", blocks=True)]))
    assert message == f"Blocking call to 'h' hook at url {url} returned a non-200 response code: 409"
    assert spy.bodies("/ask")[0]["eventtype"] == "CREATE"
    assert tapms.tenant() is None
    assert tapms.create(tenanthooks=[hook(url, "CREATE")]).status == 201
    spy.instead["guard"] = Reply(204)
    assert tapms.create(GREEN, tenantresources=[], tenanthooks=[hook(url, "CREATE", blocks=True)]).status == 201


def test_a_deletion_may_be_refused(tapms: Tapms) -> None:
    spy = Spy(tapms.site)
    spy.instead["guard"] = Reply(500)
    tapms.deploy(tenanthooks=[hook("http://cray-guard/x", "DELETE", blocks=True)])
    assert "returned a non-200 response code: 500" in why(tapms.delete())
    tapms.step(60)
    assert tapms.state() == "Deployed"


def test_events_that_there_are_not(tapms: Tapms) -> None:
    message = why(tapms.create(tenanthooks=[hook("http://127.0.0.1:9/", "RENAME")]))
    assert message == "EventType 'RENAME' is not supported, must be one of: [CREATE UPDATE DELETE]"


def test_what_is_no_url_is_refused_even_for_a_notice(tapms: Tapms) -> None:
    for url in ("http://[", "http://127.0.0.1:x/"):
        message = why(tapms.create(tenanthooks=[hook(url, "CREATE")]))
        assert message.startswith(f'parse "{url}": ')
    assert tapms.sent == []


def test_only_whole_names_are_services_of_the_cluster(tapms: Tapms) -> None:
    urls = ["", "nonsense", "http://cray-", "http://cray-guard.elsewhere/", "\ud800"]
    for number, url in enumerate(urls):
        assert tapms.create(f"t{number}", tenantresources=[], tenanthooks=[hook(url, "CREATE")]).status == 201
    assert [url for url, _ in tapms.sent] == urls


def review(tapms: Tapms, path: str, body: Any) -> Any:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    reply = tapms.site.ask("tapms", Call("POST", path, headers={"content-type": JSON}, body=data))
    assert reply.status == 200
    return reply.json()["response"]


def of(operation: str, tenant: Any, **more: Any) -> Any:
    request = {"uid": "7", "operation": operation, "object": tenant, "oldObject": tenant, **more}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def test_a_review(tapms: Tapms) -> None:
    tenant = {"metadata": {"name": "t"}, "spec": {"tenantname": "t"}}
    assert review(tapms, VALIDATE, of("CREATE", tenant)) == {
        "uid": "7",
        "allowed": True,
        "status": {"metadata": {}, "code": 200},
    }
    answer = review(tapms, MUTATE, of("CREATE", tenant))
    assert (answer["uid"], answer["allowed"], answer["patchType"]) == ("7", True, "JSONPatch")
    assert json.loads(base64.b64decode(answer["patch"])) == [{"op": "add", "path": "/spec/state", "value": "New"}]


@pytest.mark.parametrize("path", [VALIDATE, MUTATE])
def test_garbage(tapms: Tapms, path: str) -> None:
    for body in GARBAGE:
        assert review(tapms, path, body)["allowed"] is False


def test_tenants_that_are_none(tapms: Tapms) -> None:
    for tenant in (
        None,
        5,
        {},
        {"metadata": {"name": 5}, "spec": {}},
        {"metadata": {"name": "t"}},
        {"metadata": {"name": "t"}, "spec": {"tenantresources": 5}},
        {"metadata": {"name": "t"}, "spec": {"tenantresources": [5]}},
        {"metadata": {"name": "t"}, "spec": {"tenantresources": [{"type": [], "xnames": []}]}},
        {"metadata": {"name": "t"}, "spec": {"tenantresources": [{"type": "compute", "xnames": [{}]}]}},
        {"metadata": {"name": "t"}, "spec": {"tenanthooks": [{"url": 5}]}},
        {"metadata": {"name": "t"}, "spec": {"childnamespaces": [5]}},
        {"metadata": {"name": "t"}, "spec": {}, "status": 5},
    ):
        for path in (VALIDATE, MUTATE):
            answer = review(tapms, path, of("CREATE", tenant))
            assert (answer["allowed"], answer["status"]["code"]) == (False, 400), tenant


def test_a_dry_run_changes_nothing(tapms: Tapms) -> None:
    tenant = {"metadata": {"name": "t"}, "spec": {"tenantname": "t"}}

    def is_planned() -> bool:
        return any(kind == "tapms.reconcile" for _, kind, _ in tapms.site.scheduler._table.values())

    assert review(tapms, VALIDATE, of("CREATE", tenant, dryRun=True))["allowed"]
    assert not is_planned()
    assert review(tapms, VALIDATE, of("CREATE", tenant))["allowed"]
    assert is_planned()


def test_the_gateway_does_not_lead_there(tapms: Tapms) -> None:
    call = Call("POST", VALIDATE, body=b"{}", base="https://localhost:8443/apis/tapms")
    reply = tapms.site.ask("tapms", call)
    assert (reply.status, reply.json()) == (404, {"message": "Page not found"})
