"""The request rate of one caller, without effect on other callers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from urllib.parse import quote

import pytest

from api.conftest import Api, made_services, serving
from api.test_nodes import fill
from canton.api.middleware import rate_limits as rates
from canton.api.middleware.rate_limits import RateLimits, TokenBuckets
from canton.store.database import Database
from tokens import Mint

pytestmark = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)


@pytest.fixture
def api(database: Database, tokens: Mint, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """Three requests a second for a principal with a role, and one for the others: 30 and 10 at once.

    The clock stands still, so that no bucket fills while a slow machine sends.
    """
    monkeypatch.setattr(rates, "time", SimpleNamespace(monotonic=lambda: 0.0))
    slow = replace(made_services(database, tokens), rate_limits=RateLimits(3, 1, 1))
    with serving(slow, tokens) as running:
        yield running


def accepted(caller: Api, count: int, good: int = 200) -> int:
    statuses = [caller.get("/v1/whoami").status for _ in range(count)]
    assert set(statuses) <= {good, 429}
    return statuses.count(good)


def test_a_principal_over_its_rate_gets_retry_after_and_others_go_on(api: Api) -> None:
    root = api.as_("root", "canton-provider-admin")
    *replies, answer = [root.get("/v1/whoami") for _ in range(31)]
    assert [reply.status for reply in replies] == [200] * 30
    assert (answer.status, answer.code) == (429, "too-many-requests")
    assert answer.headers["retry-after"] == "1"
    assert answer.json["remedy"] == "temporary"
    assert api.as_("ann", "canton-auditor").get("/v1/whoami").status == 200


def test_a_refused_rate_limits_changes_too(api: Api) -> None:
    mallory = api.as_("mallory")
    statuses = [mallory.post("/v1/tenants", {"name": "psi"}).status for _ in range(12)]
    assert statuses == [403] * 10 + [429] * 2


def test_a_caller_without_roles_has_less(api: Api) -> None:
    assert accepted(api.as_("mallory"), 12) == 10


def test_a_page_counts_as_a_request_for_every_hundred_entries(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "ENTRIES", 2)
    root, ann = api.as_("root", "canton-provider-admin"), api.as_("ann", "canton-auditor")
    for name in ("t1", "t2", "t3", "t4", "t5", "t6"):
        assert root.post("/v1/tenants", {"name": name}).status == 201
    assert len(ann.get("/v1/tenants?limit=6").json["items"]) == 6
    assert accepted(ann, 40) == 27
    assert len(root.get("/v1/tenants?limit=1").json["items"]) == 1
    assert accepted(root, 40) == 23


@pytest.mark.parametrize(
    "path", ["/operations", "/plans", "/operations/{id}", "/plans/{plan}", "/events", "/events?subject={id}"]
)
def test_an_answer_counts_by_the_rows_read_for_it(api: Api, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """One operation on all nodes of a large tenant takes as long to show as hundreds of others."""
    monkeypatch.setattr(rates, "SIZE", 50)
    root, ann = api.as_("root", "canton-provider-admin"), api.as_("ann", "canton-provider-admin")
    fill(root, {"psi": range(64)})
    started = root.post("/v1/nodes/power", {"nodes": "x1000c0s[0-63]b0n0", "to": "on"}).json
    assert ann.get(f"/v1{path.format(**started)}").status == 200
    assert accepted(ann, 40) < 25


def test_a_body_counts_by_its_size(api: Api) -> None:
    root = api.as_("root", "canton-provider-admin")
    assert root.post("/v1/tenants", {str(number): 1 for number in range(30_000)}).status == 400
    assert accepted(root, 40) < 15


@pytest.mark.parametrize(
    ("nodeset", "status"), [("x1000c0s[1-999]b0n0", 404), ("a1!a1!a[1-999]", 400), ("a" * 14_000 + "[", 400)]
)
def test_a_nodeset_counts_by_the_names_it_writes(api: Api, nodeset: str, status: int) -> None:
    root, ann = api.as_("root", "canton-provider-admin"), api.as_("ann", "canton-provider-admin")
    assert root.post("/v1/nodes/power", {"nodes": nodeset, "to": "on"}).status == status
    assert accepted(root, 40) <= 21
    ann.get(f"/v1/nodes?nodeset={quote(nodeset)}")
    assert accepted(ann, 40) <= 21


def test_an_address_without_a_valid_token_has_a_lower_rate_of_its_own(api: Api) -> None:
    forged = replace(api, token="eyJ.not.one")  # noqa: S106
    assert accepted(forged, 8, 401) + accepted(api, 8, 401) == 10
    assert api.as_("ann", "canton-auditor").get("/v1/whoami").status == 200


def test_the_description_counts_for_the_address_that_reads_it(api: Api) -> None:
    tag = api.get("/openapi.json").headers["etag"]
    assert [api.get("/openapi.json").status for _ in range(10)] == [200] * 9 + [429]
    assert api.get("/openapi.json", If_None_Match=tag).status == 304
    assert api.get("/v1/version").status == 200


def test_the_limiter_itself_is_bounded(monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    monkeypatch.setattr(rates, "MOST_BUCKETS", 100)
    buckets = TokenBuckets(1)
    for number in range(1000):
        assert buckets.take(f"name-{number}", 0.0) == 0
    assert len(buckets._full_at) == 100


def test_a_bucket_fills_again(backend: str) -> None:
    buckets = TokenBuckets(2)
    assert [buckets.take("alice", 0.0) for _ in range(21)] == [0.0] * 20 + [0.5]
    assert buckets.take("alice", 0.5) == 0
    assert buckets.take("alice", 0.5) == 0.5
    assert [buckets.take("alice", 100.0) for _ in range(21)].count(0.0) == 20


def test_a_debt_of_requests_is_waited_for(backend: str) -> None:
    buckets = TokenBuckets(1)
    buckets.owe("alice", 30, 0.0)
    assert buckets.take("alice", 0.0) == 21
    assert buckets.take("alice", 21.0) == 0


def test_an_ipv6_network_is_one_address(backend: str) -> None:
    assert rates.network("2001:db8::1") == rates.network("2001:db8::ffff") != rates.network("2001:db8:0:1::1")
    assert rates.network("192.0.2.1") == "192.0.2.1"
