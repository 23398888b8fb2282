"""A foreign object is answered as fast as an absent one, so that response times reveal nothing.

Asked in turn, medians of the two stay within 2 % of each other even on a busy machine; one more look at the database
for one of them shows as 24 % on SQLite and 35 % on PostgreSQL. The bound lies between.
"""

from __future__ import annotations

import time
from http.client import HTTPConnection
from statistics import median
from urllib.parse import urlsplit

import pytest

from api.conftest import Api
from canton.store.database import Database
from devices import order, plan_of, set_value

WARM = 30
PAIRS = 250
APART = 1.12
ATTEMPTS = 6


@pytest.fixture
def stranger(api: Api) -> Api:
    return api.as_("ann", "canton-tenant-operator:psi")


def in_turn(caller: Api, paths: tuple[str, str]) -> float:
    """The ratio of the median durations of two requests that are sent in turn on one connection."""
    where = urlsplit(caller.url)
    connection = HTTPConnection(where.hostname or "", where.port, timeout=30)
    headers = {"Authorization": f"Bearer {caller.token}"}
    times: dict[str, list[float]] = {path: [] for path in paths}
    for n in range(WARM + PAIRS):
        # The first request might pay for what both need.
        for path in paths if n % 2 else reversed(paths):
            start = time.perf_counter()
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            answer.read()
            times[path].append(time.perf_counter() - start)
            assert answer.status == 404
    connection.close()
    one, second = (median(seconds[WARM:]) for seconds in times.values())
    return max(one, second) / min(one, second)


def assert_not_told_apart(caller: Api, paths: tuple[str, str]) -> None:
    # A class apart stays apart; a busy moment passes.
    ratios = []
    for _ in range(ATTEMPTS):
        ratios.append(in_turn(caller, paths))
        if ratios[-1] < APART:
            return
    pytest.fail(f"the clock tells {paths[0]} from {paths[1]}: {ratios} times as long")


def test_a_foreign_tenant_takes_as_long_as_an_absent_one(admin: Api, stranger: Api) -> None:
    assert admin.post("/v1/tenants", {"name": "cscs"}).status == 201
    assert_not_told_apart(stranger, ("/v1/tenants/cscs", "/v1/tenants/nowhere"))


def test_a_foreign_operation_takes_as_long_as_an_absent_one(admin: Api, stranger: Api, database: Database) -> None:
    assert admin.post("/v1/tenants", {"name": "cscs"}).status == 201
    foreign = order(database, plan_of(set_value(1, "t1"), tenant="cscs"))
    absent = foreign[:-4] + ("0000" if not foreign.endswith("0000") else "1111")
    assert_not_told_apart(stranger, (f"/v1/operations/{foreign}", f"/v1/operations/{absent}"))
