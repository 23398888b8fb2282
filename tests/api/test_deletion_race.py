"""A deletion and an order on the same retired node at once: one succeeds, and the other is refused with the reason."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from api.conftest import Api, Reply
from api.test_import_locks import WAITING
from api.test_node_lifecycle import put
from api.test_nodes import xname
from canton.domain.lifecycle import NodeState
from canton.store.database import Database

pytestmark = pytest.mark.parametrize("backend", ["postgresql"], indirect=True)


def until_waiting(connection: Connection, sessions: int) -> None:
    deadline = monotonic() + 10
    while monotonic() < deadline and connection.scalar(WAITING) < sessions:
        sleep(0.02)


@pytest.mark.parametrize(("first", "answers"), [("delete", (200, 404)), ("power", (409, 202))])
def test_the_second_of_a_deletion_and_an_order_is_refused(
    admin: Api, database: Database, first: str, answers: tuple[int, int]
) -> None:
    put(admin, NodeState.RETIRED)
    orders = {"delete": {"nodes": xname(0)}, "power": {"nodes": xname(0), "to": "off"}}

    def order(verb: str) -> Reply:
        return admin.post(f"/v1/nodes/{verb}", orders[verb])

    second = "power" if first == "delete" else "delete"
    with ThreadPoolExecutor(2) as pool:
        with database.write() as connection:
            # Every change locks the head of the audit last: the first change has done everything else.
            connection.execute(sa.text("select * from audit_head for update")).all()
            replies = {first: pool.submit(order, first)}
            until_waiting(connection, 1)
            replies[second] = pool.submit(order, second)
            until_waiting(connection, 2)
        assert tuple(replies[verb].result(20).status for verb in ("delete", "power")) == answers
