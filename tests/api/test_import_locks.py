"""An import locks tenants before nodes, as every change of a tenant's nodes does; the other order is a deadlock."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep

import pytest
import sqlalchemy as sa

from api.conftest import Api, Reply
from canton.store.access import tenants
from canton.store.database import Database
from canton.store.schema import node

NODE = "x1000c0s0b0n0"
WAITING = sa.text(
    "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
)


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_an_import_that_renumbers_waits_for_the_owners_of_the_nodes(admin: Api, database: Database) -> None:
    admin.post("/v1/sites", {"name": "alps"})
    admin.post("/v1/tenants", {"name": "psi"})
    admin.post("/v1/tenants", {"name": "cscs"})
    owned = {"xname": NODE, "nid": 1, "tenant": "psi", "state": "assigned"}
    assert admin.post("/v1/nodes/import", {"site": "alps", "nodes": [owned]}).status == 200

    def renumber() -> Reply:
        rows = [{"xname": NODE, "nid": 2}, {"xname": "x1000c0s0b0n1", "tenant": "cscs", "state": "assigned"}]
        return admin.post("/v1/nodes/import", {"site": "alps", "renumber": True, "nodes": rows})

    with ThreadPoolExecutor(1) as pool:
        with database.write() as connection:
            tenants.lock(connection, "psi")
            reply = pool.submit(renumber)
            deadline = monotonic() + 10
            while not reply.done() and monotonic() < deadline and not connection.scalar(WAITING):
                sleep(0.02)
            free = sa.select(node.c.xname).where(node.c.xname == NODE).with_for_update(skip_locked=True)
            assert not reply.done(), "the import did not wait for the tenant"
            assert connection.scalars(free).all() == [NODE], "the import locked a node before its tenant"
        assert reply.result(20).status == 200
