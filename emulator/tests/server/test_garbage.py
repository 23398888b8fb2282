"""Nonsense over real sockets: every answer is HTTP or a closed connection, and no state changes."""

from __future__ import annotations

import json
import random
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from csm_emulator.process import Emulator, emulate

HOST = b"Host: localhost\r\n"
CLOSE = b"Connection: close\r\n"
TRACES = (b"Traceback", b'File "', b".py", b"Error(", b"NoneType")
ROOTS = {
    "smd": "/hsm/v2/State/Components",
    "sls": "/v1/hardware",
    "bss": "/boot/v1/bootparameters",
    "pcs": "/v1/transitions",
    "capmc": "/capmc/v1/get_xname_status",
    "hbtd": "/hmi/v1/heartbeat",
    "hmnfd": "/hmi/v2/subscriptions",
    "scsd": "/v1/bmc/loadcfg",
    "fas": "/v1/actions",
    "keycloak": "/keycloak/realms/shasta/protocol/openid-connect/token",
}
SERVICES = (*ROOTS, "control", "url")


@pytest.fixture(scope="module")
def machine() -> Iterator[Emulator]:
    with emulate("tiny", "--speed", "0") as running:
        yield running


@pytest.fixture(autouse=True)
def unharmed(machine: Emulator) -> Iterator[None]:
    """After any test the state is unchanged, and everything works."""
    parts_before, last = machine.ask_control("GET", "/parts"), machine.ask_control("GET", "/status")["log"]
    yield
    assert machine.ask_control("GET", "/parts") == parts_before
    assert machine.log(last) == []
    assert machine.send("GET", machine.services["smd"] + "/hsm/v2/service/ready").status == 200
    headers = {"Authorization": f"Bearer {machine.token()}"}
    assert machine.send("GET", machine.url + "/apis/smd/hsm/v2/State/Components", headers=headers).status == 200


def address(machine: Emulator, service: str) -> str:
    return {"control": machine.control, "url": machine.url}.get(service) or machine.services[service]


def dial(machine: Emulator, service: str) -> socket.socket:
    place = urlsplit(address(machine, service))
    plain = socket.create_connection((place.hostname, place.port), timeout=20)
    if place.scheme == "http":
        return plain
    trust = ssl.create_default_context(cafile=machine.ca)
    return trust.wrap_socket(plain, server_hostname=place.hostname)


def say(machine: Emulator, service: str, data: bytes) -> bytes:
    """All bytes that arrive until the other side closes."""
    with dial(machine, service) as line:
        try:
            line.sendall(data)
            return b"".join(iter(lambda: line.recv(65536), b""))
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            return b""


def check(answer: bytes) -> None:
    """The answer is HTTP or empty, without a trace of Python."""
    assert answer == b"" or answer.startswith(b"HTTP/1.1 "), answer[:200]
    for trace in TRACES:
        assert trace not in answer, answer[:2000]
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"HTTP/1.1 500 " not in head or b"json" in head, answer[:500]
    if b"content-type: application/json" in head.lower() and body and b"HTTP/1.1 " not in body:
        json.loads(body.decode("utf-8"))


def request(method: str, target: str, body: bytes = b"", media: str = "application/json") -> bytes:
    head = f"{method} {target} HTTP/1.1\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n"
    return head.encode("latin-1", "replace") + HOST + CLOSE + b"\r\n" + body


READY = b"GET /hsm/v2/service/ready HTTP/1.1\r\n" + HOST
WRITE = b"POST /hsm/v2/groups HTTP/1.1\r\n" + HOST + CLOSE
MALFORMED = {
    "nothing": b"\r\n\r\n\0",
    "noise": random.Random(1).randbytes(4000),
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 600,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no method": b"FROB / HTTP/1.1\r\n" + HOST + b"\r\n",
    "bytes in the path": b"GET /hsm/v2/\xc3\xa9\xff HTTP/1.1\r\n" + HOST + b"\r\n",
    "two lengths": WRITE + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "length and chunks": WRITE + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "negative length": WRITE + b"Content-Length: -1\r\n\r\n{}",
    "endless length": WRITE + b"Content-Length: 99999999999999999999999\r\n\r\n{}",
    "no chunk": WRITE + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
    "folded header": READY + b"X: a\r\n b\r\n\r\n",
    "NUL in a header": READY + b"X: a\0b\r\n\r\n",
    "no name": READY + b": a\r\n\r\n",
    "tunnel": b"CONNECT localhost:443 HTTP/1.1\r\n" + HOST + b"\r\n",
}


