"""TAPMS's views of tenants."""

from __future__ import annotations

from service_client import GARBAGE
from services.tapms.tenants_client import BLUE, GREEN, OTHER_GROUP, Tapms

PATH = "/v1alpha3/tenants"


def test_without_tenants(tapms: Tapms) -> None:
    assert tapms.get(PATH) == {"metadata": {}, "items": []}
    assert tapms.ask("POST", PATH, ["x1"]).json() == {"metadata": {}, "items": None}


def test_a_new_tenant_in_go_s_shape(tapms: Tapms) -> None:
    tapms.create()
    (tenant,) = tapms.get(PATH)["items"]
    assert (tenant["kind"], tenant["apiVersion"]) == ("Tenant", "tapms.hpe.com/v1alpha3")
    assert tenant["status"] == {"tenantkms": {}}
    assert tenant["spec"] == {
        "tenantname": BLUE,
        "state": "New",
        "childnamespaces": ["slurm", "user"],
        "tenantresources": [tapms.resource()],
        "tenantkms": {"enablekms": False, "keyname": "", "keytype": ""},
        "tenanthooks": [],
    }


def test_one_by_name_or_uuid(tapms: Tapms) -> None:
    tenant = tapms.deploy()
    view = tapms.get(f"{PATH}/{BLUE}")
    assert view["status"]["tenantresources"] == tenant["spec"]["tenantresources"]
    assert tapms.get(f"{PATH}/{tenant['status']['uuid']}") == view
    assert tapms.get(PATH)["items"] == [view]
    reply = tapms.ask("GET", f"{PATH}/missing")
    assert (reply.status, reply.json()) == (404, "Tenant with name/uuid 'missing' not found.")


def test_the_tenant_of_a_node(tapms: Tapms) -> None:
    tapms.deploy()
    third = tapms.nodes()[2]
    tapms.deploy(GREEN, tenantresources=[tapms.resource(third, hsmgrouplabel=OTHER_GROUP)])

    def owners(*xnames: str) -> list[str]:
        items = tapms.ask("POST", PATH, list(xnames)).json()["items"] or []
        return [tenant["spec"]["tenantname"] for tenant in items]

    assert owners(tapms.nodes()[0], "x9") == [BLUE]
    assert owners(third) == [GREEN]
    assert owners(third, *tapms.nodes()) == [BLUE, GREEN]
    assert owners("x9") == owners() == []


def test_garbage(tapms: Tapms) -> None:
    for body in GARBAGE:
        reply = tapms.ask("POST", PATH, body)
        if body in (b"null", b"[]"):
            assert (reply.status, reply.json()["items"]) == (200, None)
        else:
            assert (reply.status, reply.media) == (400, "text/plain; charset=utf-8")
            assert reply.json()["message"]


def test_errors_of_go(tapms: Tapms) -> None:
    assert tapms.ask("POST", PATH, b"").json() == {"message": "EOF"}
    message = tapms.ask("POST", PATH, b"{}").json()["message"]
    assert message == "json: cannot unmarshal object into Go value of type []string"


def test_kubernetes_is_away(tapms: Tapms) -> None:
    tapms.break_("server-error", "kubernetes")
    for method, path in (("GET", PATH), ("GET", f"{PATH}/x"), ("POST", PATH)):
        reply = tapms.ask(method, path, [] if method == "POST" else None)
        assert reply.status == 500
        assert reply.json()["message"].startswith("failed to get tenant list: ")


def test_other_paths(tapms: Tapms) -> None:
    for method, path in (("GET", "/"), ("DELETE", PATH), ("PUT", f"{PATH}/x"), ("GET", "/v1alpha2/tenants")):
        reply = tapms.ask(method, path)
        assert (reply.status, reply.json()) == (404, {"message": "Page not found"})
    moved = tapms.ask("GET", f"{PATH}/")
    assert (moved.status, dict(moved.headers)["Location"]) == (301, PATH)
