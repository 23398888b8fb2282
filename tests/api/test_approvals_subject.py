"""The subject of an approval: the nodes and the tenant that were named, and rights that both persons hold."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa

from api.conftest import Api, Reply, serving
from api.test_approvals import decide, state
from api.test_nodes import fill, xname
from api.test_operations import in_trouble
from api.test_tenants import make
from canton.api.services import Services
from canton.domain.timestamps import to_text
from canton.policy.roles import BUILTIN, custom
from canton.store.access import bindings
from canton.store.database import SECOND
from canton.store.schema import node
from tokens import Mint

UNDER_TWO = ("node.power", "member.grant", "service-account.create", "service-account.token")
DESK = custom("desk", "provider", "", ["member.grant", "member.read", "approval.read", "approval.decide"])
ACCOUNTS = custom(
    "accounts", "provider", "", ["service-account.create", "service-account.token", "approval.read", "approval.decide"]
)


@pytest.fixture
def api(services: Services, tokens: Mint) -> Iterator[Api]:
    policy = replace(services.settings.policy, two_person=UNDER_TWO)
    roles = {**BUILTIN, "desk": DESK, "accounts": ACCOUNTS}
    configured = replace(services, settings=replace(services.settings, policy=policy), roles=roles)
    with serving(configured, tokens) as running:
        yield running


@pytest.fixture
def operator(admin: Api) -> Api:
    fill(admin, {"psi": range(2), "eth": range(2, 4)})
    return admin.as_("op", "canton-provider-operator")


def power_off(api: Api, nodes: str, approval: str | None = None) -> Reply:
    headers = {} if approval is None else {"Canton_Approval": approval}
    return api.call("POST", "/v1/nodes/power", {"nodes": nodes, "to": "off"}, reason="ticket 17", **headers)


def approved(api: Api, nodes: str) -> str:
    """A power-off that the caller requested and psi's own operator approved."""
    approval = str(power_off(api, nodes).json["details"]["approval"])
    assert decide(api.as_("ann", "canton-tenant-operator:psi"), approval).status == 200
    return approval


def renumber(api: Api, *pairs: tuple[int, int]) -> None:
    rows = [{"xname": xname(place), "nid": nid} for place, nid in pairs]
    reply = api.post("/v1/nodes/import", {"site": "alps", "renumber": True, "nodes": rows}, "new numbers")
    assert reply.status == 200, reply.text


def test_an_approval_is_for_the_nodes_that_a_number_stood_for(operator: Api) -> None:
    approval = approved(operator, "nid000001")
    renumber(operator, (1, 2), (2, 1))
    used = power_off(operator, "nid000001", approval)
    assert (used.status, used.code) == (409, "approval-not-usable")
    assert "nodes" in used.json["detail"]
    renumber(operator, (1, 1), (2, 2))
    assert power_off(operator, "nid000001", approval).status == 202


def test_a_renumbering_within_one_tenant_ends_the_approval(operator: Api) -> None:
    approval = approved(operator, "nid000001")
    renumber(operator, (0, 1), (1, 0))
    assert power_off(operator, "nid000001", approval).code == "approval-not-usable"


def test_an_approval_is_for_the_tenant_that_had_the_node(operator: Api) -> None:
    approval = approved(operator, xname(0))
    with operator.services.database.write() as connection:
        connection.execute(sa.update(node).where(node.c.xname == xname(0)).values(tenant="eth"))
    assert power_off(operator, xname(0), approval).code == "approval-not-usable"


def test_a_change_by_two_persons_takes_two_to_revert(operator: Api) -> None:
    approval = approved(operator, xname(0))
    operation = str(power_off(operator, xname(0), approval).json["id"])
    in_trouble(operator, operation)
    path = f"/v1/operations/{operation}/undo"
    alone = operator.post(path, reason="wrong rack")
    assert (alone.status, alone.code) == (403, "approval-required")
    second = str(alone.json["details"]["approval"])
    assert decide(operator, second).json["details"]["rule"] == "two-persons"
    assert decide(operator.as_("other", "canton-provider-operator"), second).status == 200
    assert operator.call("POST", path, reason="wrong rack", Canton_Approval=second).status == 202


