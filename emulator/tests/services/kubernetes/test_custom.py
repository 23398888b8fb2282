"""Custom resources: schemas, versions, status, definitions that a client makes, sub-namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from service_client import Spy
from services.kubernetes.api import HOOKS, TENANTS, Api
from services.kubernetes.webhooks import allowing

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/x.example.com/v1/namespaces/user/widgets"
SPEC: Any = {
    "childnamespaces": ["user"],
    "tenantname": "vcluster-red",
    "tenantresources": [{"type": "compute", "xnames": ["x1000c0s0b0n0"], "enforceexclusivehsmgroups": True}],
}


@pytest.fixture
def spy(api: Api) -> Spy:
    spy = Spy(api.site)
    spy.instead["tapms"] = allowing()
    return spy


def widget_definition(**version: Any) -> Any:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    return {
        "spec": {
            "group": "x.example.com",
            "names": {"plural": "widgets", "kind": "Widget", "singular": "widget"},
            "scope": "Namespaced",
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
            ],
        }
    }


def test_unknown_fields_go_and_defaults_come(api: Api, spy: Spy) -> None:
    tenant = api.create(TENANTS, "t", spec={**SPEC, "tenantkms": {"enablekms": True}, "nonsense": 1})
    assert "nonsense" not in tenant["spec"]
    assert tenant["spec"]["tenantkms"] == {"enablekms": True, "keyname": "key1", "keytype": "rsa-3072"}
    assert tenant["spec"]["tenanthooks"] == []


def test_errors_name_the_field(api: Api, spy: Spy) -> None:
    body = {"metadata": {"name": "t"}, "spec": {"tenantname": 5, "childnamespaces": [], "tenantresources": [{}]}}
    status = api.ask("POST", TENANTS, body).json()
    assert (status["code"], status["reason"], status["details"]["kind"]) == (422, "Invalid", "Tenant")
    assert 'Tenant.tapms.hpe.com "t" is invalid: [' in status["message"]
    wrong = 'spec.tenantname: Invalid value: "integer": spec.tenantname in body must be of type string: "integer"'
    assert wrong in status["message"]
    assert "spec.tenantresources[0].type: Required value" in status["message"]
    fields = {cause["field"] for cause in status["details"]["causes"]}
    assert {"spec.tenantname", "spec.tenantresources[0].xnames"} <= fields
    assert spy.calls == []


def test_a_strict_client_gets_errors_for_unknown_fields(api: Api) -> None:
    body = {"metadata": {"name": "h"}, "spec": {"ulr": "x"}}
    assert api.message("POST", f"{HOOKS}?fieldValidation=Strict", body) == (
        '400 BadRequest: GlobalTenantHook in version "v1alpha3" cannot be handled as a GlobalTenantHook: '
        'strict decoding error: unknown field "spec.ulr"'
    )
    assert api.ask("POST", HOOKS, body).status == 201


def test_tenants_in_three_versions(api: Api, spy: Spy) -> None:
    hooks = [{"name": "h", "url": "http://h", "blockingcall": False}]
    api.create(TENANTS, "t", spec={**SPEC, "tenantkms": {}, "tenanthooks": hooks})
    first = api.get(TENANTS.replace("v1alpha3", "v1alpha1") + "/t")
    assert first["apiVersion"] == "tapms.hpe.com/v1alpha1"
    assert set(first["spec"]) == {"childnamespaces", "tenantname", "tenantresources"}
    second = api.get(TENANTS.replace("v1alpha3", "v1alpha2") + "/t")
    assert "tenantkms" in second["spec"]
    assert "tenanthooks" not in second["spec"]
    assert api.get(f"{TENANTS}/t")["spec"]["tenanthooks"] == hooks


def test_forcepoweroff_is_of_v1alpha2_alone(api: Api, spy: Spy) -> None:
    resource = {**SPEC["tenantresources"][0], "forcepoweroff": True}
    api.create(TENANTS.replace("v1alpha3", "v1alpha2"), "t", spec={**SPEC, "tenantresources": [resource]})
    assert "forcepoweroff" not in api.get(f"{TENANTS}/t")["spec"]["tenantresources"][0]
    reviewed_object = spy.calls[-1][3]["request"]["object"]
    assert reviewed_object["apiVersion"] == "tapms.hpe.com/v1alpha3"


def test_the_status_is_changed_by_its_subresource_alone(api: Api, spy: Spy) -> None:
    api.create(TENANTS, "t", spec=SPEC, status={"uuid": "no"})
    assert "status" not in api.get(f"{TENANTS}/t")
    tenant = api.patch(f"{TENANTS}/t/status", {"status": {"uuid": "yes"}, "spec": {"state": "no"}}).json()
    assert (tenant["status"], "state" in tenant["spec"]) == ({"uuid": "yes"}, False)
    assert tenant["metadata"]["generation"] == 1
    changed = api.patch(f"{TENANTS}/t", {"status": {"uuid": "no"}, "spec": {"state": "New"}}).json()
    assert (changed["status"], changed["spec"]["state"]) == ({"uuid": "yes"}, "New")
    assert changed["metadata"]["generation"] == 2


def test_an_update_of_a_custom_resource_names_its_version(api: Api) -> None:
    api.create(HOOKS, "h")
    assert api.message("PUT", f"{HOOKS}/h", {"metadata": {"name": "h"}}) == (
        '422 Invalid: GlobalTenantHook.tapms.hpe.com "h" is invalid: metadata.resourceVersion: Invalid value: 0x0: '
        "must be specified for an update"
    )


def test_a_client_defines_a_resource_of_its_own(api: Api) -> None:
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    api.create(CRDS, "widgets.x.example.com", **widget_definition(additionalPrinterColumns=columns))
    definition = api.get(f"{CRDS}/widgets.x.example.com")
    assert [condition["type"] for condition in definition["status"]["conditions"]] == ["NamesAccepted", "Established"]
    assert api.get("/apis/x.example.com/v1")["resources"][0]["name"] == "widgets"
    api.create(WIDGETS, "w", spec={"size": 3})
    api.step(90)
    assert api.rows(WIDGETS) == (["Name", "Size", "Since"], [["w", 3, "90s"]])
    wrong = api.message("POST", WIDGETS, {"metadata": {"name": "v"}, "spec": {"size": "big"}})
    assert wrong.startswith('422 Invalid: Widget.x.example.com "v" is invalid: spec.size: Invalid value: "string"')
    api.ask("DELETE", f"{CRDS}/widgets.x.example.com")
    assert api.ask("GET", WIDGETS).status == 404
    api.create(CRDS, "widgets.x.example.com", **widget_definition())
    assert api.names(WIDGETS) == []


@pytest.mark.parametrize(
    "broken",
    [
        {"spec": {}},
        {"spec": {**widget_definition()["spec"], "versions": []}},
        {"spec": {**widget_definition()["spec"], "versions": [{"name": 1}]}},
        {"spec": {**widget_definition()["spec"], "names": []}},
        {"spec": {**widget_definition()["spec"], "scope": "Everywhere"}},
        {"spec": {**widget_definition()["spec"], "group": "other.example.com"}},
        widget_definition(storage=False),
        widget_definition(schema={"openAPIV3Schema": []}),
        widget_definition(additionalPrinterColumns=[{"name": "x"}]),
    ],
)
def test_definitions_that_make_no_sense_are_refused(api: Api, broken: Any) -> None:
    body = {"metadata": {"name": "widgets.x.example.com"}, **broken}
    assert api.ask("POST", CRDS, body).status in (400, 422)
    assert api.ask("GET", "/apis").status == 200


def test_an_anchor_makes_a_namespace_and_takes_it_away(api: Api) -> None:
    anchors = "/apis/hnc.x-k8s.io/v1alpha2/namespaces/tenants/subnamespaceanchors"
    api.create(anchors, "vcluster-red")
    assert "vcluster-red" not in api.names("/api/v1/namespaces")
    api.step(2)
    child = api.get("/api/v1/namespaces/vcluster-red")
    assert child["metadata"]["annotations"] == {"hnc.x-k8s.io/subnamespace-of": "tenants"}
    assert api.get(f"{anchors}/vcluster-red")["status"] == {"status": "Ok"}
    api.create(anchors.replace("/tenants/", "/vcluster-red/"), "vcluster-red-user")
    assert "is not a leaf and doesn't allow cascading deletion" in api.message("DELETE", f"{anchors}/vcluster-red")
    api.ask("DELETE", anchors.replace("/tenants/", "/vcluster-red/") + "/vcluster-red-user")
    api.create(anchors, "services")
    api.step(2)
    assert api.get(f"{anchors}/services")["status"] == {"status": "Conflict"}
    for name in ("vcluster-red", "services"):
        api.ask("DELETE", f"{anchors}/{name}")
    api.step(5)
    assert "vcluster-red" not in api.names("/api/v1/namespaces")
    assert "services" in api.names("/api/v1/namespaces")
