"""External servers over real sockets: hooks of tenants, called while the machine runs."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from csm_emulator.machine_choice import MachineRequest
from csm_emulator.site_runner import MAX_EXTERNAL_REQUESTS, SiteRunner
from csm_emulator.state.file import StateFile
from csm_emulator.transport import webhooks as outbox
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.certificates import issue
from csm_emulator.transport.external_answers import ExternalAnswers
from csm_emulator.transport.external_servers import ExternalRequest, ExternalServerUnreachable, send
from csm_emulator.transport.webhooks import Webhooks

TENANTS = "/apis/tapms.hpe.com/v1alpha3/namespaces/tenants/tenants"
Decide = Callable[[dict[str, Any]], int]


class Hook:
    """A server that allows or denies."""

    def __init__(self, decide: Decide) -> None:
        self.heard: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler(decide))
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"

    def _handler(self, decide: Decide) -> type[BaseHTTPRequestHandler]:
        requests = self.heard

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(decide(body))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def events(self) -> list[tuple[str, str]]:
        return [(body["eventtype"], body["tenantspec"]["state"]) for _, body in self.heard]

    def tenant_hook(self, *events: str, blocks: bool = True) -> dict[str, Any]:
        return {"name": "guard", "url": self.url, "blockingcall": blocks, "eventtypes": list(events)}


@contextmanager
def hooking(decide: Decide) -> Iterator[Hook]:
    hook = Hook(decide)
    thread = threading.Thread(target=hook.server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield hook
    finally:
        hook.server.shutdown()
        thread.join()
        hook.server.server_close()


def play(path: Path, scenario: Callable[[SiteRunner], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        with closing(StateFile(path)) as state_file:
            await asyncio.wait_for(
                scenario(SiteRunner(state_file, MachineRequest("tiny", speed=0.0), lambda *_: None)), 60
            )

    asyncio.run(run())


async def ask(running: SiteRunner, method: str, path: str, body: Any = None) -> Reply:
    data = b"" if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    return await running.answer_at("kubernetes", Call(method, path, (), headers, data, caller="kubernetes-admin"))


async def create(running: SiteRunner, *hooks: dict[str, Any]) -> Reply:
    query = (("type", "Node"), ("role", "Compute"))
    reply = await running.answer_at("smd", Call("GET", "/hsm/v2/State/Components", query))
    nodes = [reply.json()["Components"][0]["ID"]]
    spec = {
        "tenantname": "blue",
        "childnamespaces": ["slurm"],
        "tenantresources": [{"type": "compute", "xnames": nodes, "enforceexclusivehsmgroups": False}],
        "tenanthooks": list(hooks),
    }
    meta = {"name": "blue", "namespace": "tenants"}
    body = {"apiVersion": "tapms.hpe.com/v1alpha3", "kind": "Tenant", "metadata": meta, "spec": spec}
    return await ask(running, "POST", TENANTS, body)


async def state(running: SiteRunner) -> str:
    reply = await ask(running, "GET", f"{TENANTS}/blue")
    return str(reply.json()["spec"]["state"]) if reply.ok else ""


def test_a_server_outside_refuses(tmp_path: Path) -> None:
    async def scenario(running: SiteRunner) -> None:
        with hooking(lambda _: 418) as guard:
            reply = await create(running, guard.tenant_hook("CREATE"))
            assert reply.status == 403
            message = f"Blocking call to 'guard' hook at url {guard.url} returned a non-200 response code: 418"
            assert reply.json()["message"] == f'admission webhook "vtenant.kb.io" denied the request: {message}'
            assert await state(running) == ""
            ((headers, body),) = guard.heard
            assert (headers["block"], headers["content-type"]) == ("true", "application/x-www-form-urlencoded")
            assert (body["eventtype"], body["tenantspec"]["tenantname"]) == ("CREATE", "blue")
            assert (await create(running, guard.tenant_hook("CREATE", blocks=False))).status == 201
            assert guard.heard[-1][0]["block"] == "false"

    play(tmp_path / "state", scenario)


def test_every_hook_is_asked_once(tmp_path: Path) -> None:
    async def scenario(running: SiteRunner) -> None:
        with hooking(lambda _: 200) as first, hooking(lambda _: 204) as second:
            events = ("CREATE", "UPDATE")
            reply = await create(
                running,
                first.tenant_hook(*events, blocks=False),
                first.tenant_hook("DELETE"),
                second.tenant_hook(*events),
            )
            assert reply.status == 201, reply.body
            assert first.events() == second.events() == [("CREATE", "New")]
            await running.step(120)
            assert await state(running) == "Deployed"
            expected = [("CREATE", "New"), ("UPDATE", "Deploying"), ("UPDATE", "Deployed")]
            assert first.events() == second.events() == expected

    play(tmp_path / "state", scenario)


def test_what_the_operator_changes_may_be_refused_too(tmp_path: Path) -> None:
    answers = iter([503, 200, 503])

    async def scenario(running: SiteRunner) -> None:
        with hooking(lambda _: next(answers, 200)) as guard:
            assert (await create(running, guard.tenant_hook("UPDATE"))).status == 201
            await running.step(300)
            assert await state(running) == "Deployed"
            assert [was for _, was in guard.events()] == ["Deploying", "Deploying", "Deployed", "Deployed"]

    play(tmp_path / "state", scenario)


def test_while_it_thinks_others_are_answered_and_time_waits(tmp_path: Path) -> None:
    thinking, finished = threading.Event(), threading.Event()

    def think(body: dict[str, Any]) -> int:
        if body["tenantspec"]["state"] == "Deploying":
            thinking.set()
            finished.wait(30)
        return 200

    async def scenario(running: SiteRunner) -> None:
        with hooking(think) as guard:
            assert (await create(running, guard.tenant_hook("CREATE", "UPDATE"))).status == 201
            begin = running.site.clock.now()
            stepping = asyncio.ensure_future(running.step(3600))
            assert await asyncio.to_thread(thinking.wait, 20)
            assert (await running.answer_at("smd", Call("GET", "/hsm/v2/service/ready"))).status == 200
            assert running.site.clock.now() - begin <= 2
            assert not stepping.done()
            finished.set()
            await stepping
            assert running.site.clock.now() == begin + 3600
            assert guard.events() == [("CREATE", "New"), ("UPDATE", "Deploying"), ("UPDATE", "Deployed")]

    play(tmp_path / "state", scenario)


def test_a_hook_may_ask_the_machine_before_it_answers(tmp_path: Path) -> None:
    async def scenario(running: SiteRunner) -> None:
        loop = asyncio.get_running_loop()

        def look(_: dict[str, Any]) -> int:
            coroutine = ask(running, "GET", TENANTS)
            reply = asyncio.run_coroutine_threadsafe(coroutine, loop).result(20)
            return 200 if reply.json()["items"] == [] else 500

        with hooking(look) as guard:
            assert (await create(running, guard.tenant_hook("CREATE"))).status == 201

    play(tmp_path / "state", scenario)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1:9/", "dial tcp: connect: connection refused"),
        ("http://192.0.2.1/", "dial tcp: lookup 192.0.2.1: the emulator talks to loopback only"),
        ("ftp://127.0.0.1/", 'unsupported protocol scheme "ftp"'),
        ("", 'unsupported protocol scheme ""'),
    ],
)
def test_a_server_that_does_not_answer(tmp_path: Path, url: str, message: str) -> None:
    async def scenario(running: SiteRunner) -> None:
        wish = {"name": "guard", "url": url, "blockingcall": True, "eventtypes": ["CREATE"]}
        reply = await create(running, wish)
        assert reply.status == 403
        assert reply.json()["message"].endswith(f'denied the request: Post "{url}": {message}')
        assert await state(running) == ""
        assert (await create(running, {**wish, "blockingcall": False})).status == 201

    play(tmp_path / "state", scenario)


def question(url: str) -> ExternalRequest:
    return ExternalRequest(url, b"{}", (("content-type", "application/json"),))


def test_a_server_that_is_silent_is_given_up(tmp_path: Path) -> None:
    never = threading.Event()

    def wait(_: dict[str, Any]) -> int:
        never.wait(60)
        return 200

    with hooking(wait) as hook:
        began = time.monotonic()
        with pytest.raises(ExternalServerUnreachable, match="context deadline exceeded"):
            send(question(hook.url), 0.2)
        assert time.monotonic() - began < 30
        never.set()


@pytest.mark.parametrize("tls", [False, True])
def test_a_server_that_never_comes_to_an_end_is_given_up(tmp_path: Path, tls: bool) -> None:
    """Every byte comes in time, but all of them together take too long."""
    over = threading.Event()

    def drip(door: socket.socket) -> None:
        line, _ = door.accept()
        with line, suppress(OSError):
            line.sendall(b"\x16\x03\x03\x3f\xff" if tls else b"HTTP/1.1 200 OK\r\nx-slow: ")
            while not over.wait(0.02):
                line.sendall(b"a")

    with socket.create_server(("127.0.0.1", 0)) as door:
        thread = threading.Thread(target=drip, args=(door,))
        thread.start()
        try:
            with pytest.raises(ExternalServerUnreachable, match="context deadline exceeded"):
                send(question(f"http{'s' if tls else ''}://127.0.0.1:{door.getsockname()[1]}/"), 0.3)
        finally:
            over.set()
            thread.join()


def test_notices_to_a_silent_server_do_not_delay_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "TIMEOUT", 60.0)
    consulted, never = threading.Event(), threading.Event()

    def wait(_: dict[str, Any]) -> int:
        consulted.set()
        never.wait(60)
        return 200

    async def scenario(hook: Hook) -> None:
        box = Webhooks()
        sending = asyncio.create_task(box.send_forever())
        box.post(hook.url, {})
        assert await asyncio.to_thread(consulted.wait, 30)
        sending.cancel()

    with hooking(wait) as hook:
        began = time.monotonic()
        asyncio.run(scenario(hook))
        never.set()
        assert time.monotonic() - began < 30, "it waited for the time limit"


class Redirecting(BaseHTTPRequestHandler):
    """``/STATUS/…`` redirects to ``/…`` with that status; the rest of the path is the last answer."""

    requests: ClassVar[list[tuple[str, str, bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        self.requests.append((self.command, self.path, body))
        status, _, location = self.path[1:].partition("/")
        self.send_response(int(status))
        if location:
            self.send_header("Location", f"/{location}" if location != "nowhere" else "http://192.0.2.1/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def moving() -> Iterator[str]:
    Redirecting.requests.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Redirecting) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "status", "methods"),
    [
        ("/307/308/204", 204, ["POST", "POST", "POST"]),
        ("/302/200", 200, ["POST", "GET"]),
        ("/303/307/418", 418, ["POST", "GET", "GET"]),
        ("/304/200", 304, ["POST"]),
        ("/301", 301, ["POST"]),
        ("/307" * 9 + "/200", 200, ["POST"] * 10),
    ],
)
def test_a_redirect_is_followed(moving: str, path: str, status: int, methods: list[str]) -> None:
    assert send(question(moving + path), 20).status == status
    assert [method for method, _, _ in Redirecting.requests] == methods
    assert {body for method, _, body in Redirecting.requests if method == "POST"} == {b"{}"}
    assert {body for method, _, body in Redirecting.requests if method == "GET"} <= {b""}


def test_redirects_are_bounded_and_stay_on_loopback(moving: str) -> None:
    with pytest.raises(ExternalServerUnreachable, match="stopped after 10 redirects"):
        send(question(moving + "/307" * 10 + "/200"), 20)
    assert len(Redirecting.requests) == 10
    with pytest.raises(ExternalServerUnreachable, match="loopback only"):
        send(question(f"{moving}/307/nowhere"), 20)


def test_the_number_of_servers_is_bounded(tmp_path: Path) -> None:
    async def scenario(running: SiteRunner) -> None:
        with hooking(lambda _: 200) as guard:
            many = [
                {**guard.tenant_hook("CREATE"), "url": f"{guard.url}/{n}"} for n in range(MAX_EXTERNAL_REQUESTS + 1)
            ]
            assert (await create(running, *many)).status == 503
            assert await state(running) == ""
            assert (await create(running, *many[1:])).status == 201

    play(tmp_path / "state", scenario)


def test_a_certificate_of_its_own_is_as_good_as_any(tmp_path: Path) -> None:
    issued = issue(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.certificate, issued.key)
    with hooking(lambda _: 202) as hook:
        hook.server.socket = context.wrap_socket(hook.server.socket, server_side=True)
        assert send(question(hook.url.replace("http:", "https:")), 10).status == 202


@pytest.mark.parametrize("url", ["http://[", "http://127.0.0.1:x/", "\ud800", "http://127.0.0.1/\ud800 \n"])
def test_an_invalid_url_is_not_called(url: str) -> None:
    with pytest.raises(ExternalServerUnreachable):
        send(question(url), 1)


def test_notices_go_out_in_order_and_a_lost_one_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(hook: Hook) -> None:
        box = Webhooks()
        sending = asyncio.create_task(box.send_forever())
        box.post("http://192.0.2.1/", {})
        box.post("http://[", {})
        box.post(hook.url, {"n": 1})
        assert await asyncio.to_thread(arrived.wait, 20)
        sending.cancel()

    def note(_: dict[str, Any]) -> int:
        arrived.set()
        return 200

    arrived = threading.Event()
    with hooking(note) as hook:
        asyncio.run(scenario(hook))
    assert [body for _, body in hook.heard] == [{"n": 1}]
    assert "notice to http://192.0.2.1/ failed" in caplog.text
    assert "loopback only" in caplog.text


def test_the_end_does_not_wait_for_a_silent_server() -> None:
    never = threading.Event()

    def wait(_: dict[str, Any]) -> int:
        never.wait(60)
        return 200

    async def scenario(hook: Hook) -> None:
        ExternalAnswers().fetch(question(hook.url))
        await asyncio.sleep(0.1)

    with hooking(wait) as hook:
        began = time.monotonic()
        asyncio.run(scenario(hook))
        assert time.monotonic() - began < 30
        never.set()
