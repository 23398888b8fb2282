"""What a suspension or a revocation forbids is forbidden from its commit on: the audit has no change after it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from api.conftest import Api
from canton.store.database import Database

ROUNDS = 8
MEMBERS = 4


@contextmanager
def busy(act: Callable[[str], None]) -> Iterator[None]:
    """Several clients that grant as fast as they can."""
    stop = threading.Event()

    def run(client: int) -> None:
        number = 0
        while not stop.is_set() and number < 200:
            act(f"test:user-{client}-{number}")
            number += 1

    threads = [threading.Thread(target=run, args=(client,)) for client in range(MEMBERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)


def later_changes(admin: Api, tenant: str, action: str, actor: str) -> list[dict[str, object]]:
    """The actions of ``actor`` in the tenant after the last record of ``action``, in the order of the commits."""
    records = admin.get(f"/v1/audit?tenant={tenant}&limit=1000&sort=seq").json["items"]
    last = max(record["seq"] for record in records if record["action"] == action)
    return [
        record
        for record in records
        if record["seq"] > last and record["actor"] == actor and record["details"]["outcome"] == "done"
    ]


def grant(caller: Api, tenant: str) -> Callable[[str], None]:
    def act(subject: str) -> None:
        caller.post("/v1/bindings", {"subject": subject, "role": "tenant-viewer", "tenant": tenant})

    return act


def test_no_member_changes_after_the_tenant_was_suspended(admin: Api) -> None:
    late_changes = []
    for number in range(ROUNDS):
        tenant = f"psi-{number}"
        assert admin.post("/v1/tenants", {"name": tenant}).status == 201
        member = admin.as_("alice", f"canton-tenant-admin:{tenant}")
        with busy(grant(member, tenant)):
            time.sleep(0.15)
            assert admin.post(f"/v1/tenants/{tenant}/suspend").status == 200
            time.sleep(0.05)
        late_changes += later_changes(admin, tenant, "tenant.suspend", "test:alice")
        refusal = member.post("/v1/bindings", {"subject": "test:x", "role": "tenant-viewer", "tenant": tenant})
        assert (refusal.status, refusal.json["details"]["rule"]) == (403, "tenant-suspended")
    assert late_changes == []


def test_no_change_by_a_role_after_it_was_revoked(admin: Api) -> None:
    late_changes = []
    assert admin.post("/v1/tenants", {"name": "psi"}).status == 201
    for number in range(ROUNDS):
        who = f"bob-{number}"
        bound = admin.post("/v1/bindings", {"subject": f"test:{who}", "role": "tenant-admin", "tenant": "psi"})
        member = admin.as_(who)
        with busy(grant(member, "psi")):
            time.sleep(0.15)
            revoked = admin.call("DELETE", f"/v1/bindings/{bound.json['id']}", reason="he left")
            assert revoked.status == 204, revoked.text
            time.sleep(0.05)
        late_changes += later_changes(admin, "psi", "member.revoke", f"test:{who}")
    assert late_changes == []


def test_changes_of_one_tenant_at_once_all_succeed(admin: Api, database: Database) -> None:
    """They wait for each other; none is refused because another was faster."""
    assert admin.post("/v1/tenants", {"name": "psi"}).status == 201
    statuses: list[int] = []

    def create(number: int) -> None:
        answer = admin.post("/v1/bindings", {"subject": f"test:u{number}", "role": "tenant-viewer", "tenant": "psi"})
        statuses.append(answer.status)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert statuses == [201] * 12