@pytest.mark.parametrize("name", MALFORMED)
@pytest.mark.parametrize("service", ["smd", "url", "control"])
def test_what_is_no_http_is_refused(machine: Emulator, service: str, name: str) -> None:
    answer = say(machine, service, MALFORMED[name])
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
    check(answer)


def test_a_head_without_end_is_refused(machine: Emulator) -> None:
    for more in (b"X: " + b"a" * (2 << 20), b"X: a\r\n" * 400_000):
        answer = say(machine, "smd", READY + more)
        # A reset of the connection may discard the reply.
        assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")


ODD = {
    "to whom it may concern": (b"GET /hsm/v2/service/ready HTTP/1.1\r\n" + CLOSE + b"\r\n", 200),
    "old": (b"GET /hsm/v2/service/ready HTTP/1.0\r\n\r\n", 200),
    "whole address": (b"GET http://else.where/hsm/v2/service/ready HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", 200),
    "three at once": ((READY + b"\r\n") * 2 + READY + CLOSE + b"\r\n", 200),
    "asks before": (WRITE + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", 100),
    "chunks": (WRITE + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\nTrailer: x\r\n\r\n", 400),
    "another protocol": (READY + b"Connection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n", 200),
    "HEAD": (b"HEAD /hsm/v2/service/ready HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", 405),
    "half a name": (
        b"GET /hsm/v2/State/Components/%ff%c3?%ff=%fe&%00=%ed%a0%80 HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", 404),
    "ten thousand names": (
        b"GET /hsm/v2/State/Components?" + b"&".join(b"id=x1000c0s0b0n%d" % n for n in range(10_000)) + b" HTTP/1.1\r\n"
        + HOST + CLOSE + b"\r\n",
        200,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_odd_http_is_http(machine: Emulator, name: str) -> None:
    data, status = ODD[name]
    answer = say(machine, "smd", data)
    check(answer)
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:300]


def test_three_requests_at_once_have_three_answers(machine: Emulator) -> None:
    assert say(machine, "smd", ODD["three at once"][0]).count(b"HTTP/1.1 200 OK") == 3


def test_a_client_that_stops_sending_still_gets_the_answer(machine: Emulator) -> None:
    with dial(machine, "smd") as line:
        line.sendall(READY + b"\r\n")
        line.shutdown(socket.SHUT_WR)
        assert b"".join(iter(lambda: line.recv(65536), b"")).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("ends", ["length", "chunks"])
def test_half_a_request_is_none(machine: Emulator, ends: str) -> None:
    """The request has a complete chunk, and announces another one."""
    body = b'{"label":"half"}'
    head = {
        "length": b"Content-Length: 40\r\n\r\n" + body,
        "chunks": b"Transfer-Encoding: chunked\r\n\r\n10\r\n" + body,
    }
    with dial(machine, "smd") as line:
        line.sendall(WRITE + head[ends])
        line.shutdown(socket.SHUT_WR)
        assert line.recv(65536) == b""
    assert "half" not in machine.send("GET", machine.services["smd"] + "/hsm/v2/groups/labels").json()


def test_slow_and_silent_clients_delay_no_other_client(machine: Emulator) -> None:
    lines = [dial(machine, "smd") for _ in range(100)]
    try:
        for number, line in enumerate(lines):
            line.sendall((WRITE + b"Content-Length: 500\r\n\r\n{")[: 1 + number])
        assert machine.send("GET", machine.services["smd"] + "/hsm/v2/service/ready").status == 200
    finally:
        for line in lines:
            line.close()


@pytest.mark.parametrize("service", SERVICES)
def test_too_large_a_body_is_refused(machine: Emulator, service: str) -> None:
    body = b"[" + b" " * (65 << 20)
    with dial(machine, service) as line:
        try:
            line.sendall(request("POST", ROOTS.get(service, ROOTS["keycloak"]), body))
            assert line.recv(100).startswith(b"HTTP/1.1 413 ")
        except (BrokenPipeError, ConnectionResetError):
            pass


BODIES = {
    "nothing": b"",
    "blank": b" \r\n",
    "null": b"null",
    "number": b"1e999",
    "not a number": b'{"a":NaN,"b":Infinity}',
    "digits": b'{"a":' + b"9" * 5000 + b"}",
    "deep list": b"[" * 100_000,
    "deep and closed": b"[" * 990 + b"]" * 990,
    "deep object": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "twice": b'{"operation":"on","operation":"frob"}',
    "half a pair": b'{"label":"\\ud800","xname":"\\udfff"}',
    "no text": b"\xff\xfe\x00{",
    "NUL": b'{"label":"\\u0000"}',
    "open text": b'"' + b"a" * (1 << 20),
    "lists": b'{"ComponentIDs":[[],{},null,1],"hosts":{"a":[]},"location":[null,1,[]]}',
    "form": b"&=&a&grant_type=%ff&client_id=%00&=%ed%a0%80",
}


@pytest.mark.parametrize("name", BODIES)
def test_no_body_makes_a_service_stumble(machine: Emulator, name: str) -> None:
    for service, path in ROOTS.items():
        for method in ("POST", "PUT", "PATCH"):
            check(say(machine, service, request(method, path, BODIES[name])))
    form = request("POST", ROOTS["keycloak"], BODIES[name], "application/x-www-form-urlencoded")
    check(say(machine, "url", form))
    for path in ("/faults", "/clock/step", "/save", "/load", "/keycloak/settings"):
        check(say(machine, "control", request("POST", path, BODIES[name])))


words = st.sampled_from(
    [
        "hsm",
        "v2",
        "v1",
        "State",
        "Components",
        "groups",
        "apis",
        "smd",
        "bss",
        "..",
        ".",
        "",
        "%2e%2e",
        "%2F",
        "%00",
        "*",
    ]
) | st.text(st.characters(codec="ascii", exclude_characters=" #?\r\n\x7f", min_codepoint=33), max_size=8)
targets = st.lists(words, max_size=8).map(lambda segments: "/" + "/".join(segments))
queries = st.text(st.characters(codec="ascii", exclude_characters=" #\x7f", min_codepoint=33), max_size=40)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("service", SERVICES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(method="GET", target="/apis/smd/../../keycloak/%2e%2e/control/rotate", query="", body=None)
@given(
    method=st.sampled_from(["GET", "HEAD", "PUT", "PATCH", "OPTIONS", "TRACE", "LOCK", "PROPFIND"]),
    target=targets,
    query=queries,
    body=values,
)
def test_made_up_requests_have_answers(
    machine: Emulator, service: str, method: str, target: str, query: str, body: object
) -> None:
    target = ROOTS.get(service, "") + target if target.startswith("/.") else target
    check(say(machine, service, request(method, f"{target}?{query}" if query else target, json.dumps(body).encode())))


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.binary(max_size=200)
    | st.builds(
        lambda cut, noise: (WRITE + b"Content-Length: 2\r\n\r\n{}")[:cut] + noise, st.integers(0, 80), st.binary()
    )
)
def test_noise_is_answered_or_hung_up_on(machine: Emulator, data: bytes) -> None:
    with dial(machine, "smd") as line:
        try:
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
            check(b"".join(iter(lambda: line.recv(65536), b"")))
        except (BrokenPipeError, ConnectionResetError, OSError):
            pass


def test_a_step_beyond_all_numbers_is_refused(machine: Emulator, tmp_path: Path) -> None:
    for seconds in ("1" + "0" * 400, "1e400", "-0.1", "NaN", "true", "null"):
        answer = machine.send("POST", machine.control + "/clock/step", f'{{"seconds":{seconds}}}')
        assert answer.status == 400
        assert answer.json()["detail"].startswith("seconds must be")
    for path in ("/", ".", "..", "a" * 5000, str(tmp_path), "\ud800", "/dev/null", "/dev/zero"):
        for switch in ("/save", "/load"):
            assert machine.send("POST", machine.control + switch, json.dumps({"path": path})).status in (400, 404)
