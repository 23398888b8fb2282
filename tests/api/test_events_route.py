"""Events through the API: pages and streams, and which events a reader may see."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import quote, urlsplit

import pytest

from api.conftest import Api, made_services, serving
from canton.api.events.hub import Hub, HubSettings, ReaderLimits
from canton.client.sse import Message, Parser
from canton.domain.tenant import TenantState
from canton.operations.engine.completion import Attribution, announce
from canton.store import outbox
from canton.store.access import service_accounts, tenants
from canton.store.database import Database
from tokens import Mint


@pytest.fixture
def api(database: Database, tokens: Mint) -> Iterator[Api]:
    """A server that looks for new events often."""
    services = made_services(database, tokens)
    hub = Hub(database, settings=HubSettings(poll=0.02, keep_alive=0.2, check=0.2))
    with serving(replace(services, hub=hub), tokens) as running:
        yield running
        # A reader that does not leave must not keep the server up.
        hub.draining = True


def test_every_change_is_an_event_of_its_name(admin: Api) -> None:
    """The names are a contract: pipelines wait for them, and --watch filters by their prefixes."""
    grant = {"subject": "test:bob", "role": "tenant-viewer", "tenant": "psi"}
    quota = {"nodes": 5, "open_operations": None, "service_accounts": None}
    binding = ""
    for method, path, body, kind in (
        ("POST", "/v1/sites", {"name": "alps"}, "site.created"),
        ("PATCH", "/v1/sites/alps", {"description": "new"}, "site.updated"),
        ("POST", "/v1/tenants", {"name": "psi"}, "tenant.created"),
        ("PATCH", "/v1/tenants/psi", {"description": "new"}, "tenant.updated"),
        ("PUT", "/v1/tenants/psi/quota", quota, "quota.set"),
        ("POST", "/v1/tenants/psi/suspend", None, "tenant.suspended"),
        ("POST", "/v1/tenants/psi/resume", None, "tenant.resumed"),
        ("POST", "/v1/bindings", grant, "member.granted"),
        ("DELETE", "/v1/bindings/{binding}", None, "member.revoked"),
        ("POST", "/v1/nodes/import", {"site": "alps", "nodes": [{"xname": "x1000c0s0b0n0"}]}, "node.imported"),
        ("POST", "/v1/nodes/power", {"nodes": "x1000c0s0b0n0", "to": "on"}, "operation.queued"),
        ("DELETE", "/v1/tenants/psi", None, "tenant.deleted"),
    ):
        count_before = len(happened(admin))
        reply = admin.call(method, path.format(binding=binding), body, reason="a test")
        assert reply.status < 300, reply.text
        binding = reply.json["id"] if path == "/v1/bindings" else binding
        assert happened(admin)[count_before:] == [kind]


def happened(api: Api) -> list[str]:
    return [event["kind"] for event in api.get("/v1/events?after=start").json["items"]]


@pytest.fixture
def ann(admin: Api) -> Api:
    for name in ("psi", "cscs"):
        tell(admin, name)
    return admin.as_("ann", "canton-tenant-viewer:psi")


def tell(admin: Api, tenant: str) -> None:
    """Write events of a tenant, which is created first if it does not exist."""
    with admin.services.database.write() as connection:
        if tenants.state(connection, tenant) is None:
            tenants.create(connection, tenant, "")
        outbox.append(connection, tenant, [outbox.Event("tenant.told", f"tenant:{tenant}", {"number": 1})])


def pages(api: Api, query: str = "") -> list[tuple[str, str | None]]:
    items = api.get(f"/v1/events{query}").json["items"]
    return [(event["subject"], event["tenant"]) for event in items]


@contextmanager
def stream(api: Api, query: str = "", **headers: str) -> Iterator[HTTPResponse]:
    where = urlsplit(api.url)
    connection = HTTPConnection(where.hostname or "", where.port, timeout=10)
    request_headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {api.token}"}
    connection.request(
        "GET", f"/v1/events{query}", headers=request_headers | {k.replace("_", "-"): v for k, v in headers.items()}
    )
    try:
        yield connection.getresponse()
    finally:
        connection.close()


def messages(response: HTTPResponse, count: int) -> list[Message]:
    """The next ``count`` messages; a stream that ends before fails the test."""
    parser, received = Parser(""), list[Message]()
    deadline = time.monotonic() + 30
    while len(received) < count:
        assert time.monotonic() < deadline, received
        chunk = response.read1(65536)
        assert chunk, f"ended after {received}"
        received += parser.feed(chunk)
    return received


def test_a_page_has_events_from_the_beginning(admin: Api, ann: Api) -> None:
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
    last_number, query = 0, "?limit=2"
    while query:
        page = ann.get(f"/v1/events{query}").json
        last_number += len(page["items"])
        query = f"?limit=2&after={quote(page['next'])}" if page["next"] else ""
    assert last_number == 5


def walked(api: Api, query: str) -> list[int]:
    """The numbers in the bodies of all pages."""
    numbers, cursor = [], ""
    while True:
        page = api.get(f"/v1/events?{query}{cursor}").json
        numbers += [event["body"]["number"] for event in page["items"]]
        if page["next"] is None:
            return numbers
        cursor = f"&after={quote(page['next'])}"


@pytest.fixture
def history(admin: Api, ann: Api) -> dict[int, str]:
    """The instants of ten more events by their numbers; those with even numbers are psi's."""
    for number in range(10, 20):
        event = outbox.Event("tenant.told", f"node:{number % 5}", {"number": number})
        with admin.services.database.write() as connection:
            outbox.append(connection, ("psi", "cscs")[number % 2], [event])
        time.sleep(0.005)
    return {event["body"]["number"]: event["at"] for event in admin.get("/v1/events").json["items"]}