def test_continuing_an_approved_operation_takes_one_person(operator: Api) -> None:
    approval = approved(operator, xname(0))
    operation = str(power_off(operator, xname(0), approval).json["id"])
    in_trouble(operator, operation)
    assert operator.post(f"/v1/operations/{operation}/retry").status == 202


@pytest.mark.parametrize("subject", ["test:mia", "test:group/ops"])
@pytest.mark.parametrize("how", ["revoked", "shortened", "suspended"])
def test_an_approval_ends_with_the_role_of_its_approver(operator: Api, subject: str, how: str) -> None:
    admin = operator.as_("root", "canton-provider-admin")
    role = bindings.Grant(subject, "tenant-operator", "psi", None)
    with operator.services.database.write() as connection:
        row = bindings.grant(connection, role, "test:root", "").row
    mia = operator.as_("mia", groups=["ops"])
    approval = str(power_off(operator, xname(0)).json["details"]["approval"])
    assert decide(mia, approval).status == 200
    if how == "revoked":
        assert admin.call("DELETE", f"/v1/bindings/{row['id']}", reason="left").status == 204
        [record] = admin.get("/v1/audit?action=member.revoke").json["items"]
        assert record["details"]["approvals_withdrawn"] == 1
    elif how == "shortened":
        body = {"subject": subject, "role": "tenant-operator", "tenant": "psi", "until": "2099-01-01T00:00:00Z"}
        assert admin.post("/v1/bindings", body, "leaves").status == 200
    else:
        assert admin.call("POST", "/v1/tenants/psi/suspend", reason="unpaid").status == 200
    assert state(operator, approval) == "pending"
    assert power_off(operator, xname(0), approval).code == "approval-not-usable"


def test_an_approval_ends_when_the_role_of_its_approver_ends(operator: Api) -> None:
    """Two roles, one for a short time: the one that lasts longer counts."""
    admin = operator.as_("root", "canton-provider-admin")
    with operator.services.database.write() as connection:
        soon = operator.services.clock() + SECOND
        for role, until in (("tenant-operator", soon), ("tenant-admin", soon + SECOND), ("tenant-viewer", None)):
            bindings.grant(connection, bindings.Grant("test:mia", role, "psi", until), "test:root", "")
    approval = str(power_off(operator, xname(0)).json["details"]["approval"])
    approved_until = decide(operator.as_("mia"), approval).json["expires_at"]
    assert approved_until == to_text(soon + SECOND)
    time.sleep(2.1)
    assert state(admin, approval) == "expired"
    assert power_off(operator, xname(0), approval).code == "approval-not-usable"


def test_an_approval_ends_with_the_role_of_an_approver_renamed_before(operator: Api) -> None:
    admin = operator.as_("root", "canton-provider-admin")
    with operator.services.database.write() as connection:
        row = bindings.grant(
            connection, bindings.Grant("test:mia", "tenant-operator", "psi", None), "test:root", ""
        ).row
    operator.as_("mia").get("/v1/whoami")
    approval = str(power_off(operator, xname(0)).json["details"]["approval"])
    assert decide(operator.as_("mia.maier", sub="id-of-mia"), approval).status == 200
    assert admin.call("DELETE", f"/v1/bindings/{row['id']}", reason="left").status == 204
    assert state(operator, approval) == "pending"


def test_only_what_the_role_gave_a_say_in_waits_again(operator: Api) -> None:
    admin = operator.as_("root", "canton-provider-admin")
    with operator.services.database.write() as connection:
        ids = [
            bindings.grant(connection, bindings.Grant(f"test:{who}", "tenant-operator", tenant, None), "test:root", "")
            .row["id"]
            for who, tenant in (("mia", "eth"), ("max", "psi"))
        ]  # fmt: skip
    approval = approved(operator, xname(0))
    for binding in ids:
        assert admin.call("DELETE", f"/v1/bindings/{binding}", reason="left").status == 204
    assert state(operator, approval) == "approved"


