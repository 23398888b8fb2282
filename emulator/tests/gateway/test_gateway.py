"""The service that a path belongs to, and attempts to reach another one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csm_emulator.gateway.gateway import Gateway, normalize
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import EmulatedService
from gateway.conftest import HERE, GatewayClient
from services.keycloak.administrator import administrator

FACES = [
    EmulatedService("smd", (("/apis/smd", ""),), ()),
    EmulatedService("sls", (("/apis/sls", ""),), ()),
    EmulatedService("other", (("/apis/smd/hsm/v3", "/inner"),), ()),
    EmulatedService("bss", (("/apis/bss", ""), ("/meta-data", "/meta-data")), ()),
]


@pytest.fixture
def gate(client: GatewayClient) -> Gateway:
    """A gateway with test services, and the realm of ``client``."""
    return Gateway(client.site.context, FACES)


@pytest.fixture
def admin(client: GatewayClient) -> dict[str, str]:
    return client.token("admin")


def _ask(gate: Gateway, target: str, headers: dict[str, str]) -> Any:
    return gate.answer(Call("GET", "", (), headers, b"", "192.0.2.1", HERE, target=target))


@pytest.mark.parametrize(
    ("target", "name", "path"),
    [
        ("/apis/smd/hsm/v2/groups", "smd", "/hsm/v2/groups"),
        ("/apis/smd/", "smd", "/"),
        ("/apis/smd/hsm/v3/x", "other", "/inner/x"),
        ("/apis/smd/hsm/v3", "other", "/inner"),
        ("/apis/smd/hsm/v33/x", "smd", "/hsm/v33/x"),
        ("/apis/sls/v1/dumpstate", "sls", "/v1/dumpstate"),
        ("/apis/smd/../sls/v1", "sls", "/v1"),
        ("/apis/smd/%2e%2e/sls/v1", "sls", "/v1"),
        ("/apis/smd/./hsm/.", "smd", "/hsm/"),
        ("/../../apis/sls/v1", "sls", "/v1"),
        ("\\apis\\sls\\v1".replace("\\", "/", 1), "sls", "/v1"),
        ("/apis/%73md/hsm", "smd", "/hsm"),
        ("/apis/smd//hsm/v2", "smd", "//hsm/v2"),
        ("/apis/smd/a%2Fb", "smd", "/a/b"),
        ("/apis/smd/..%2fsls/v1", "smd", "/../sls/v1"),
        ("/apis/smd/a%20b%C3%A9", "smd", "/a bé"),
        ("/meta-data", "bss", "/meta-data"),
        ("/meta-data/x", "bss", "/meta-data/x"),
    ],
)
def test_the_longest_prefix_wins_and_is_cut_off(
    gate: Gateway, admin: dict[str, str], target: str, name: str, path: str
) -> None:
    route, call = _ask(gate, target, admin)
    assert (route, call.path) == (name, path)


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/apis",
        "/apis/",
        "/apis/smd",
        "/apis/smdx/hsm",
        "/APIS/smd/hsm",
        "/apis/SMD/hsm",
        "//apis/smd/hsm",
        "/apis//smd/hsm",
        "/apis%2fsmd/hsm",
        "/apis%2Fsmd%2Fhsm",
        "/apis/smd/../nope",
        "/apis/smd/../../etc/passwd",
        "/apis/nope/x",
        "/apis/smd%00/hsm",
    ],
)
def test_a_path_without_a_route_is_envoys_404_for_every_caller(
    gate: Gateway, admin: dict[str, str], target: str
) -> None:
    for headers in ({}, admin):
        reply = _ask(gate, target, headers)
        assert (reply.status, reply.body, reply.media) == (404, b"", "")
        assert ("server", "istio-envoy") in reply.headers


@pytest.mark.parametrize("target", ["*", "apis/smd/x", "/apis/smd/x#y", "http://elsewhere/apis/smd/x", "/apis/smd/\0"])
def test_what_is_no_path_is_a_bad_request(gate: Gateway, admin: dict[str, str], target: str) -> None:
    assert _ask(gate, target, admin).status == 400


def test_what_the_service_gets(gate: Gateway, admin: dict[str, str]) -> None:
    _, call = _ask(gate, "/apis/smd/hsm/v2/groups?group=a%20b&group=&x=1%262", admin)
    assert call.query == (("group", "a b"), ("group", ""), ("x", "1&2"))
    assert call.base == f"{HERE}/apis/smd"
    assert call.peer == "192.0.2.1"


def test_a_call_without_its_target_is_taken_by_its_path(gate: Gateway, admin: dict[str, str]) -> None:
    route = gate.answer(Call("GET", "/apis/smd/hsm/v2/a b?", (("x", "1"),), admin, base=HERE))
    assert isinstance(route, tuple)
    assert (route[0], route[1].path, route[1].query) == ("smd", "/hsm/v2/a b?", (("x", "1"),))


@pytest.mark.parametrize(
    "target",
    [
        "/meta-data/../apis/smd/hsm/v2/groups",
        "/meta-data/%2e%2e/apis/smd/hsm/v2/groups",
        "/apis/smd/hsm/v2/groups?x=/meta-data",
        "/apis/smd/hsm/v2/groups?/keycloak/realms/shasta/protocol/openid-connect/token",
        "/apis/smd/vcs",
    ],
)
def test_open_paths_open_nothing_else(gate: Gateway, target: str) -> None:
    assert _ask(gate, target, {}).status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"x-envoy-decorator-operation": "nexus.nexus.svc.cluster.local:80/*"},
        {"x-envoy-original-path": "/vcs"},
        {"x-forwarded-host": "auth.cmn.acme.com"},
        {"host": "auth.cmn.acme.com"},
        {"x-original-url": "/vcs"},
        {"x-http-method-override": "GET"},
        {"cray-tenant-name": "vcluster-blue"},
        {"authorization": ""},
        {"authorization": "Bearer "},
        {"authorization": "Basic YWRtaW46YWRtaW4="},
    ],
)
def test_headers_open_nothing(gate: Gateway, headers: dict[str, str]) -> None:
    assert _ask(gate, "/apis/smd/hsm/v2/groups", headers).status == 403


def test_tenant_administrators_reach_no_service_of_this_machine(gate: Gateway, client: GatewayClient) -> None:
    headers = {**client.token("blue-admin"), "cray-tenant-name": "vcluster-blue"}
    assert _ask(gate, "/apis/smd/hsm/v2/groups", headers).status == 403


def test_an_administrator_with_an_odd_tenant_is_refused(gate: Gateway, admin: dict[str, str]) -> None:
    assert _ask(gate, "/apis/smd/hsm/v2/groups", {**admin, "cray-tenant-name": "Blue!"}).status == 403
    assert isinstance(_ask(gate, "/apis/smd/hsm/v2/groups", {**admin, "cray-tenant-name": "vcluster-blue"}), tuple)


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get"])
def test_methods_that_opa_does_not_know(client: GatewayClient, admin: dict[str, str], method: str) -> None:
    assert client.status(method, "/apis/smd/hsm/v2/groups", admin) == 403


def test_keycloak_through_the_gateway(client: GatewayClient) -> None:
    """The paths that OPA opens, and the pages for devices."""
    realm = "/keycloak/realms/shasta"
    assert client.status("GET", f"{realm}/protocol/openid-connect/certs") == 0
    assert client.status("POST", f"{realm}/protocol/openid-connect/auth/device") == 0
    assert client.status("GET", f"{realm}/device?user_code=ABCD-EFGH") == 0
    assert client.status("POST", f"{realm}/login-actions/consent") == 0
    assert client.status("GET", realm) == 403
    assert client.status("POST", f"{realm}/protocol/openid-connect/revoke") == 403
    assert client.status("GET", f"{realm}/protocol/openid-connect/token/../../../../../admin/realms") == 403
    assert client.status("GET", realm, {"host": "auth.cmn.acme.com"}) == 0
    assert client.status("GET", realm, client.token("admin")) == 0


def test_the_administration_of_keycloak_looks_at_tokens_itself(client: GatewayClient) -> None:
    login, groups = "/keycloak/realms/master/protocol/openid-connect/token", "/keycloak/admin/realms/shasta/groups"
    assert client.status("POST", login) == 0
    assert client.status("GET", groups) == 0
    assert client.site.ask(*client.find("GET", groups)).status == 401
    assert client.site.ask(*client.find("GET", groups, client.token("admin"))).status == 403
    assert client.status("GET", "/keycloak/realms/master") == 403
    assert client.status("GET", "/keycloak/admin/realms/master/users") == 403


def test_tokens_of_master_are_for_the_administration_alone(client: GatewayClient) -> None:
    token = administrator(client.site).headers["Authorization"]
    headers = {"authorization": token}
    assert client.site.ask(*client.find("GET", "/keycloak/admin/realms/shasta/groups", headers)).status == 200
    assert client.status("GET", "/apis/smd/hsm/v2/groups", headers) == 403


def test_the_side_channel_of_keycloak_is_no_path_of_the_gateway(client: GatewayClient) -> None:
    admin = client.token("admin")
    for target in ("/keycloak/../side/mint", "/keycloak/side/mint", "/side/mint"):
        route = client.find("POST", target, admin)
        assert route.status == 404 if isinstance(route, Reply) else client.site.ask(*route).status == 404


@pytest.mark.parametrize("claimed", [None, "10.100.0.10", "10.100.0.10, 10.100.0.11"])
def test_a_caller_cannot_forge_its_address(gate: Gateway, claimed: str | None) -> None:
    _, call = _ask(gate, "/meta-data", {} if claimed is None else {"x-forwarded-for": claimed})
    assert call.headers["x-forwarded-for"].split(",")[-1] == "192.0.2.1"


def test_replies_are_envoys(client: GatewayClient) -> None:
    reply = Reply(200, b"x", "text/plain", (("Server", "nginx"), ("etag", "1")))
    decorated = client.gateway.decorate(reply, 0.0127)
    assert decorated.headers == (("etag", "1"), ("x-envoy-upstream-service-time", "12"), ("server", "istio-envoy"))
    assert (decorated.status, decorated.body) == (200, b"x")


@given(st.text(alphabet="/.%2eEfF\\abA5c~", max_size=40))
def test_normal_paths_stay_as_they_are(text: str) -> None:
    once = normalize(f"/{text}")
    assert once.startswith("/")
    assert not {".", ".."} & set(once.split("/"))


@given(st.binary(max_size=60))
def test_any_target_gets_an_answer(data: bytes) -> None:
    gate = Gateway.__new__(Gateway)
    gate._mounts = []
    assert isinstance(gate.answer(Call("GET", "", target=data.decode("latin-1"))), Reply)
