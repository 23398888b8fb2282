"""What a hostile caller costs the others: memory of the server, and how long other callers wait.

Every scenario is one load, on a server of its own, with the settings that it ships with, except that a principal with
a role may send without a limit. ``Watch`` asks for ``/healthz`` (or another address) all the while and reads the
server's memory, so the figures are what a bystander sees.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

import sqlalchemy as sa

from bench.database_kinds import DatabaseKind
from bench.report import Row, median
from bench.serving import Installation, new_installation
from canton.api.middleware.connection import PIPELINE_LIMIT
from canton.store.schema import audit, node
from tokens import Mint, mint, new_key

MIB = 2**20
BODY = b'{"site":"alps","nodes":[' + b"{}," * ((16 * MIB - 64) // 3) + b"{}]}"
SLOW_READERS = 160
FLOOD = 5.0
"""Seconds of refused requests."""
PAGES = 10.0
"""Seconds of large pages: first those that may come at once, then those of the allowed rate."""
GREEDY = 75
"""Connections on which one principal asks for large pages."""
ELSEWHERE = "127.0.0.2"
"""Where such connections come from: a bystander of the same address would share its limits."""
QUERY = "x" * 30_000
SLOW_ISSUER = 10.0
"""Seconds that the issuer takes for an answer while it is slow."""
LOCKED = 8.0
"""Seconds for which a foreign session holds the head of the audit."""


def run(kinds: Sequence[DatabaseKind]) -> Iterator[Row]:
    for kind in kinds:
        if kind.name == "sqlite":
            yield from _bodies(kind)
            yield from _slow_readers(kind)
            yield from _slow_issuer(kind)
            yield from _event_places(kind)
        yield from _large_pages(kind)
        yield from _refusals(kind)
        if kind.name == "postgresql":
            yield from _foreign_lock(kind)


class Watch:
    """A bystander: what one request after the other takes, in milliseconds, and the most memory seen, in MB."""

    def __init__(self, installation: Installation, path: str = "/healthz", token: str | None = None) -> None:
        self._standing = installation
        self._path = path
        self._token = token
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.times: list[float] = []
        self.memory = installation.server.memory() / 1000
        self.failures = 0

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.is_set():
            start = time.perf_counter()
            try:
                with self._standing.line(self._token) as line:
                    status, _ = line.ask("GET", self._path)
            except (OSError, HTTPException):
                status = 0
            self.times.append((time.perf_counter() - start) * 1000)
            self.failures += status != 200
            self.memory = max(self.memory, self._standing.server.memory() / 1000)
            self._over.wait(0.01)

    def rows(self, what: str, note: str = "") -> Iterator[Row]:
        failures = f"{self.failures} of {len(self.times)} failed" if self.failures else ""
        notes = "; ".join(part for part in (note, failures) if part)
        yield Row(f"{what}: {self._path}, longest", max(self.times), "ms", note=notes)
        yield Row(f"{what}: {self._path}, median", median(self.times), "ms")
        yield Row(f"{what}: memory, most", self.memory, "MB")


def _bodies(kind: DatabaseKind) -> Iterator[Row]:
    """16 MiB of empty objects to the one address that takes so much."""
    for who, roles in (("stranger", None), ("caller without a role", []), ("administrator", ["canton-provider-admin"])):
        for count in (1, 10):
            with new_installation(kind) as installation, installation.line() as line:
                line.must("POST", "/v1/sites", {"name": "alps"})
                token = None if roles is None else installation.mint.token("eve", roles)
                before_mb = installation.server.memory() / 1000
                with Watch(installation) as watch, ThreadPoolExecutor(count) as pool:
                    statuses = sorted(pool.map(_send_body, [installation] * count, [token] * count))
                note = f"{before_mb:.0f} MB before; answers {statuses}"
                yield from watch.rows(f"{count} × 16 MiB of a {who}", note)


def _send_body(installation: Installation, token: str | None) -> int:
    """The status of the answer; 0 if the server closed the connection without one."""
    where = urlsplit(installation.url)
    head = (
        f"POST /v1/nodes/import HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Type: application/json\r\n"
        + (f"Authorization: Bearer {token}\r\n" if token else "")
        + f"Content-Length: {len(BODY)}\r\n\r\n"
    )
    with socket.create_connection((str(where.hostname), where.port or 0), timeout=120) as connection:
        # An early refusal closes the connection; the answer may still be readable.
        with suppress(OSError):
            connection.sendall(head.encode() + BODY)
        try:
            line = connection.makefile("rb").readline()
        except OSError:
            return 0
    return int(line.split()[1]) if line else 0


def _slow_readers(kind: DatabaseKind) -> Iterator[Row]:
    """Connections that ask for the description of the API and do not read it."""
    with new_installation(kind) as installation, ExitStack() as stack:
        where = urlsplit(installation.url)
        request = f"GET /openapi.json HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n".encode()
        cpu = installation.server.cpu()
        with Watch(installation, "/v1/whoami") as watch:
            for _ in range(SLOW_READERS):
                connection = stack.enter_context(socket.socket())
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                connection.bind((ELSEWHERE, 0))
                connection.connect((where.hostname, where.port))
                # Several requests in a row, so that more is to be sent than the system takes for a connection; not so
                # many that the connection would be dropped for that alone.
                connection.sendall(request * PIPELINE_LIMIT)
            time.sleep(10)
        used = installation.server.cpu() - cpu
        yield from watch.rows(f"{SLOW_READERS} readers of /openapi.json that do not read")
        yield Row("CPU of the server meanwhile", used, "s", note="10 s and the time to connect")
        yield Row("Tracebacks in the log", installation.server.log.read_text(errors="replace").count("Traceback"), "")


def _slow_issuer(kind: DatabaseKind) -> Iterator[Row]:
    """Tokens of an issuer that takes long to publish its keys, beside a service account."""
    with mint(lambda: SLOW_ISSUER) as issuer:
        table = f'\n[issuers.slow]\nurl = "{issuer.url}"\npreset = "flat"\n'
        with new_installation(kind, tables=table) as installation:
            account = _service_account(installation, "psi", "ci")
            forged = [Mint(issuer.url, new_key()).token("eve") for _ in range(60)]
            with Watch(installation, "/v1/whoami", account) as watch, ThreadPoolExecutor(60) as pool:
                statuses = list(pool.map(lambda token: _status(installation, token), forged))
            counts = {status: statuses.count(status) for status in sorted(set(statuses))}
            yield from watch.rows("60 unknown keys of a slow issuer, a service account", f"their answers {counts}")


def _status(installation: Installation, token: str) -> int:
    try:
        with installation.line(token) as line:
            return line.ask("GET", "/v1/whoami")[0]
    except (OSError, HTTPException):
        return 0


def _service_account(installation: Installation, tenant: str, name: str) -> str:
    """A token of a new service account that may read events."""
    with installation.line() as line:
        if line.ask("GET", f"/v1/tenants/{tenant}")[0] != 200:
            line.must("POST", "/v1/tenants", {"name": tenant})
        body = {"name": name, "tenant": tenant, "permissions": ["event.read", "node.read"]}
        account = json.loads(line.must("POST", "/v1/service-accounts", body))
        token_reply = line.must("POST", f"/v1/service-accounts/{account['id']}/tokens", {})
        return str(json.loads(token_reply)["token"])


def _event_places(kind: DatabaseKind) -> Iterator[Row]:
    """Streams of one tenant's service accounts, until one is refused; then one of the provider's."""
    few = "readers = 200\nreaders_each = 20\nreaders_tenant = 50\nreaders_reserve = 20"
    with new_installation(kind, api=few) as installation, ExitStack() as stack:
        opened = 0
        for n in range(12):
            token = _service_account(installation, "psi", f"a{n}")
            statuses = [_stream(stack, installation, token) for _ in range(20)]
            opened += statuses.count(200)
        answer = _stream(stack, installation, installation.admin)
        yield Row("Event places of 200 that one tenant's service accounts hold", opened, "")
        yield Row("Then a stream of the provider's is answered with", answer, "")


def _stream(stack: ExitStack, installation: Installation, token: str) -> int:
    where = urlsplit(installation.url)
    connection = stack.enter_context(closing(HTTPConnection(str(where.hostname), where.port, timeout=60)))
    connection.request("GET", "/v1/events", headers={"Authorization": f"Bearer {token}", "Accept": "text/event-stream"})
    return connection.getresponse().status


def _large_pages(kind: DatabaseKind) -> Iterator[Row]:
    """An operator of a tenant asks for pages of 1,000 nodes on many connections, at the rate that is allowed."""
    with new_installation(kind, limited=True) as installation:
        installation.populate(1000)
        with installation.database.engine.begin() as connection:
            connection.execute(sa.update(node).values(tenant="psi", state="assigned"))
        token = installation.mint.token("eve", ["canton-tenant-operator:psi"])
        end = time.monotonic() + 2 * PAGES
        with ThreadPoolExecutor(GREEDY) as pool:
            reading = [pool.submit(_read_pages, installation, token, end) for _ in range(GREEDY)]
            for part in ("first", "next"):
                with Watch(installation) as health, Watch(installation, "/v1/whoami", installation.admin) as whoami:
                    time.sleep(PAGES)
                what = f"{kind.name}: pages of 1,000 nodes on {GREEDY} connections, {part} {PAGES:g} s"
                yield from health.rows(what)
                yield from whoami.rows(what)
        statuses = sum((reader.result() for reader in reading), Counter[int]())
        for status, count in sorted(statuses.items()):
            yield Row(f"{kind.name}: such pages answered with {status}", count, "", note=f"in {2 * PAGES:g} s")


def _read_pages(installation: Installation, token: str, end: float) -> Counter[int]:
    statuses: Counter[int] = Counter()
    with installation.line(token, source=ELSEWHERE) as line:
        while time.monotonic() < end:
            try:
                statuses[line.ask("GET", "/v1/nodes?limit=1000", **{"Accept-Encoding": "gzip"})[0]] += 1
            except (OSError, HTTPException):
                line.close()
                statuses[0] += 1
    return statuses


def _refusals(kind: DatabaseKind) -> Iterator[Row]:
    """A caller without a role is refused with long query strings, as fast as four connections go."""
    with new_installation(kind) as installation:
        token = installation.mint.token("eve", [])
        end = time.monotonic() + FLOOD
        with Watch(installation, "/v1/whoami") as watch, ThreadPoolExecutor(4) as pool:
            requests = sum(pool.map(lambda _: _flood(installation, token, end), range(4)))
        audit_bytes = _audit_bytes(installation)
        with installation.line() as line:
            page = len(line.get("/v1/audit?limit=1000"))
        note = f"{requests} requests in {FLOOD:g} s"
        yield Row(f"{kind.name}: audit grows by refusals", audit_bytes / FLOOD / 1000, "kB/s", note=note)
        yield Row(f"{kind.name}: page of 1,000 records afterwards", page / 1000, "kB")
        yield from watch.rows(f"{kind.name}: refusals")


def _flood(installation: Installation, token: str, end: float) -> int:
    requests = 0
    with installation.line(token) as line:
        while time.monotonic() < end:
            try:
                line.ask("POST", f"/v1/tenants?q={QUERY}", {"name": "eve"})
            except (OSError, HTTPException):
                line.close()
            requests += 1
    return requests


def _audit_bytes(installation: Installation) -> int:
    length = sa.func.length(audit.c.subject) + sa.func.length(audit.c.details) + sa.func.length(audit.c.reason)
    with installation.database.read() as connection:
        return int(connection.execute(sa.select(sa.func.coalesce(sa.func.sum(length), 0))).scalar_one())


def _foreign_lock(kind: DatabaseKind) -> Iterator[Row]:
    """Another session holds the head of the audit while 40 writers wait for it."""
    with new_installation(kind) as installation:
        with installation.line() as line:
            line.must("POST", "/v1/sites", {"name": "alps"})
        with installation.database.engine.begin() as connection:
            # Else PostgreSQL would end this idle session before the time is over.
            connection.execute(sa.text("SET LOCAL idle_in_transaction_session_timeout = 0"))
            connection.execute(sa.text("SELECT * FROM audit_head FOR UPDATE"))
            end = time.monotonic() + LOCKED
            with Watch(installation, "/v1/whoami") as watch, ThreadPoolExecutor(40) as pool:
                answers = list(pool.map(lambda n: _write(installation, n), range(40)))
                while time.monotonic() < end:
                    time.sleep(0.1)
        took = [seconds for _, seconds in answers]
        counts = {status: [s for s, _ in answers].count(status) for status in sorted({s for s, _ in answers})}
        yield from watch.rows("postgresql: a foreign lock on the audit's head, 40 writers")
        yield Row("postgresql: a writer waits meanwhile, longest", max(took) * 1000, "ms", note=f"answers {counts}")


def _write(installation: Installation, n: int) -> tuple[int, float]:
    start = time.monotonic()
    try:
        with installation.line() as line:
            status, _ = line.ask("POST", "/v1/tenants", {"name": f"t{n}"})
    except (OSError, HTTPException):
        status = 0
    return status, time.monotonic() - start
