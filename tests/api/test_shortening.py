"""Granting a binding again with an earlier end is a revocation, and requires what a revocation requires."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from threading import Thread

import pytest

from api.conftest import Api, Reply, serving
from api.test_members import grant, hence
from api.test_tenants import make
from canton.api.services import Services
from canton.policy.roles import BUILTIN, custom
from tokens import Mint

GRANTER = custom("granter", "tenant", "", [*BUILTIN["tenant-viewer"].permissions, "member.grant"])
BLIND = custom("blind", "tenant", "", ["tenant.read"])


@pytest.fixture
def api(services: Services, tokens: Mint) -> Iterator[Api]:
    with serving(replace(services, roles={**BUILTIN, "granter": GRANTER, "blind": BLIND}), tokens) as running:
        yield running


@pytest.fixture
def two_person(services: Services, tokens: Mint) -> Iterator[Api]:
    policy = replace(services.settings.policy, two_person=("member.revoke",))
    with serving(replace(services, settings=replace(services.settings, policy=policy)), tokens) as running:
        yield running.as_("root", "canton-provider-admin")


def regrant(api: Api, until: str | None, reason: str | None = "leaves", **headers: str) -> Reply:
    body = {"subject": "test:bob", "role": "tenant-viewer", "tenant": "psi", "until": until}
    return api.call("POST", "/v1/bindings", body, reason=reason, **headers)


def ends(api: Api) -> str | None:
    (binding,) = api.get("/v1/bindings?subject=test:bob").json["items"]
    return str(binding["until"]) if binding["until"] else None


def test_shortening_takes_the_permission_and_the_reason_of_a_revocation(admin: Api) -> None:
    make(admin, "psi")
    grant(admin, "test:ann", "granter", "psi")
    ann, later, sooner = admin.as_("ann"), hence(3600), hence(60)
    assert regrant(ann, None, reason=None).status == 201
    for old_end, new_end in ((None, later), (later, sooner)):
        refusal = regrant(ann, new_end)
        assert (refusal.status, refusal.json["details"]["permission"]) == (403, "member.revoke")
        assert regrant(admin, new_end, reason=None).code == "reason-required"
        assert ends(admin) == old_end
        assert regrant(admin, new_end).json["until"] == new_end
    assert regrant(ann, sooner, reason=None).headers["canton-unchanged"] == "true"
    assert regrant(ann, later, reason=None).json["until"] == later, "lengthening is a grant"


def test_audit_and_event_say_that_it_was_shortened(admin: Api) -> None:
    make(admin, "psi")
    binding, end = regrant(admin, None, reason="joins").json, hence(60)
    shortened = regrant(admin, end).json
    assert (shortened["granted_by"], shortened["reason"]) == (binding["granted_by"], "joins")
    record = admin.get("/v1/audit?sort=-seq&limit=1").json["items"][0]
    assert (record["action"], record["reason"], record["subject"]) == (
        "member.revoke",
        "leaves",
        f"binding:{binding['id']}",
    )
    assert (record["details"]["was_until"], record["details"]["until"]) == (None, end)
    event = admin.get("/v1/events?tenant=psi").json["items"][-1]
    assert (event["kind"], event["body"]["was_until"], event["body"]["until"]) == ("member.shortened", None, end)


def test_a_caller_who_may_revoke_a_role_may_also_shorten_it(admin: Api) -> None:
    make(admin, "psi")
    for_ann = custom("remover", "tenant", "", ["tenant.read", "member.read", "member.grant", "member.revoke"])
    with serving(replace(admin.services, roles={**BUILTIN, "remover": for_ann}), admin.mint) as server:
        root = server.as_("root", "canton-provider-admin")
        grant(root, "test:ann", "remover", "psi")
        regrant(root, None)
        ann, end = server.as_("ann"), hence(60)
        assert regrant(ann, end).json["until"] == end
        assert regrant(ann, None).json["details"]["rule"] == "exceeds-own"


def test_two_persons_shorten_where_two_persons_revoke(two_person: Api) -> None:
    admin = two_person
    make(admin, "psi")
    regrant(admin, None)
    end = hence(60)
    refusal = regrant(admin, end)
    assert refusal.code == "approval-required"
    waiting = str(refusal.json["details"]["approval"])
    assert admin.get(f"/v1/approvals/{waiting}").json["permission"] == "member.revoke"
    assert ends(admin) is None
    admin.as_("second", "canton-provider-admin").post(f"/v1/approvals/{waiting}/approve")
    headers = {"Canton_Approval": waiting, "Idempotency_Key": "once"}
    assert regrant(admin, end, **headers).json["until"] == end
    repeated = regrant(admin, end, **headers)
    assert (repeated.status, repeated.json["until"]) == (200, end)
    assert admin.get(f"/v1/approvals/{waiting}").json["state"] == "used"


def path_of_binding(api: Api) -> str:
    """The path of the first binding in the tenant psi."""
    return f"/v1/bindings/{api.get('/v1/bindings?tenant=psi').json['items'][0]['id']}"


def test_a_tenant_neither_reads_nor_refuses_what_the_provider_wants_to_revoke(two_person: Api) -> None:
    """A person who is to lose a role could refuse that, and give the role to another account meanwhile."""
    make(two_person, "psi")
    regrant(two_person, None)
    path = path_of_binding(two_person)
    refusal = two_person.call("DELETE", path, reason="left")
    waiting = str(refusal.json["details"]["approval"])
    ann = two_person.as_("ann", "canton-tenant-admin:psi")
    assert ann.post(f"/v1/approvals/{waiting}/refuse").code == "unknown-approval"
    assert waiting not in ann.get("/v1/approvals").text
    assert waiting not in ann.get("/v1/audit").text
    two_person.as_("second", "canton-provider-admin").post(f"/v1/approvals/{waiting}/approve")
    revoked = two_person.call("DELETE", path, reason="left", Canton_Approval=waiting)
    assert revoked.status == 204


def test_another_administrator_decides_on_a_tenants_revocation(two_person: Api) -> None:
    make(two_person, "psi")
    regrant(two_person, None)
    ann = two_person.as_("ann", "canton-tenant-admin:psi")
    waiting = str(ann.call("DELETE", path_of_binding(two_person), reason="left").json["details"]["approval"])
    bob = two_person.as_("bob", "canton-tenant-admin:psi")
    assert bob.post(f"/v1/approvals/{waiting}/approve").status == 200


def test_a_refusal_does_not_tell_that_there_is_a_binding(admin: Api) -> None:
    make(admin, "psi")
    regrant(admin, None)
    grant(admin, "test:eve", "blind", "psi")
    eve, end = admin.as_("eve"), hence(60)
    bound_reply = regrant(eve, end)
    unknown = eve.post("/v1/bindings", {"subject": "test:cy", "role": "tenant-viewer", "tenant": "psi", "until": end})
    assert bound_reply.text == unknown.text
    assert bound_reply.status == 403


def test_a_grant_that_races_with_another_never_shortens_it_unseen(admin: Api) -> None:
    """In every round one person sets a later end, and one who may only grant an earlier one; the later end stays."""
    make(admin, "psi")
    grant(admin, "test:ann", "granter", "psi")
    ann, short, long = admin.as_("ann"), hence(600), hence(3600)
    for _ in range(6):
        (binding,) = admin.get("/v1/bindings?subject=test:bob").json["items"] or (None,)
        if binding:
            admin.call("DELETE", f"/v1/bindings/{binding['id']}", reason="again")
        callers = [Thread(target=regrant, args=(admin, long)), Thread(target=regrant, args=(ann, short, None))]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(30)
        assert ends(admin) == long


def test_an_approval_of_a_grant_is_none_of_a_shortening(services: Services, tokens: Mint) -> None:
    """The same request takes something away when the binding was made to last longer meanwhile."""
    policy = replace(services.settings.policy, two_person=("member.grant", "member.revoke"))
    with serving(replace(services, settings=replace(services.settings, policy=policy)), tokens) as running:
        admin, second = (running.as_(name, "canton-provider-admin") for name in ("root", "second"))
        make(admin, "psi")
        end, waiting = hence(3600), []
        for until in (end, None):
            waiting.append(str(regrant(admin, until).json["details"]["approval"]))
            assert second.post(f"/v1/approvals/{waiting[-1]}/approve").status == 200
        assert regrant(admin, None, Canton_Approval=waiting[1]).status == 201
        assert regrant(admin, end, Canton_Approval=waiting[0]).code == "approval-not-usable"
        assert ends(admin) is None
