"""API discovery, authentication, and content negotiation."""

from __future__ import annotations

import base64

import yaml

from csm_emulator.seed_data import repositories
from csm_emulator.site import Site
from services.kubernetes.api import MAPS, TENANTS, Api

ADMINISTRATOR = "kubernetes-admin"


def test_groups_and_their_resources(api: Api) -> None:
    assert api.get("/api")["versions"] == ["v1"]
    groups = {group["name"]: group for group in api.get("/apis")["groups"]}
    assert groups["tapms.hpe.com"]["preferredVersion"]["version"] == "v1alpha3"
    assert [version["version"] for version in groups["tapms.hpe.com"]["versions"]] == [
        "v1alpha3",
        "v1alpha2",
        "v1alpha1",
    ]
    assert api.get("/apis/apps")["kind"] == "APIGroup"
    core = {resource["name"]: resource for resource in api.get("/api/v1")["resources"]}
    assert core["pods"]["shortNames"] == ["po"]
    assert {"pods/log", "pods/exec", "pods/attach", "namespaces", "nodes", "secrets"} <= set(core)
    scale = next(
        resource for resource in api.get("/apis/apps/v1")["resources"] if resource["name"] == "deployments/scale"
    )
    assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")
    for path in ("/apis/nothing", "/apis/apps/v9", "/api/v2", "/nonsense"):
        assert api.ask("GET", path).status == 404


def test_who_may_ask(api: Api) -> None:
    for path in ("/version", "/healthz", "/livez", "/readyz"):
        assert api.as_user("GET", path).status == 200
    refused = api.as_user("GET", "/api/v1/pods")
    assert (refused.status, refused.json()["message"]) == (401, "Unauthorized")
    assert api.as_user("GET", "/api/v1/pods", ADMINISTRATOR).status == 200
    assert api.as_user("GET", "/apis", "alice").status == 200


def test_others_hear_what_they_may_not(api: Api) -> None:
    def message_of(method: str, path: str) -> str:
        reply = api.as_user(method, path, "bea")
        assert (reply.status, reply.json()["reason"]) == (403, "Forbidden")
        return str(reply.json()["message"])

    assert message_of("GET", "/api/v1/pods") == (
        'pods is forbidden: User "bea" cannot list resource "pods" in API group "" at the cluster scope'
    )
    assert message_of("GET", f"{TENANTS}/t") == (
        'tenants.tapms.hpe.com "t" is forbidden: User "bea" cannot get resource "tenants" in API group "tapms.hpe.com" '
        'in the namespace "tenants"'
    )
    assert 'cannot create resource "pods/exec"' in message_of("POST", "/api/v1/namespaces/services/pods/p/exec")
    assert "cannot watch resource" in message_of("GET", "/api/v1/pods?watch=true")
    assert "cannot deletecollection resource" in message_of("DELETE", MAPS)
    assert message_of("GET", "/metrics") == 'forbidden: User "bea" cannot get path "/metrics"'


def test_a_service_account_comes_with_its_token(api: Api) -> None:
    data = api.get("/api/v1/namespaces/services/secrets/default-token")["data"]
    token = base64.b64decode(data["token"]).decode()
    reply = api.as_user("GET", "/api/v1/pods", authorization=f"Bearer {token}")
    assert 'User "system:serviceaccount:services:default" cannot list' in reply.json()["message"]
    annotations = {"kubernetes.io/service-account.name": "robot"}
    secret = api.create(
        "/api/v1/namespaces/user/secrets",
        "robot-token",
        type="kubernetes.io/service-account-token",
        metadata={"annotations": annotations},
    )
    own = base64.b64decode(secret["data"]["token"]).decode()
    reply = api.as_user("GET", "/api/v1/pods", authorization=f"Bearer {own}")
    assert 'User "system:serviceaccount:user:robot" cannot list' in reply.json()["message"]
    for wrong in ("", "x", token + "x"):
        assert api.as_user("GET", "/api/v1/pods", authorization=f"Bearer {wrong}").status == 401


def test_a_client_asks_what_it_may(api: Api) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert api.ask("POST", path, {"spec": {}}).json()["status"] == {"allowed": True}
    assert api.ask("POST", path, b"[]").status == 400


def test_tables_and_metadata_only(api: Api) -> None:
    api.create(MAPS, "one", data={"a": "b", "c": "d"})
    api.step(3 * 3600 + 60)
    assert api.rows(MAPS) == (["Name", "Data", "Age"], [["one", 2, "3h1m"]])
    partial = {"accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
    metadata_list = api.ask("GET", MAPS, headers=partial).json()
    assert metadata_list["kind"] == "PartialObjectMetadataList"
    assert "data" not in metadata_list["items"][0]
    for path in ("/api/v1/pods", "/api/v1/nodes", "/api/v1/services", "/apis/apps/v1/statefulsets", "/api/v1/secrets"):
        columns, rows = api.rows(path)
        assert rows
        assert all(len(cells) == len(columns) for cells in rows)


def test_swagger_names_the_custom_kinds(api: Api) -> None:
    swagger = api.get("/openapi/v2")
    tenant = swagger["definitions"]["com.hpe.tapms.v1alpha3.Tenant"]
    assert tenant["x-kubernetes-group-version-kind"][0]["kind"] == "Tenant"
    assert tenant["properties"]["spec"]["required"] == ["childnamespaces", "tenantname", "tenantresources"]
    headers = {"accept": "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}
    reply = api.ask("GET", "/openapi/v2", headers=headers)
    assert "@" not in reply.media
    assert reply.body.startswith(b"\x0a\x032.0")
    assert b"com.hpe.tapms.v1alpha3.Tenant" in reply.body


def test_the_catalog_names_what_vcs_and_ims_have(tiny: Site) -> None:
    data = Api(tiny).get("/api/v1/namespaces/services/configmaps/cray-product-catalog")["data"]
    csm = yaml.safe_load(data["csm"])["1.6.1"]
    product = next(entry for entry in repositories.PRODUCTS if entry.name == "csm")
    assert csm["configuration"]["commit"] == repositories.commit_of(product.repository, product.import_branch)
    images = {entry["id"] for entry in tiny.mesh.ask("ims", "GET", "/v3/images").json()}
    versions = {
        image["id"]
        for text in data.values()
        for entry in yaml.safe_load(text).values()
        for image in entry.get("images", {}).values()
    }
    assert versions
    assert versions <= images
