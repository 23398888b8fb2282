"""Which requests are repeated, which are not, and the error when the server does not answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from canton import __version__
from canton.client import Client, Incompatible, Problem, ReadOnly, Unreachable
from canton.client import transport as transports
from canton.client.calls import Caller
from canton.client.credentials import Token
from canton.client.transport import Address, Transport
from canton.domain.errors import CantonError, NotFound, UnknownTenant
from client import samples
from client.scripted_server import Reply, Script, items, problem, serving


@pytest.fixture
def script() -> Iterator[Script]:
    with serving(Script()) as served:
        yield served


@pytest.fixture
def client(script: Script, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setattr(transports, "FIRST_PAUSE", 0.001)
    with Client(script.url, "t") as api_client:
        yield api_client


BUSY = problem(503, "too-busy", "later", {"Retry-After": "0"})
CUT = Reply(cut=True)


class TestRepeating:
    @pytest.mark.parametrize("trouble", [BUSY, CUT], ids=["busy", "cut"])
    def test_what_reads_is_repeated(self, client: Client, script: Script, trouble: Reply) -> None:
        script.on("GET /v1/tenants/psi", trouble, trouble, Reply(body=samples.tenant()))
        assert client.tenants.get("psi")["name"] == "psi"
        assert len(script.requests) == 3

    @pytest.mark.parametrize("trouble", [BUSY, CUT], ids=["busy", "cut"])
    def test_a_change_is_repeated_with_the_same_key(self, client: Client, script: Script, trouble: Reply) -> None:
        script.on("POST /v1/tenants", trouble, Reply(201, samples.tenant()))
        client.tenants.create("psi")
        client.tenants.create("psi")
        first, second, third = [request.headers["idempotency-key"] for request in script.requests]
        assert first == second != third

    def test_it_ends(self, client: Client, script: Script) -> None:
        script.on("GET /v1/tenants/psi", CUT)
        with pytest.raises(Unreachable, match="cannot be reached"):
            client.tenants.get("psi")
        assert len(script.requests) == transports.TRIES
        script.on("GET /v1/tenants/psi", BUSY)
        with pytest.raises(Problem) as caught:
            client.tenants.get("psi")
        assert caught.value.exit_code == 8

    @pytest.mark.parametrize(
        "trouble",
        [
            problem(503, "database-unavailable", "gone"),
            problem(500, "x", "x"),
            problem(409, "conflict", "x"),
            Reply(429),
        ],
        ids=["503 without Retry-After", "500", "409", "429"],
    )
    def test_no_other_answer_is_asked_for_again(self, client: Client, script: Script, trouble: Reply) -> None:
        script.on("GET /v1/tenants/psi", trouble)
        with pytest.raises(Problem):
            client.tenants.get("psi")
        assert len(script.requests) == 1

    def test_a_change_without_a_key_is_sent_once(self, script: Script) -> None:
        script.on("POST /x", CUT)
        transport = Transport(Address(script.url))
        with pytest.raises(Unreachable):
            transport.exchange(transports.Request("POST", "/x"))
        assert len(script.requests) == 1

    def test_the_server_says_how_long_to_wait_within_reason(self) -> None:
        assert [transports._retry_after_seconds(text) for text in ("3", "86400", "Sun, 06 Nov 1994", "²")] == [
            3,
            10,
            0,
            0,
        ]


def test_one_connection_serves_many_requests(client: Client, script: Script) -> None:
    script.on("GET /v1/tenants/psi", Reply(body=samples.tenant()))
    client.tenants.get("psi")
    first = client._api.transport._connection
    client.tenants.get("psi")
    assert client._api.transport._connection is first is not None


def test_a_connection_that_went_stale_is_made_anew(client: Client, script: Script) -> None:
    script.on("GET /v1/tenants/psi", Reply(body=samples.tenant(), headers={"Connection": "close"}))
    for _ in range(3):
        assert client.tenants.get("psi")["name"] == "psi"


def test_pages_are_read_to_the_end(client: Client, script: Script) -> None:
    script.on("GET /v1/tenants", items(samples.tenant("a"), next_page="c1"), items(samples.tenant("b"), next_page=None))
    assert [tenant["name"] for tenant in client.tenants.list(state="active")] == ["a", "b"]
    assert [request.query for request in script.requests] == [
        {"state": "active", "limit": "1000"},
        {"state": "active", "limit": "1000", "after": "c1"},
    ]


def test_a_limit_ends_the_reading(client: Client, script: Script) -> None:
    script.on("GET /v1/tenants", items(*map(samples.tenant, "abc"), next_page="c1"))
    assert len(list(client.tenants.list(limit=2))) == 2
    assert [request.query["limit"] for request in script.requests] == ["2"]


class TestProblems:
    def test_are_the_leaf_of_the_tree_as_well(self, client: Client, script: Script) -> None:
        script.on("GET /v1/tenants/psi", problem(404, "unknown-tenant", "no tenant psi", tenant="psi"))
        with pytest.raises(UnknownTenant) as caught:
            client.tenants.get("psi")
        raised = caught.value
        assert isinstance(raised, Problem)
        assert (raised.code, raised.status, raised.exit_code, raised.message) == (
            "unknown-tenant",
            404,
            3,
            "no tenant psi",
        )
        assert (raised.details, raised.request) == ({"tenant": "psi"}, "req-1")

    @pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b'"x"', b'{"code": 7, "details": []}'])
    def test_need_no_body(self, client: Client, script: Script, body: bytes) -> None:
        script.on("GET /v1/tenants/psi", Reply(404, raw=body))
        with pytest.raises(NotFound):
            client.tenants.get("psi")

    def test_of_a_newer_server_keep_their_code(self, client: Client, script: Script) -> None:
        script.on("GET /v1/tenants/psi", problem(409, "brand-new", "x"))
        with pytest.raises(Problem) as caught:
            client.tenants.get("psi")
        assert (caught.value.code, caught.value.exit_code) == ("brand-new", 5)

    def test_a_redirect_is_not_followed_with_a_token(self, client: Client, script: Script) -> None:
        script.on("GET /v1/tenants/psi", Reply(302, headers={"Location": "http://127.0.0.1:1/"}))
        with pytest.raises(CantonError):
            client.tenants.get("psi")
        assert len(script.requests) == 1


MAJOR, MINOR = (int(part) for part in __version__.split(".")[:2])


class TestVersions:
    @pytest.mark.parametrize("apart", [-1, 0, 1])
    def test_one_minor_version_apart_is_fine(self, client: Client, script: Script, apart: int) -> None:
        script.version = f"{MAJOR}.{MINOR + apart}.7"
        script.on("GET /v1/tenants/psi", Reply(body=samples.tenant()))
        assert client.tenants.get("psi")["name"] == "psi"

    @pytest.mark.parametrize(("apart", "older"), [(-2, "the server"), (2, "this canton")])
    def test_two_are_not(self, client: Client, script: Script, apart: int, older: str) -> None:
        script.version = f"{MAJOR}.{MINOR + apart}.0"
        script.on("GET /v1/tenants/psi", Reply(body=samples.tenant()), problem(400, "client-too-old", "x"))
        for _ in range(2):
            with pytest.raises(Incompatible, match=f"Upgrade {older}") as caught:
                client.tenants.get("psi")
            assert caught.value.exit_code == 1

    @pytest.mark.parametrize("version", [f"{MAJOR + 1}.{MINOR}.0", "x", ""])
    def test_another_major_version_or_none_is_not(self, client: Client, script: Script, version: str) -> None:
        script.on("GET /v1/tenants/psi", Reply(body=samples.tenant(), headers={"Canton-Version": version}))
        script.version = ""
        with pytest.raises(Incompatible):
            client.tenants.get("psi")


class TestUnreachable:
    @pytest.mark.parametrize("url", ["canton.example.org", "ftp://x", "https://", "", "http://x?y"])
    def test_an_address_that_is_none_says_how_to_write_it(self, url: str) -> None:
        with pytest.raises(Unreachable, match="write https://host"):
            Client(url).whoami()

    def test_a_token_does_not_travel_in_the_open(self) -> None:
        with pytest.raises(Unreachable, match="not encrypted"):
            Client("http://canton.example.org", "t").whoami()

    def test_a_server_that_says_nothing_is_not_waited_for_for_ever(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as mute:
            client = Client(f"http://127.0.0.1:{mute.getsockname()[1]}", timeout=0.1)
            with pytest.raises(Unreachable, match=r"did not answer within 0\.1 s"):
                client.whoami()
            client.close()

    def test_what_is_not_http_is_unreachable(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as odd:
            thread = threading.Thread(target=_greet, args=(odd, transports.TRIES), daemon=True)
            thread.start()
            with pytest.raises(Unreachable, match="cannot be reached"):
                Client(f"http://127.0.0.1:{odd.getsockname()[1]}").whoami()
            thread.join(5)

    def test_a_damaged_answer_is_unreachable(self, client: Client, script: Script) -> None:
        script.on("GET /v1/whoami", Reply(raw=b"no gzip", headers={"Content-Encoding": "gzip"}))
        with pytest.raises(Unreachable, match="damaged"):
            client.whoami()


def _greet(listening: socket.socket, times: int) -> None:
    for _ in range(times):
        with listening.accept()[0] as connection:
            connection.recv(65536)
            connection.sendall(b"220 mail ready\r\n")


def test_a_read_only_client_sends_no_change(script: Script) -> None:
    client = Client.over(Transport(Address(script.url)), Caller(Token("t"), "canton/0.2.0", read_only=True))
    with pytest.raises(ReadOnly):
        client.tenants.delete("psi")
    assert script.requests == []


def test_a_name_cannot_reach_into_another_path(client: Client, script: Script) -> None:
    script.on("DELETE /v1/tenants/..%2Fsites%2Falps", Reply(204))
    client.tenants.delete("../sites/alps")
    assert script.lines() == ["DELETE /v1/tenants/..%2Fsites%2Falps"]


def test_the_tenant_of_the_client_is_meant_where_none_is_named(script: Script) -> None:
    script.on("GET /v1/nodes", items())
    with Client(script.url, tenant="psi") as client:
        list(client.nodes.list())
        list(client.nodes.list(tenant="cscs"))
    assert [request.query["tenant"] for request in script.requests] == ["psi", "cscs"]


def test_waiting_for_an_operation(client: Client, script: Script) -> None:
    script.on(
        "GET /v1/operations/op_1", *(Reply(body=samples.operation(state, steps_done)) for state, steps_done in STORY)
    )
    followed = [
        (state_document["state"], state_document["steps"]["done"])
        for state_document in client.operations.follow("op_1")
    ]
    assert followed == [("queued", 0), ("running", 1), ("done", 2)]
    assert client.operations.wait("op_1")["state"] == "done"


STORY = [("queued", 0), ("queued", 0), ("running", 1), ("done", 2)]


def test_following_survives_a_server_that_is_away(client: Client, script: Script) -> None:
    away = [CUT] * transports.TRIES
    script.on(
        "GET /v1/operations/op_1", Reply(body=samples.operation()), *away, Reply(body=samples.operation("done", 2))
    )
    assert [state_document["state"] for state_document in client.operations.follow("op_1")] == ["queued", "done"]
