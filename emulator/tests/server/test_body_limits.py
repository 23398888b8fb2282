"""The largest body of each service, at the gateway and beside it; a request is refused before its body is sent."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from csm_emulator.process import Emulator, emulate

MIB = 1 << 20
TOKENS = "/keycloak/realms/shasta/protocol/openid-connect/token"
CONFIG_MAPS = "/api/v1/namespaces/services/configmaps"


@pytest.fixture(scope="module")
def machine() -> Iterator[Emulator]:
    with emulate("tiny", "--speed", "0") as running:
        yield running


def announce(machine: Emulator, url: str, path: str, size: int, *headers: str) -> bytes:
    """The reply to the head of a request that announces the length of its body with ``Expect: 100-continue``."""
    place = urlsplit(url)
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Expect: 100-continue", f"Content-Length: {size}", *headers]
    trust = ssl.create_default_context(cafile=machine.ca)
    with (
        socket.create_connection((place.hostname, place.port), timeout=20) as plain,
        trust.wrap_socket(plain, server_hostname=place.hostname) as line,
    ):
        line.sendall("\r\n".join([*lines, "", ""]).encode())
        first = line.recv(65536)
        return first if first.startswith(b"HTTP/1.1 100 ") else first + b"".join(iter(lambda: line.recv(65536), b""))


@pytest.mark.parametrize(
    ("path", "most"),
    [
        ("/apis/smd/hsm/v2/State/Components", 5 * MIB),
        ("/apis/sls/v1/loadstate", 8 * MIB),
        ("/apis/bos/v2/components", 8 * MIB),
        ("/vcs/cray/csm-config-management.git/git-receive-pack", 64 * MIB),
        (TOKENS, MIB),
    ],
)
def test_the_gateway_takes_as_much_as_the_service_behind_it(machine: Emulator, path: str, most: int) -> None:
    token = f"Authorization: Bearer {machine.token()}"
    assert announce(machine, machine.url, path, most, token).startswith(b"HTTP/1.1 100 ")
    answer = announce(machine, machine.url, path, most + 1, token)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"server: istio-envoy" in answer


@pytest.mark.parametrize("headers", [[], ["Authorization: Bearer nonsense"]])
def test_who_has_no_token_is_refused_before_the_body(machine: Emulator, headers: list[str]) -> None:
    answer = announce(machine, machine.url, "/apis/smd/hsm/v2/State/Components", 100, *headers)
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert answer.endswith(b"Unauthorized Request")


def test_an_unknown_path_is_refused_before_the_body(machine: Emulator) -> None:
    assert announce(machine, machine.url, "/apis/missing/", 100).startswith(b"HTTP/1.1 404 ")


def test_kubernetes_takes_three_mebibytes(machine: Emulator) -> None:
    url = machine.addresses["kubernetes"]
    assert announce(machine, url, CONFIG_MAPS, 3 * MIB).startswith(b"HTTP/1.1 100 ")
    head, _, body = announce(machine, url, CONFIG_MAPS, 3 * MIB + 1).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 413 ")
    status = json.loads(body)
    assert (status["kind"], status["reason"], status["code"]) == ("Status", "RequestEntityTooLarge", 413)
    assert status["message"] == "Request entity too large: limit is 3145728"


def test_s3_takes_its_largest_part(machine: Emulator) -> None:
    assert announce(machine, machine.addresses["s3"], "/ims/x", 64 * MIB).startswith(b"HTTP/1.1 100 ")
