"""Events through the API: pages and streams, and who is told of what."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import quote, urlsplit

import pytest

from api.conftest import Api, made_services, serving
from canton.api.hub import Hub, Pace
from canton.client.sse import Message, Parser
from canton.domain.tenant import TenantState
from canton.store import outbox, service_accounts, tenants
from canton.store.database import Database
from tokens import Mint


@pytest.fixture
def api(database: Database, tokens: Mint) -> Iterator[Api]:
    """A server that looks often."""
    given = made_services(database, tokens)
    hub = Hub(database, pace=Pace(poll=0.02, keep_alive=0.2, check=0.2))
    with serving(replace(given, hub=hub), tokens) as running:
        yield running
        # A reader that does not leave must not keep the server up.
        hub.draining = True


@pytest.fixture
def ann(admin: Api) -> Api:
    for name in ("psi", "cscs"):
        tell(admin, name)
    return admin.as_("ann", "canton-tenant-viewer:psi")


def tell(admin: Api, tenant: str) -> None:
    """Something happens in a tenant, which is made first if it is not there."""
    with admin.services.database.write() as connection:
        if tenants.state(connection, tenant) is None:
            tenants.create(connection, tenant, "")
        outbox.append(connection, tenant, [outbox.Event("tenant.told", f"tenant:{tenant}", {"number": 1})])


def pages(api: Api, query: str = "") -> list[tuple[str, str | None]]:
    items = api.get(f"/v1/events{query}").json["items"]
    return [(each["subject"], each["tenant"]) for each in items]


@contextmanager
def stream(api: Api, query: str = "", **headers: str) -> Iterator[HTTPResponse]:
    where = urlsplit(api.url)
    connection = HTTPConnection(where.hostname or "", where.port, timeout=10)
    sent = {"Accept": "text/event-stream", "Authorization": f"Bearer {api.token}"}
    connection.request("GET", f"/v1/events{query}", headers=sent | {k.replace("_", "-"): v for k, v in headers.items()})
    try:
        yield connection.getresponse()
    finally:
        connection.close()


def messages(response: HTTPResponse, count: int) -> list[Message]:
    """The next so many; a stream that ends before fails the test."""
    parser, found = Parser(""), list[Message]()
    deadline = time.monotonic() + 30
    while len(found) < count:
        assert time.monotonic() < deadline, found
        chunk = response.read1(65536)
        assert chunk, f"ended after {found}"
        found += parser.feed(chunk)
    return found


def test_a_page_has_what_happened_from_the_beginning(admin: Api, ann: Api) -> None:
    (event,) = ann.get("/v1/events").json["items"]
    assert {**event, "at": "…"} == {
        "at": "…",
        "kind": "tenant.told",
        "subject": "tenant:psi",
        "tenant": "psi",
        "body": {"number": 1},
    }
    assert pages(admin) == [("tenant:psi", "psi"), ("tenant:cscs", "cscs")]
    assert pages(admin, "?tenant=cscs") == pages(admin, "?subject=tenant:cscs") == [("tenant:cscs", "cscs")]


def test_pages_follow_each_other_without_gap_or_double(admin: Api, ann: Api) -> None:
    for _ in range(4):
        tell(admin, "psi")
    seen, query = 0, "?limit=2"
    while query:
        page = ann.get(f"/v1/events{query}").json
        seen += len(page["items"])
        query = f"?limit=2&after={quote(page['next'])}" if page["next"] else ""
    assert seen == 5


def test_nobody_hears_of_others(admin: Api, ann: Api) -> None:
    assert pages(ann, "?tenant=cscs") == pages(ann, "?tenant=none") == pages(admin.as_("eve")) == []
    with stream(admin.as_("eve")) as response:
        assert response.status == 403


def test_a_stream_tells_what_happens_and_resumes(admin: Api, ann: Api) -> None:
    with stream(ann) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        tell(admin, "cscs")
        tell(admin, "psi")
        (first,) = messages(response, 1)
    assert (first.kind, '"tenant":"psi"' in first.data) == ("tenant.told", True)
    tell(admin, "psi")
    with stream(ann, "?after=start", Last_Event_ID=first.id) as response:
        (second,) = messages(response, 1)
    assert second.id not in ("", first.id)
    with stream(ann, "?after=start") as response:
        assert len(messages(response, 3)) == 3


def test_a_stream_ends_when_its_token_is_revoked(admin: Api, ann: Api) -> None:
    wanted = service_accounts.NewAccount("ci", "psi", ("event.read",), "")
    with admin.services.database.write() as connection:
        account = service_accounts.create(connection, wanted, "test:root")["id"]
        issued = service_accounts.issue(connection, account, ("event.read",), 60, "test:root")
    with stream(replace(ann, token=issued.text), "?after=start") as response:
        assert len(messages(response, 1)) == 1
        with admin.services.database.write() as connection:
            service_accounts.delete(connection, account, None)
        ended = time.monotonic() + 5
        while response.read1(65536):
            assert time.monotonic() < ended, "the stream goes on"


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("after=zzz", "invalid-cursor"),
        ("after=e1~00000000", "invalid-cursor"),
        ("tenant=PSI", "invalid-request"),
        ("subject=%00", "invalid-request"),
        ("limit=0", "invalid-request"),
    ],
)
def test_a_wrong_question_is_refused(admin: Api, query: str, code: str) -> None:
    assert admin.get(f"/v1/events?{query}").code == code
    with stream(admin, f"?{query}") as response:
        assert response.status == 400


def test_a_suspended_tenants_members_go_on_reading(admin: Api, ann: Api) -> None:
    with admin.services.database.write() as connection:
        tenants.change(connection, "psi", None, state=TenantState.SUSPENDED)
    assert len(pages(ann)) == 1
