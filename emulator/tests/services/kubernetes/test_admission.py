"""The API server asks TAPMS's webhooks before it stores a tenant."""

from __future__ import annotations

import base64
import json

import pytest

from csm_emulator.transport.call import Call, Reply
from service_client import Spy
from services.kubernetes.api import HOOKS, TENANTS, Api
from services.kubernetes.test_custom import SPEC
from services.kubernetes.webhooks import allowing, answering

MUTATE, VALIDATE = "/mutate-tapms-hpe-com-v1alpha3-tenant", "/validate-tapms-hpe-com-v1alpha3-tenant"


@pytest.fixture
def spy(api: Api) -> Spy:
    spy = Spy(api.site)
    spy.instead["tapms"] = allowing()
    return spy


def test_both_webhooks_see_what_is_to_be_kept(api: Api, spy: Spy) -> None:
    api.create(TENANTS, "t", spec=SPEC)
    assert [(service, path) for service, _, path, _ in spy.calls] == [("tapms", MUTATE), ("tapms", VALIDATE)]
    review = spy.calls[1][3]
    assert (review["kind"], review["apiVersion"]) == ("AdmissionReview", "admission.k8s.io/v1")
    request = review["request"]
    assert (request["operation"], request["name"], request["namespace"]) == ("CREATE", "t", "tenants")
    assert request["object"]["spec"]["tenantname"] == "vcluster-red"
    assert request["oldObject"] is None
    assert request["dryRun"] is False
    assert request["object"]["metadata"]["uid"]


def test_changes_and_deletions_are_asked_for_too(api: Api, spy: Spy) -> None:
    api.create(TENANTS, "t", spec=SPEC)
    spy.calls.clear()
    api.patch(f"{TENANTS}/t", {"spec": {"state": "x"}})
    update = spy.calls[-1][3]["request"]
    assert (update["operation"], update["object"]["spec"]["state"]) == ("UPDATE", "x")
    assert "state" not in update["oldObject"]["spec"]
    spy.calls.clear()
    api.patch(f"{TENANTS}/t/status", {"status": {"uuid": "1"}})
    assert spy.calls == []
    api.ask("DELETE", f"{TENANTS}/t")
    assert [(path, body["request"]["operation"]) for _, _, path, body in spy.calls] == [(VALIDATE, "DELETE")]
    assert spy.calls[0][3]["request"]["object"] is None
    assert api.names(TENANTS) == []


def test_a_denial_is_passed_on_to_the_client(api: Api, spy: Spy) -> None:
    spy.instead["tapms"] = answering(allowed=False, status={"code": 403, "reason": "xname x9 is not a node"})
    body = {"metadata": {"name": "t"}, "spec": SPEC}
    status = api.ask("POST", TENANTS, body).json()
    assert status["code"] == 403
    assert status["message"] == 'admission webhook "mtenant.kb.io" denied the request: xname x9 is not a node'
    assert api.names(TENANTS) == []
    spy.instead["tapms"] = answering(allowed=False)
    assert api.ask("POST", TENANTS, body).json()["message"].endswith("denied the request without explanation")


def test_a_denied_deletion_leaves_the_tenant(api: Api, spy: Spy) -> None:
    api.create(TENANTS, "t", spec=SPEC)
    spy.instead["tapms"] = answering(allowed=False, status={"code": 403, "message": "a hook says no"})
    assert api.message("DELETE", f"{TENANTS}/t") == (
        '403 None: admission webhook "vtenant.kb.io" denied the request: a hook says no'
    )
    assert api.names(TENANTS) == ["t"]


def test_without_tapms_no_tenant_is_kept(api: Api, spy: Spy) -> None:
    spy.instead["tapms"] = Reply(503)
    message = api.message("POST", TENANTS, {"metadata": {"name": "t"}, "spec": SPEC})
    assert message.startswith(
        '500 InternalError: Internal error occurred: failed calling webhook "mtenant.kb.io": failed to call webhook: '
        'Post "https://tapms-webhook-service.tapms-operator.svc:443/mutate-tapms-hpe-com-v1alpha3-tenant?timeout=30s": '
    )
    assert api.names(TENANTS) == []
    assert api.ask("POST", HOOKS, {"metadata": {"name": "h"}}).status == 201
    for nonsense in (b"", b"[]", b'{"response":1}', b"{"):
        spy.instead["tapms"] = Reply(200, nonsense)
        assert api.ask("POST", TENANTS, {"metadata": {"name": "t"}, "spec": SPEC}).status == 500


def test_the_mutating_webhook_changes_the_tenant(api: Api, spy: Spy) -> None:
    patch = base64.b64encode(json.dumps([{"op": "add", "path": "/spec/state", "value": "New"}]).encode()).decode()
    real = api.site.mesh._ask

    def ask(service: str, call: Call) -> Reply:
        return allowing(patch=patch, patchType="JSONPatch") if call.path == MUTATE else real(service, call)

    api.site.mesh._ask = ask
    assert api.create(TENANTS, "t", spec=SPEC)["spec"]["state"] == "New"
    assert spy.calls[-1][3]["request"]["object"]["spec"]["state"] == "New"


def test_a_dry_run_is_marked_in_the_review(api: Api, spy: Spy) -> None:
    api.ask("POST", f"{TENANTS}?dryRun=All", {"metadata": {"name": "t"}, "spec": SPEC})
    assert spy.calls[-1][3]["request"]["dryRun"] is True
    assert api.names(TENANTS) == []
