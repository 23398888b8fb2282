"""A page of large rows is bounded while it is read: what lies beyond it never leaves the database."""

from __future__ import annotations

import tracemalloc

import sqlalchemy as sa

from api.conftest import Api
from canton.store.database import Database
from canton.store.schema import approval

ROWS, LARGE = 400, 140_000
COLUMNS = {
    "permission": "node.power",
    "method": "POST",
    "path": "/v1/nodes/power",
    "body": {"nodes": "x" * LARGE},
    "requested_by": "test:oscar",
    "requested_identity": "oidc:oscar",
    "reason": "a test",
    "state": "pending",
    "created_at": 1,
    "expires_at": 2**50,
}


def test_a_page_takes_the_memory_of_what_it_shows(admin: Api, database: Database) -> None:
    with database.write() as connection:
        rows = [{**COLUMNS, "id": f"ap_{number:028x}", "request": str(number)} for number in range(ROWS)]
        connection.execute(sa.insert(approval), rows)
    del rows
    tracemalloc.start()
    try:
        page = admin.get("/v1/approvals?limit=1000").json
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.8 * ROWS * LARGE
    assert [item["id"] for item in page["items"]] == [f"ap_{number:028x}" for number in range(len(page["items"]))]
    following = admin.get(f"/v1/approvals?limit=1000&after={page['next']}").json
    assert following["items"][0]["id"] == f"ap_{len(page['items']):028x}"