@pytest.mark.usefixtures("history")
def test_the_newest_so_many(admin: Api, ann: Api) -> None:
    assert sorted(walked(admin, "newest=4")) == [16, 17, 18, 19]
    assert sorted(walked(admin, "newest=4&limit=1")) == [16, 17, 18, 19]
    assert walked(admin, "newest=3&tenant=psi") == walked(ann, "newest=3") == [14, 16, 18]
    assert len(walked(admin, "newest=1000")) == 12
    assert sorted(walked(admin, "newest=2&subject=node:3")) == [13, 18]
    assert walked(admin.as_("eve"), "newest=5") == []
    assert admin.get("/v1/events?newest=0").status == 400


def test_events_since_an_instant(admin: Api, ann: Api, history: dict[int, str]) -> None:
    assert sorted(walked(admin, f"since={history[16]}")) == [16, 17, 18, 19]
    assert sorted(walked(admin, f"since={history[17]}&limit=1")) == [17, 18, 19]
    assert walked(ann, f"since={history[17]}") == [18]
    assert walked(ann, f"since={history[12]}&newest=2") == [16, 18], "the later of the two positions"
    assert walked(ann, f"since={history[18]}&newest=9") == [18]
    assert walked(admin, "since=2099-01-01T00:00:00Z") == []
    assert admin.get("/v1/events?since=yesterday").status == 400


def test_a_stream_may_begin_in_the_past(ann: Api, history: dict[int, str]) -> None:
    with stream(ann, f"?since={history[16]}") as response:
        received = messages(response, 2)
    assert [json.loads(message.data)["body"]["number"] for message in received] == [16, 18]
    with stream(ann, f"?since={history[16]}", Last_Event_ID=received[0].id) as response:
        assert json.loads(messages(response, 1)[0].data)["body"]["number"] == 18


def test_a_member_receives_no_events_of_other_tenants(admin: Api, ann: Api) -> None:
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


def test_streams_count_for_the_tenant_that_they_may_follow(database: Database, tokens: Mint) -> None:
    hub = Hub(database, ReaderLimits(total=4, principal=10, tenant=1, reserve=1), HubSettings(keep_alive=0.2))
    with serving(replace(made_services(database, tokens), hub=hub), tokens) as running:
        admin = running.as_("root", "canton-provider-admin")
        tell(admin, "psi")
        ann, bob = (running.as_(name, "canton-tenant-viewer:psi") for name in ("ann", "bob"))
        with stream(ann) as first, stream(bob) as second, stream(bob, "?tenant=cscs") as third, stream(admin) as fourth:
            assert [response.status for response in (first, second, third, fourth)] == [200, 503, 503, 200]
        hub.draining = True


