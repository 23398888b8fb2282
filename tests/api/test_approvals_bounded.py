"""The number of approvals that one person can have pending, and how long expired ones are stored."""

from __future__ import annotations

import sqlalchemy as sa

from api import test_approvals
from api.conftest import Api
from api.test_approvals import decide, state, update
from api.test_tenants import make
from canton.operations.engine.worker import sweep
from canton.store.access.approvals import EXPIRED_FOR, MOST_PENDING
from canton.store.database import Database, now
from canton.store.schema import approval as table

api, second = test_approvals.api, test_approvals.second


def test_one_person_has_a_bounded_number_of_changes_pending(admin: Api, second: Api) -> None:
    make(admin, "psi")
    pending = [update(admin, f"text {number}").json["details"]["approval"] for number in range(MOST_PENDING)]
    refusal = update(admin, "one more")
    assert (refusal.status, refusal.code) == (409, "conflict")
    assert "canton approval list --state pending" in refusal.json["detail"]
    assert update(admin, "text 0").json["details"]["approval"] == pending[0], "what waits already is not one more"
    assert update(second, "another person's").code == "approval-required"
    decide(second, pending[0], "refuse")
    assert update(admin, "one more").code == "approval-required"


def test_expired_unused_approvals_are_deleted(admin: Api, second: Api, database: Database) -> None:
    make(admin, "psi")
    old, late, used = (update(admin, text).json["details"]["approval"] for text in ("old", "late", "used"))
    decide(second, used)
    assert update(admin, "used", used).status == 200
    with database.write() as connection:
        long_ago = sa.update(table).where(table.c.id.in_([old, used]))
        connection.execute(long_ago.values(expires_at=now() - EXPIRED_FOR - 1))
        connection.execute(sa.update(table).where(table.c.id == late).values(expires_at=now() - 1))
        sweep(connection)
    assert admin.get(f"/v1/approvals/{old}").status == 404
    assert [state(admin, approval) for approval in (late, used)] == ["expired", "used"]
