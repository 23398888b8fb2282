"""Starts an emulator as a process of its own, for tests of clients of CSM. Standard library only.

with emulate("tiny", "--speed", "0") as machine:
    token = machine.token("admin")
    ... your client, with machine.url and machine.ca ...
    machine.step(60)
    assert machine.part("x1000c0s0b0n0")["power"] == "on"
"""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from csm_emulator.records import Json, Record

TOKEN = "/keycloak/realms/shasta/protocol/openid-connect/token"  # noqa: S105 (a path)

STOP_LIMIT = 15.0
TIMEOUT = 600.0
"""Seconds; a step of the clock may take long."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Json:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Emulator:
    """A running emulator: its addresses, its users with their passwords, and the calls of its control API."""

    pid: int
    machine: str
    url: str
    ca: str | None
    users: list[Record]
    clients: dict[str, str]
    """Secrets by client id."""
    services: dict[str, str]
    control: str
    addresses: dict[str, str]
    """URLs of the services that are not behind the gateway: s3, kubernetes, vault."""
    kubeconfig: str
    vcs: dict[str, str]
    """User and password for git."""
    node_password: str
    """The password of root at the nodes' consoles."""

    def password(self, username: str) -> str:
        return next(str(user["password"]) for user in self.users if user["username"] == username)

    def token(self, username: str = "admin") -> str:
        """An access token of Keycloak for a user, by password, as the `cray` command gets it."""
        form = {
            "grant_type": "password",
            "client_id": "shasta",
            "username": username,
            "password": self.password(username),
        }
        answer = self.send(
            "POST", self.url + TOKEN, urlencode(form), {"Content-Type": "application/x-www-form-urlencoded"}
        )
        return str(answer.json()["access_token"])

    def send(self, method: str, url: str, body: str | None = None, headers: dict[str, str] | None = None) -> Answer:
        """One request; the emulator's own CA is trusted."""
        parts = urlsplit(url)
        connection = self.connection(url)
        try:
            connection.request(method, parts._replace(scheme="", netloc="").geturl(), body, headers or {})
            answer = connection.getresponse()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def connection(self, url: str) -> http.client.HTTPConnection:
        """A connection for several requests."""
        place = urlsplit(url)
        host, port = place.hostname or "", place.port
        if place.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=TIMEOUT)
        trust = ssl.create_default_context(cafile=self.ca)
        return http.client.HTTPSConnection(host, port, timeout=TIMEOUT, context=trust)

    def ask_control(self, method: str, path: str, body: object = None) -> Json:
        """One request to the control API; raises ``RuntimeError`` with the text of its error."""
        answer = self.send(method, self.control + path, None if body is None else json.dumps(body))
        if answer.status >= 400:
            raise RuntimeError(answer.json()["detail"])
        return answer.json() if answer.body else None

    def part(self, xname: str) -> Record:
        """The real state of a part, whatever the services report."""
        part: Record = self.ask_control("GET", f"/parts?{urlencode({'xname': xname})}")["parts"][0]
        return part

    def log(self, after: int = 0) -> list[Record]:
        entries: list[Record] = self.ask_control("GET", f"/log?after={after}&limit=10000")["entries"]
        return entries

    def fault(self, kind: str, targets: str = "*", **more: object) -> str:
        """Sets a fault, with ``probability=``, ``remaining=`` and ``facts={}``; returns its id, for ``clear``."""
        return str(self.ask_control("POST", "/faults", {"kind": kind, "targets": targets, **more})["id"])

    def clear(self, fault: str | None = None) -> None:
        self.ask_control("DELETE", f"/faults/{fault}" if fault else "/faults")

    def step(self, seconds: float) -> None:
        """Moves virtual time forward; returns when everything that happens in these seconds has happened."""
        self.ask_control("POST", "/clock/step", {"seconds": seconds})

    def speed(self, factor: float) -> None:
        self.ask_control("PATCH", "/clock", {"speed": factor})


@contextmanager
def emulate(topology: str, *options: str) -> Iterator[Emulator]:
    """Starts an emulator on free ports with ``--services``, and ends it with SIGTERM."""
    command = [sys.executable, "-m", "csm_emulator", topology, "--port", "0", "--json", "--services", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 (our own command)
        try:
            line = process.stdout.readline() if process.stdout else ""
            if not line:
                raise RuntimeError(f"the emulator did not start: {' '.join(command)}")
            yield Emulator(pid=process.pid, **json.loads(line))
        finally:
            process.terminate()
            try:
                process.wait(STOP_LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()