def test_a_stream_ends_when_its_token_is_revoked(admin: Api, ann: Api) -> None:
    new_account = service_accounts.NewAccount("ci", "psi", ("event.read",), "")
    with admin.services.database.write() as connection:
        account = service_accounts.create(connection, new_account, "test:root")["id"]
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


def test_events_name_actor_and_reason_only_to_readers_of_the_audit(admin: Api, ann: Api) -> None:
    """In pages and streams; in a tenant whose audit the reader may read, both fields are present."""
    both = admin.as_("bob", "canton-tenant-viewer:psi", "canton-tenant-operator:cscs")
    auditor = admin.as_("eve", "canton-auditor")
    with stream(ann) as for_viewer, stream(both) as for_both:
        for tenant in ("psi", "cscs"):
            changed = admin.call("PATCH", f"/v1/tenants/{tenant}", {"description": "x"}, reason="a secret merger")
            assert changed.status == 200
        received = [*messages(for_viewer, 1), *messages(for_both, 2)]
    bodies = [(json.loads(message.data)["tenant"], json.loads(message.data)["body"]) for message in received]
    assert all(("actor" in body, "reason" in body) == (tenant == "cscs",) * 2 for tenant, body in bodies)
    assert [tenant for tenant, _ in bodies] == ["psi", "psi", "cscs"]
    for reader, attributed in ((ann, set()), (both, {"cscs"}), (auditor, {"psi", "cscs"})):
        items = reader.get("/v1/events").json["items"]
        assert {item["tenant"] for item in items if item["body"].get("actor") == "test:root"} == attributed
        assert {item["tenant"] for item in items if item["body"].get("reason") == "a secret merger"} == attributed
    assert "merger" not in ann.get("/v1/events").text


def test_events_about_members_need_the_right_to_read_members(admin: Api) -> None:
    """In pages and streams."""
    tell(admin, "psi")
    account = {"name": "ci", "tenant": "psi", "permissions": ["event.read"]}
    account_reply = admin.post("/v1/service-accounts", account)
    assert account_reply.status == 201, account_reply.text
    robot = replace(admin, token=admin.post(f"{account_reply.headers['location']}/tokens").json["token"])
    assert robot.get("/v1/tenants/psi/members").status == 404
    with stream(robot) as followed:
        admin.post("/v1/bindings", {"subject": "test:max", "role": "tenant-viewer", "tenant": "psi"})
        assert admin.call("PATCH", "/v1/tenants/psi", {"description": "x"}).status == 200
        [message] = messages(followed, 1)
    assert json.loads(message.data)["kind"] == "tenant.updated"
    to_robot, to_admin = ({it["kind"] for it in who.get("/v1/events").json["items"]} for who in (robot, admin))
    assert "member.granted" in to_admin
    assert "tenant.updated" in to_robot
    assert not {kind for kind in to_robot if kind.startswith("member.")}


def test_the_reason_of_an_operation_is_withheld_too(admin: Api, ann: Api) -> None:
    with admin.services.database.write() as connection:
        announce(
            connection,
            "op_1",
            "psi",
            "operation.queued",
            Attribution("test:root", "a secret merger", {}),
            {"plan": "p"},
        )
    assert "merger" in admin.get("/v1/events").text
    (queued,) = (item for item in ann.get("/v1/events").json["items"] if item["kind"] == "operation.queued")
    assert queued["body"] == {"plan": "p"}


def test_a_forged_cursor_does_not_tell_which_tenants_there_are(admin: Api) -> None:
    for tenant in ("psi", "hidden"):
        assert admin.post("/v1/tenants", {"name": tenant}).status == 201
    for description in ("a", "b"):
        admin.call("PATCH", "/v1/tenants/psi", {"description": description})
    ann = admin.as_("ann", "canton-tenant-viewer:psi")
    own = ann.get("/v1/events?limit=1").json["next"]
    forged = [own.replace("~psi.1", f"~{tenant}.1") for tenant in ("hidden", "absent")]
    assert [ann.get(f"/v1/events?limit=1&after={cursor}").json["next"] for cursor in forged] == [own, own]
