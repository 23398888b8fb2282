"""How much one caller can make the audit grow, and how large a page of it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
import sqlalchemy as sa

from api.conftest import Api
from canton.api.events import reader as follow
from canton.api.mutations import refusals
from canton.api.mutations.refusals import RefusalKind, Refusals
from canton.policy.permissions import PERMISSIONS
from canton.store import audit, listing, outbox, schema
from canton.store.database import Database, open_database


def records(database: Database) -> list[dict[str, Any]]:
    with database.read() as connection:
        rows = connection.execute(sa.select(schema.audit).order_by(schema.audit.c.seq)).mappings()
        return [{**row, "details": json.loads(row["details"])} for row in rows]


def test_a_caller_without_roles_cannot_fill_the_audit(api: Api, database: Database) -> None:
    mallory = api.as_("mallory")
    for number in range(40):
        answer = mallory.post(f"/v1/tenants?x={'y' * 30_000}{number}", {"name": "psi"})
        assert answer.status == 403
    api.services.refusals.flush(database)
    first, later_record = records(database)
    assert (first["actor"], first["action"]) == ("test:mallory", "tenant.create")
    assert first["details"]["outcome"] == "refused"
    assert len(str(first["subject"])) == audit.LONGEST_SUBJECT
    assert str(first["subject"]).endswith("…")
    assert later_record["details"]["count"] == 39
    assert len(later_record["details"]["requests"]) == refusals.EXAMPLES
    assert sum(len(json.dumps(record, default=str)) for record in (first, later_record)) < 8_000
    with database.read() as connection:
        assert audit.verify(connection).seq == 2


def test_invented_tenants_do_not_help(api: Api, database: Database) -> None:
    mallory = api.as_("mallory")
    for number in range(60):
        assert mallory.post(f"/v1/tenants/t{number}/suspend").status == 404
    api.services.refusals.flush(database)
    recorded = records(database)
    assert [record["tenant"] for record in recorded] == [None, None]
    assert (recorded[-1]["details"]["outcome"], recorded[-1]["details"]["count"]) == ("refused", 59)


def test_counted_refusals_are_readable_by_the_tenant(admin: Api, database: Database) -> None:
    admin.post("/v1/tenants", {"name": "psi"})
    viewer = admin.as_("vic", "canton-tenant-viewer:psi")
    for _ in range(3):
        assert viewer.post("/v1/tenants/psi/suspend").status == 403
    admin.services.refusals.flush(database)
    visible_records = admin.as_("ann", "canton-tenant-admin:psi").get("/v1/audit?actor=test:vic").json["items"]
    assert [record["details"].get("count") for record in visible_records] == [2, None]


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_count_is_written_when_it_is_large_when_the_window_ends_and_after_an_outage(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = RefusalKind("test:mallory", "tenant.create", None, "refused")
    monkeypatch.setattr(refusals, "MOST_COUNTED", 5)
    counting = Refusals()
    for _ in range(6):
        counting.record(database, kind, "POST /v1/tenants", "", {})
    assert [record["details"].get("count") for record in records(database)] == [None, 5]

    for _ in range(3):
        counting.record(database, kind, "POST /v1/tenants", "", {})
    timer = counting._timer
    assert timer is not None
    assert (timer.is_alive(), timer.interval) == (True, refusals.WINDOW)
    timer.function(*timer.args)
    assert [record["details"].get("count") for record in records(database)] == [None, 5, None, 2]

    for _ in range(3):
        counting.record(database, kind, "POST /v1/tenants", "", {})
    away = open_database("sqlite:////nowhere/canton.db")
    counting.flush(away)
    counting.flush(database)
    assert records(database)[-1]["details"]["count"] == 2


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_one_actor_has_few_kinds_of_refusals_with_a_record_of_their_own(database: Database) -> None:
    counting, outcomes = Refusals(), ("refused", "conflict", "wrong-state")
    permissions = [permission for permission in PERMISSIONS.values() if permission.change][:15]
    assert len(permissions) * len(outcomes) > 2 * refusals.KINDS_EACH
    for outcome in outcomes:
        for permission in permissions:
            for _ in range(2):
                kind = RefusalKind("test:mallory", permission.name, None, outcome)
                counting.record(database, kind, "POST /v1/x", "", {"outcome": outcome})
    assert len(records(database)) == 20 == refusals.KINDS_EACH
    counting.record(database, RefusalKind("test:ann", "site.create", None, "refused"), "POST /v1/sites", "", {})
    assert records(database)[-1]["actor"] == "test:ann", "the bound is of one actor"
    counting.flush(database)
    several = [
        record["details"]["count"] for record in records(database) if record["details"].get("outcome") == "several"
    ]
    assert len(several) == len(permissions), "one for each permission, whatever the outcomes"
    assert sum(several) == 2 * (len(permissions) * len(outcomes) - 20)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_details_are_bounded(database: Database) -> None:
    with database.write() as connection:
        details = {"outcome": "done", "tenant": "psi", "list": ["x" * 100] * 10_000}
        audit.append(connection, actor="a" * 999, action="x", subject="s" * 999, reason="r" * 999, details=details)
    (record,) = records(database)
    assert record["details"] == {"outcome": "done", "tenant": "psi", "list": "(cut: 1030001 characters)"}
    assert record["tenant"] == "psi"
    lengths = (audit.LONGEST_ACTOR, audit.LONGEST_SUBJECT, audit.LONGEST_REASON)
    assert (len(str(record["actor"])), len(str(record["subject"])), len(str(record["reason"]))) == lengths


def test_a_page_is_cut_before_it_is_too_large_and_the_next_goes_on(
    admin: Api, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database.write() as connection:
        for number in range(30):
            audit.append(
                connection, actor="a", action="x", subject=f"s{number}", reason="", details={"text": "é" * 10_000}
            )
    monkeypatch.setattr(listing, "LARGEST_PAGE", 100_000)
    subjects: list[str] = []
    query, pages = "", 0
    while pages < 30:
        answer = admin.get(f"/v1/audit?limit=1000&sort=seq{query}")
        assert len(answer.text.encode()) < 101_000
        subjects += [record["subject"] for record in answer.json["items"]]
        pages += 1
        if answer.json["next"] is None:
            break
        query = f"&after={answer.json['next']}"
    assert subjects == [f"s{number}" for number in range(30)]
    assert pages == 8


def test_a_page_of_events_is_cut_too(admin: Api, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    admin.post("/v1/tenants", {"name": "psi"})
    with database.write() as connection:
        events = [outbox.Event("tenant.told", f"tenant:{number}", {"text": "x" * 10_000}) for number in range(30)]
        outbox.append(connection, "psi", events)
    monkeypatch.setattr(follow, "LARGEST_PAGE", 100_000)
    subjects: list[str] = []
    cursor = "start"
    for _ in range(30):
        answer = admin.get(f"/v1/events?limit=1000&after={cursor}")
        assert len(answer.text) < 110_000
        subjects += [event["subject"] for event in answer.json["items"]]
        if answer.json["next"] is None:
            break
        cursor = answer.json["next"]
    assert subjects[-30:] == [f"tenant:{number}" for number in range(30)]
