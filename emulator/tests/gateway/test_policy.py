"""The cases of cray-opa's own tests (tests/opa/*_test.rego.tpl): the role that may call each path."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csm_emulator.gateway.policy import Allow, decide

KEYCLOAK = "https://api-gw-service-nmn.local/keycloak/realms/shasta"
SPIRE = "http://spire.local/shasta/vshastaio"
BLUE = {"cray-tenant-name": "vcluster-blue"}
FABRIC = "/apis/fabric-manager/fabric/agents/x0c0r0b0"
COMPONENTS = "/apis/smd/hsm/v2/State/Components"
OIDC = "/keycloak/realms/shasta/protocol/openid-connect"


def _shasta(role: str) -> dict[str, Any]:
    return {"iss": KEYCLOAK, "resource_access": {"shasta": {"roles": [role]}}}


def _slingshot(role: str) -> dict[str, Any]:
    return {"iss": KEYCLOAK, "resource_access": {"system-slingshot-client": {"roles": [role]}}}


def _node(place: str, workload: str) -> dict[str, Any]:
    return {"iss": SPIRE, "sub": f"spiffe://shasta/{place}/workload/{workload}"}


TENANT = {
    "iss": KEYCLOAK,
    "realm_access": {"roles": ["tenant-admin"]},
    "groups": ["vcluster-blue-tenant-admin"],
}
WHO: dict[str, dict[str, Any] | None] = {
    "anonymous": None,
    "tenant-admin": TENANT,
    **{role: _shasta(role) for role in ("admin", "user", "wlm", "ckdump", "monitor-ro", "system-pxe")},
    **{role: _shasta(role) for role in ("system-compute", "system-nexus", "system-slingshot")},
    **{f"slingshot-{role}": _slingshot(f"slingshot-{role}") for role in ("admin", "operator", "guest", "security")},
}

ALLOWED = """
anonymous GET /keycloak/realms/shasta/protocol/openid-connect/auth
anonymous GET /keycloak/realms/shasta/protocol/openid-connect/logout
anonymous POST /keycloak/realms/shasta/protocol/openid-connect/token
anonymous GET /keycloak/realms/shasta/protocol/openid-connect/userinfo
anonymous GET /keycloak/realms/shasta/protocol/openid-connect/certs
anonymous GET /keycloak/realms/shasta/.well-known/openid-configuration
anonymous GET,HEAD /keycloak/resources/foo
anonymous GET,POST /vcs
anonymous GET,PUT /repository
anonymous GET /v2
anonymous GET /service/rest
anonymous GET /capsules/
anonymous GET /apis/gozerd/
anonymous GET /spire-jwks-vshastaio/keys
anonymous GET /meta-data
anonymous GET /meta-data?key=Global
anonymous GET /user-data
admin GET,PUT,POST,DELETE,PATCH,HEAD /apis/api1
user GET /apis/uas-mgr/v1/
user GET,POST,DELETE /apis/uas-mgr/v1/uas
user GET,PUT,POST,DELETE,HEAD,PATCH /apis/pals/v1/mock
user GET /apis/sma-telemetry-api/v1
monitor-ro GET /apis/sma-telemetry-api/v1
ckdump GET,HEAD,POST,PUT /apis/v2/nmd/dumps
wlm POST /apis/bos/v2/applystaged
wlm GET /apis/bos/v2/sessions/test
wlm POST /apis/bos/v2/sessions
wlm GET,HEAD /apis/smd/hsm/v2/State/Components
wlm GET,HEAD,POST,DELETE /apis/vnid/fabric/vnis
wlm GET,HEAD,POST,DELETE /apis/jackaloped/fabric/nics
wlm GET /apis/fabric-manager/fabric/agents/x0c0r0b0
wlm DELETE,PATCH,POST,PUT /apis/fabric-manager/fabric/collectives/jobs/1
wlm DELETE,PATCH,POST,PUT /apis/fabric-manager/fabric/collectives/multicasts/1
system-pxe GET,HEAD /apis/bss/boot/v1/bootscript
system-pxe GET /apis/bss/boot/v1/bootscript?mac=02:00:00:00:00:01
system-compute PATCH /apis/cfs/components/mock
system-compute PATCH /apis/bos/v2/components/mock
system-compute GET,POST /apis/v2/cps/transports
system-compute POST /apis/v2/cps/contents
system-compute GET /apis/v2/cos/configs
system-compute PUT /apis/v2/nmd/status/x1
system-compute GET,HEAD /apis/smd/hsm/v2/State/Components
system-compute PATCH /apis/smd/hsm/v1/State/Components/BulkSoftwareStatus
system-compute GET /apis/power-control/v1/power-status?xname=TEST
system-compute GET,HEAD /apis/hmnfd/hmi/v1/subscriptions
system-compute PATCH,POST,DELETE /apis/hmnfd/hmi/v1/subscribe
system-compute POST /apis/hbtd/hmi/v1/heartbeat
system-nexus GET /keycloak/admin/realms/shasta/users?max=100
system-slingshot DELETE,GET,PATCH,POST,PUT /apis/fabric-manager/fabric/agents/x0c0r0b0
slingshot-admin DELETE,GET,PATCH,POST,PUT /apis/fabric-manager/fabric/agents/x0c0r0b0
slingshot-admin GET /apis/fabric-manager/fabric/host-settings
slingshot-operator GET,PATCH,POST,PUT /apis/fabric-manager/fabric/agents/x0c0r0b0
slingshot-operator GET,PATCH,POST,PUT /apis/fabric-manager/telemetry/test1
slingshot-operator GET,PATCH,POST,PUT /apis/fabric-manager/switch-telemetry/test1
slingshot-operator GET,PATCH,POST,PUT /apis/fabric-manager/host-settings
slingshot-security DELETE,GET,PATCH,POST,PUT /apis/fabric-manager/certmgr/switch-certificates/x0c0r0b0
slingshot-security GET,PATCH,POST,PUT /apis/fabric-manager/fabric/rosetta-auth-token
slingshot-guest GET /apis/fabric-manager/fabric/agents/x0c0r0b0
"""

DENIED = """
anonymous GET /keycloak
anonymous GET /keycloak/realms/shasta
anonymous GET /keycloak/realms/master/protocol/openid-connect/certs
anonymous GET /keycloak/admin/realms/shasta/users
anonymous POST /keycloak/resources/foo
anonymous GET /keycloak/realms/shasta/protocol/openid-connect/auth?scope=openid&request_uri=http://hook.url
anonymous GET /apis/tokens
anonymous GET,POST,PUT,DELETE,PATCH,HEAD,OPTIONS /apis/api1
anonymous POST,HEAD /meta-data
anonymous PUT /user-data
anonymous GET /phone-home
anonymous GET /apis/gozerd
admin OPTIONS,TRACE,CONNECT,BREW,get /apis/api1
user GET /apis/api1
user GET /apis/smd/hsm/v2/State/Components
user GET /apis/uas-mgr/v1/uas/1
wlm POST /apis/capmc/capmc/v1/get_xname_status
wlm POST /apis/capmc/capmc/v1/xname_on
wlm DELETE /apis/capmc/capmc/v1/set_power_cap
wlm GET /apis/power-control/v1/power-status?xname=test
wlm POST /apis/power-control/v1/transitions
wlm PATCH /apis/power-control/v1/power-cap
wlm DELETE /apis/power-control/v1/transitions/test
wlm GET,HEAD,POST,PATCH,DELETE /apis/bos/v1/session
wlm POST,DELETE /apis/smd/hsm/v2/State/Components
wlm PUT /apis/vnid/fabric/vnis
wlm PUT /apis/jackaloped/fabric/nics
wlm DELETE,POST,PUT /apis/fabric-manager/fabric/agents/x0c0r0b0
system-pxe GET /apis/bss/boot/v1/anotherpath
system-compute GET,HEAD,POST,PUT /apis/cfs/components/mock
system-compute GET,HEAD,POST,PATCH /apis/v2/nmd/mock
system-compute POST,DELETE /apis/smd/hsm/v2/State/Components
system-compute GET,POST /apis/power-control/v1/transitions
system-compute TRACE /apis/hmnfd/hmi/v1/subscribe
system-slingshot GET /api/api1
slingshot-admin GET /api/api1
slingshot-admin GET /apis/bos/v2
slingshot-admin HEAD /apis/fabric-manager/fabric/agents/x0c0r0b0
slingshot-operator DELETE /apis/fabric-manager/fabric/agents/x0c0r0b0
slingshot-operator DELETE /apis/fabric-manager/certmgr/switch-certificates/x0c0r0b0
slingshot-security DELETE,PATCH,POST,PUT /apis/fabric-manager/fabric/agents/x0c0r0b0
slingshot-guest DELETE,PATCH,POST,PUT /apis/fabric-manager/fabric/agents/x0c0r0b0
slingshot-guest GET /apis/fabric-manager/certmgr/switch-certificates/x0c0r0b0
"""

TENANT_ALLOWED = """
GET /apis/bos/v2
POST /apis/bos/v2/applystaged
GET /apis/bos/v2/components
GET /apis/bos/v2/components/foo
GET /apis/bos/v2/healthz
GET,POST /apis/bos/v2/sessions
GET /apis/bos/v2/sessions/foo
GET /apis/bos/v2/sessions/foo/status
GET /apis/bos/v2/sessiontemplates
GET /apis/bos/v2/sessiontemplates/foo
GET /apis/bos/v2/version
GET /apis/cfs/v3/configurations
GET,PUT,PATCH,DELETE /apis/cfs/v3/configurations/mock
"""

TENANT_DENIED = """
GET /apis/api1
GET /apis/smd/hsm/v2/groups
POST /apis/power-control/v1/transitions
PUT,POST /apis/bos/v2/sessiontemplates
PUT /apis/bos/v2/sessiontemplates/foo
POST /apis/cfs/v3/configurations
GET /apis/cfs/v2/configurations
GET /apis/bos/v2/components?ids=x1000c0s0b0n0
"""

DVS_ALLOWED = """
GET,HEAD /apis/smd/hsm/v2/State/Components
GET,HEAD /apis/smd/hsm/v2/Inventory/EthernetInterfaces
PATCH /apis/smd/hsm/v2/State/Components/x1/SoftwareStatus
GET,HEAD /apis/sls/v1/networks
GET,HEAD /apis/hmnfd/hmi/v1/subscriptions
PATCH,POST,DELETE /apis/hmnfd/hmi/v1/subscribe
GET /apis/hmnfd/hmi/v2/subscriptions/x1
POST,PATCH,DELETE /apis/hmnfd/hmi/v2/subscriptions/x1/agents/agent1
"""

DVS_DENIED = """
GET,PUT /apis/v2/nmd/status/x1
GET /apis/v2/nmd/healthz/live
PUT,DELETE,PATCH /apis/cfs/components/x1
GET /apis/v2/nmd/status/invalid
GET /apis/hmnfd/hmi/v2/subscriptions/invalid
GET /apis/hmnfd/hmi/v2/subscriptions/x1?x
POST,PATCH,DELETE /apis/hmnfd/hmi/v2/subscriptions/invalid/agents/agent1
POST,PATCH,DELETE /apis/hmnfd/hmi/v2/subscriptions/x1/x/agents/agent1
PATCH /apis/smd/hsm/v2/State/Components/invalid/SoftwareStatus
PATCH /apis/smd/hsm/v2/State/Components/BulkSoftwareStatus
"""

NODES_ALLOWED = """
compute/x1 heartbeat POST /apis/hbtd/hmi/v1/heartbeat/x1
compute/x1 heartbeat GET /apis/hbtd/hmi/v1/params
ncn/ncnw001 heartbeat POST /apis/hbtd/hmi/v1/heartbeat/ncnw001
storage/ncns001 heartbeat POST /apis/hbtd/hmi/v1/heartbeat/ncns001
compute/x1 cfs-state-reporter PATCH /apis/cfs/components/x1
compute/x1 cfs-state-reporter PATCH /apis/cfs/v3/components/x1
ncn/ncnw001 cfs-state-reporter PATCH /apis/cfs/components/ncnw001
compute/x1 bos-reporter PATCH /apis/bos/v2/components/x1
compute/x1 cpsmount GET /apis/v2/cps/transports?transport=dvs
compute/x1 cpsmount_helper POST /apis/v2/cps/contents
compute/x1 ckdump PUT /apis/v2/nmd/status/x1
compute/x1 ckdump_helper PUT /apis/v2/nmd/status/x1
uan/x2 ckdump PUT /apis/v2/nmd/status/x2
compute/x1 tpm-provisioner GET /apis/tpm-provisioner/authorize?xname=x1&type=compute
compute/x1 tpm-provisioner GET /apis/tpm-provisioner/authorize?xname=invalid&type=compute
compute/x1 tpm-provisioner POST /apis/tpm-provisioner/challenge/request
compute/x1 tpm-provisioner POST /apis/tpm-provisioner/challenge/submit
compute/x1 wlm GET,HEAD,POST,DELETE /apis/vnid/fabric/vnis
compute/x1 wlm GET,HEAD,POST,DELETE /apis/jackaloped/fabric/nics
compute/x1 wlm GET,HEAD,POST,DELETE /apis/ogopogod/partitions
ncn/ncnw001 sbps-marshal GET /apis/ims/v3/images
compute/x1 cos-config-helper GET /apis/v2/cos/configs
"""

NODES_DENIED = """
compute/x1 heartbeat POST /apis/hbtd/hmi/v1/heartbeat/invalid
compute/x1 heartbeat POST /apis/hbtd/hmi/v1/heartbeat
compute/x1 heartbeat POST /apis/hbtd/hmi/v1/heartbeat/x1/x2
compute/x1 heartbeat GET /apis/smd/hsm/v2/State/Components
compute/x1 cfs-state-reporter PATCH /apis/cfs/components/x2
compute/x1 bos-reporter PATCH /apis/bos/v2/components/x10
compute/x1 ckdump POST /apis/pals/v1/mock
compute/x1 ckdump GET,POST,HEAD,PUT /apis/v2/nmd/status
compute/x1 ckdump GET /apis/v2/nmd/dumps?xname=x1
ncn/ncnw001 ckdump PUT /apis/v2/nmd/status/ncnw001
compute/x1 cpsmount POST,GET,HEAD /apis/v2/cps/mock
compute/x1 cpsmount GET /apis/v2/cos/configs
compute/x1 tpm-provisioner GET /apis/tpm-provisioner/whitelist/get
compute/x1 wlm POST /apis/capmc/capmc/v1/xname_on
compute/x1 wlm GET /apis/power-control/v1/power-status?xname=test
compute/x1 wlm POST /apis/bos/v2/applystaged
compute/x1 wlm GET,HEAD,POST,DELETE /apis/smd/hsm/v2/State/Components
compute/x1 wlm PUT /apis/vnid/fabric/vnis
compute/x1 wlm PUT /apis/ogopogod/partitions
compute/x1 sbps-marshal GET /apis/ims/v3/images
storage/ncns001 dvs-hmi GET /apis/smd/hsm/v2/State/Components
elsewhere/x1 heartbeat POST /apis/hbtd/hmi/v1/heartbeat/x1
compute/x1 invalid GET /apis/smd/hsm/v2/State/Components
compute heartbeat POST /apis/hbtd/hmi/v1/heartbeat/x1
"""


def _rows(text: str) -> list[list[str]]:
    """One row for each method."""
    split = [line.split(" ") for line in text.strip().splitlines()]
    return [[*row[:-2], method, row[-1]] for row in split for method in row[-2].split(",")]


def _allowed(claims: dict[str, Any] | None, method: str, path: str, headers: dict[str, str] | None = None) -> bool:
    return isinstance(decide(claims, method, path, headers or {}), Allow)


@pytest.mark.parametrize(("who", "method", "path"), _rows(ALLOWED))
def test_who_may(who: str, method: str, path: str) -> None:
    assert _allowed(WHO[who], method, path)


@pytest.mark.parametrize(("who", "method", "path"), _rows(DENIED))
def test_who_may_not(who: str, method: str, path: str) -> None:
    assert not _allowed(WHO[who], method, path)


@pytest.mark.parametrize(("method", "path"), _rows(TENANT_ALLOWED))
def test_a_tenant_admin_may_for_their_own_tenant(method: str, path: str) -> None:
    assert _allowed(TENANT, method, path, BLUE)
    for attributes in (
        {},
        {"cray-tenant-name": ""},
        {"cray-tenant-name": "vcluster-red"},
        {"cray-tenant-name": "blue"},
    ):
        assert not _allowed(TENANT, method, path, attributes), attributes


@pytest.mark.parametrize(("method", "path"), _rows(TENANT_DENIED))
def test_a_tenant_admin_may_nothing_else(method: str, path: str) -> None:
    assert not _allowed(TENANT, method, path, BLUE)


def test_the_group_alone_makes_no_tenant_admin() -> None:
    assert not _allowed({**TENANT, "realm_access": {"roles": ["psi"]}}, "GET", "/apis/bos/v2", BLUE)


def test_a_group_with_just_the_name_of_the_tenant_counts() -> None:
    assert _allowed({**TENANT, "groups": ["vcluster-blue"]}, "GET", "/apis/bos/v2", BLUE)


@pytest.mark.parametrize("name", ["", "a", "ab", "Blue", "-blue", "blue-", "blü", "blue\n", "x" * 254, "a b"])
def test_an_administrator_names_a_tenant_rightly_or_not_at_all(name: str) -> None:
    assert _allowed(WHO["admin"], "GET", "/apis/bos/v2")
    assert _allowed(WHO["admin"], "GET", "/apis/bos/v2", {"cray-tenant-name": "x" * 253})
    assert not _allowed(WHO["admin"], "GET", "/apis/bos/v2", {"cray-tenant-name": name})


@pytest.mark.parametrize("workload", ["dvs-hmi", "dvs-map", "orca"])
@pytest.mark.parametrize("kind", ["compute", "ncn", "uan"])
def test_dvs_reads_everything_and_writes_of_its_own_node(kind: str, workload: str) -> None:
    for method, path in _rows(DVS_ALLOWED):
        assert _allowed(_node(f"{kind}/x1", workload), method, path), (method, path)
    for method, path in _rows(DVS_DENIED):
        assert not _allowed(_node(f"{kind}/x1", workload), method, path), (method, path)


@pytest.mark.parametrize(("node", "workload", "method", "path"), _rows(NODES_ALLOWED))
def test_a_workload_may(node: str, workload: str, method: str, path: str) -> None:
    assert _allowed(_node(node, workload), method, path)


@pytest.mark.parametrize(("node", "workload", "method", "path"), _rows(NODES_DENIED))
def test_a_workload_may_not(node: str, workload: str, method: str, path: str) -> None:
    assert not _allowed(_node(node, workload), method, path)


def test_an_xname_is_no_pattern() -> None:
    assert not _allowed(_node("compute/.*", "heartbeat"), "POST", "/apis/hbtd/hmi/v1/heartbeat/x1")


def test_roles_of_a_node_identity_and_workloads_of_a_user_count_for_nothing() -> None:
    assert not _allowed(
        {**_node("compute/x1", "heartbeat"), "resource_access": {"shasta": {"roles": ["admin"]}}}, "GET", "/apis/x"
    )
    assert not _allowed({**_node("compute/x1", "dvs-hmi"), "iss": KEYCLOAK}, "GET", COMPONENTS)


def test_admin_is_a_role_of_the_client_shasta_alone() -> None:
    assert not _allowed(_slingshot("admin"), "GET", "/apis/api1")
    assert not _allowed(_shasta("slingshot-admin"), "GET", FABRIC)
    assert not _allowed({"iss": KEYCLOAK, "realm_access": {"roles": ["admin", "pa_admin"]}}, "GET", "/apis/api1")


def test_the_whole_of_keycloak_is_open_under_its_own_name() -> None:
    assert _allowed(None, "GET", "/keycloak", {"host": "auth.cmn.acme.com"})
    assert not _allowed(None, "GET", "/keycloak", {"host": "auth.nmnlb.acme.com"})
    assert not _allowed(None, "GET", "/apis/x", {"host": "auth.cmn.acme.com"})


@pytest.mark.parametrize(
    "upstream",
    [
        "nexus.nexus.svc.cluster.local:80/*",
        "cray-sysmgmt-health-grafana.sysmgmt-health.svc.cluster.local:80/*",
        "sma-grafana.services.svc.cluster.local:3000/*",
        "sma-kibana.services.svc.cluster.local:5601/*",
    ],
)
def test_services_that_log_people_in_themselves_are_open(upstream: str) -> None:
    assert _allowed(None, "GET", "/mock", {"x-envoy-decorator-operation": upstream})
    assert not _allowed(None, "GET", "/mock", {"x-envoy-decorator-operation": "invalid"})


def test_vault_is_open_for_logins_and_for_its_own_tokens() -> None:
    vault = {"x-envoy-decorator-operation": "cray-vault.vault.svc.cluster.local:8200/*"}
    for login in ("/v1/auth/kubernetes/login", "/v1/auth/jwt/login"):
        assert _allowed(None, "POST", login, vault)
        assert not _allowed(None, "GET", login, vault)
        assert not _allowed(None, "POST", login)
    assert not _allowed(None, "GET", "/v1/fake", vault)
    assert _allowed(None, "GET", "/v1/fake", {**vault, "x-vault-token": "hvs." + "x" * 24})
    assert not _allowed(None, "GET", "/v1/fake", {**vault, "x-vault-token": "hvs." + "x" * 23})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["admin", SPIRE]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["shasta", "roles", "x"]), inner),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("iss", "sub", "groups", "realm_access", "resource_access", "aud"), JSON)
    )
)
def test_claims_of_any_shape_are_decided_about(claims: dict[str, Any]) -> None:
    """The policy never crashes, and the admin role counts only where its list has it."""
    access = claims.get("resource_access")
    shasta = access.get("shasta") if isinstance(access, dict) else None
    roles = shasta.get("roles") if isinstance(shasta, dict) else None
    genuine = isinstance(roles, list) and "admin" in roles and claims.get("iss") != SPIRE
    assert _allowed(claims, "DELETE", "/apis/api1") == genuine