def test_approving_a_grant_needs_the_rights_that_it_gives(admin: Api) -> None:
    """Not even to themselves: hana may grant roles, but none with more permissions than her own."""
    hana = admin.as_("hana")
    with_role = {"subject": "test:hana", "role": "desk", "tenant": None}
    boss, second = admin.as_("boss", "canton-provider-admin"), admin.as_("second", "canton-provider-admin")

    def granted(body: dict[str, str | None], approver: Api) -> Reply:
        approval = str(boss.post("/v1/bindings", body, "new desk").json["details"]["approval"])
        verdict = decide(approver, approval)
        if verdict.status != 200:
            assert state(boss, approval) == "pending"
            return verdict
        return boss.call("POST", "/v1/bindings", body, reason="new desk", Canton_Approval=approval)

    assert granted(with_role, second).status == 201
    assert hana.get("/v1/whoami").status == 200
    refusal = granted({"subject": "test:hana", "role": "provider-admin", "tenant": None}, hana)
    assert (refusal.status, refusal.json["details"]["rule"]) == (403, "exceeds-own")
    assert granted({"subject": "test:hugo", "role": "desk", "tenant": None}, hana).status == 201


def test_nor_for_longer_than_they_have_it(admin: Api) -> None:
    second = admin.as_("second", "canton-provider-admin")
    short = {"subject": "test:hour", "role": "provider-admin", "tenant": None, "until": "2099-01-01T00:00:00Z"}
    approval = str(admin.post("/v1/bindings", short, "an hour").json["details"]["approval"])
    assert decide(second, approval).status == 200
    assert admin.call("POST", "/v1/bindings", short, reason="an hour", Canton_Approval=approval).status == 201
    for_good = {"subject": "test:eve", "role": "provider-admin", "tenant": None}
    endless = str(admin.post("/v1/bindings", for_good, "for good").json["details"]["approval"])
    assert decide(admin.as_("hour"), endless).json["details"]["rule"] == "exceeds-own"
    assert decide(second, endless).status == 200


def test_nor_through_a_service_account(admin: Api) -> None:
    make(admin, "psi")
    clerk, second = admin.as_("clerk"), admin.as_("second", "canton-provider-admin")
    with admin.services.database.write() as connection:
        bindings.grant(connection, bindings.Grant("test:clerk", "accounts", None, None), "test:root", "")
    body = {"name": "ci", "tenant": "psi", "permissions": ["node.power"]}
    approval = str(admin.post("/v1/service-accounts", body, "pipeline").json["details"]["approval"])
    assert decide(clerk, approval).json["details"]["rule"] == "exceeds-own"
    assert decide(second, approval).status == 200
    reply = admin.call("POST", "/v1/service-accounts", body, reason="pipeline", Canton_Approval=approval)
    path = f"{reply.headers['location']}/tokens"
    token = str(admin.post(path, {}, "pipeline").json["details"]["approval"])
    assert decide(clerk, token).json["details"]["rule"] == "exceeds-own"
    assert decide(second, token).status == 200


def test_a_tenant_has_no_say_in_taking_back_what_the_provider_did(operator: Api) -> None:
    """A person who could not make the change does not approve it, nor read of it before it is decided."""
    approval = approved(operator, xname(0))
    operation = str(power_off(operator, xname(0), approval).json["id"])
    in_trouble(operator, operation)
    ann = operator.as_("ann", "canton-tenant-operator:psi")
    path = f"/v1/operations/{operation}/undo"
    assert ann.post(path, reason="ours").json["details"]["rule"] == "by-provider"
    waiting = str(operator.post(path, reason="wrong rack").json["details"]["approval"])
    for verdict in ("approve", "refuse"):
        assert decide(ann, waiting, verdict).code == "unknown-approval"
    assert waiting not in ann.get("/v1/approvals").text
    assert state(operator, waiting) == "pending"
    assert decide(operator.as_("other", "canton-provider-operator"), waiting).status == 200
