"""The product as a site runs it: ``canton serve`` and ``canton worker`` as processes, with the settings they ship with.

Their logs go where a service manager would take them, to a file; the end of it is shown when one does not start.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa

from bench.database_kinds import DatabaseKind
from canton.domain.nodeset import nodeset
from canton.store.database import Database
from canton.store.schema import worker
from tokens import NAME, Mint, mint

SITE = "alps"
TENANTS = ("psi", "cscs")
PATIENCE = 60.0
_CONFIG = """\
[api]
{api}
listen = "127.0.0.1:0"

[issuers.{name}]
url = "{issuer}"
preset = "flat"

[sites.{site}]
power = "demo"
folder = "{folder}"
"""


class Process:
    """A process that the benchmark started and stops by its id."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self.log = log
        with log.open("ab") as errors:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", "canton", *command], env=environment, stdout=subprocess.PIPE, stderr=errors
            )
        self.pid = self._popen.pid

    def line(self) -> Any:
        """The JSON line that it prints when it is ready."""
        out = self._popen.stdout
        if out is None or not select.select([out], [], [], PATIENCE)[0] or not (text := out.readline()):
            raise RuntimeError(f"process {self.pid} did not get ready; it said: {self.said()}")
        return json.loads(text)

    def said(self) -> str:
        return self.log.read_text(errors="replace")[-2000:]

    @property
    def is_alive(self) -> bool:
        return self._popen.poll() is None

    def cpu(self) -> float:
        """Seconds of user and system time of all its threads so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Resident memory now, in kB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return next(float(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))

    def stop(self) -> None:
        self._popen.terminate()
        try:
            self._popen.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        if self._popen.stdout is not None:
            self._popen.stdout.close()


class Line:
    """One connection, kept from request to request."""

    def __init__(self, url: str, token: str, source: str = "127.0.0.1") -> None:
        where = urlsplit(url)
        self._connection = HTTPConnection(where.hostname or "", where.port, PATIENCE, (source, 0))
        self._headers = {"Authorization": f"Bearer {token}", "Canton-Reason": "bench"}

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
        raw = None if body is None else json.dumps(body).encode()
        sent_headers = {**self._headers, **headers, **({"Content-Type": "application/json"} if raw is not None else {})}
        self._connection.request(method, path, raw, sent_headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def get(self, path: str, **headers: str) -> bytes:
        return self.must("GET", path, **headers)

    def must(self, method: str, path: str, body: Any = None, **headers: str) -> bytes:
        status, text = self.ask(method, path, body, **headers)
        if status >= 300:
            raise AssertionError(f"{method} {path} answered {status}: {text[:500].decode(errors='replace')}")
        return text

    def close(self) -> None:
        self._connection.close()


@dataclass(frozen=True, slots=True)
class Installation:
    """A database, an issuer, and the configuration that joins them; ``url`` is the running server's."""

    database: Database
    mint: Mint
    folder: Path
    environment: Mapping[str, str]
    server: Process
    url: str

    @property
    def admin(self) -> str:
        return self.mint.token("root", ["canton-provider-admin"])

    @contextmanager
    def line(self, token: str | None = None, source: str = "127.0.0.1") -> Iterator[Line]:
        opened = Line(self.url, token or self.admin, source)
        try:
            yield opened
        finally:
            opened.close()

    @contextmanager
    def worker(self) -> Iterator[Process]:
        """A worker that has registered in the database and waits for work."""
        process = Process(["worker"], self.environment, self.folder / "worker.log")
        try:
            self._await_arrival(process)
            yield process
        finally:
            process.stop()

    def _await_arrival(self, process: Process) -> None:
        mine = sa.select(worker.c.id).where(worker.c.pid == process.pid)
        until = time.monotonic() + PATIENCE
        while process.is_alive and time.monotonic() < until:
            with self.database.read() as connection:
                if connection.execute(mine).first():
                    return
            time.sleep(0.05)
        raise RuntimeError(f"the worker did not get ready; it said: {process.said()}")

    def populate(self, count: int) -> list[str]:
        """Create a site with ``count`` nodes, whose power can be switched, and two tenants, through the API."""
        names = nodeset.expand("x[1000-1009]c[0-7]s[0-7]b[0-1]n[0-7]")[:count]
        for name in names:
            (self.folder / "power" / name).write_text("off")
        with self.line() as line:
            line.must("POST", "/v1/sites", {"name": SITE})
            for tenant in TENANTS:
                line.must("POST", "/v1/tenants", {"name": tenant})
            node_rows = [{"xname": name, "nid": n, "state": "free"} for n, name in enumerate(names)]
            line.must("POST", "/v1/nodes/import", {"site": SITE, "nodes": node_rows})
        return names


@contextmanager
def new_installation(
    kind: DatabaseKind, api: str = "readers_each = 2000", tables: str = "", *, limited: bool = False
) -> Iterator[Installation]:
    """A server on a new database of this kind; all of it is deleted afterwards.

    ``api`` are further lines of the configuration's table of that name, ``tables`` are further tables. Principals may
    ask as often as they like, unless they are ``limited`` to the rate that ships.
    """
    with ExitStack() as stack:
        url, database = stack.enter_context(kind.fresh())
        issuer = stack.enter_context(mint())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="canton-bench-")))
        power = folder / "power"
        power.mkdir()
        config = folder / "server.toml"
        config.write_text(_CONFIG.format(api=api, name=NAME, issuer=issuer.url, site=SITE, folder=power) + tables)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("CANTON_")}
        environment = {**inherited, "CANTON_CONFIG": str(config), "CANTON_DATABASE": url}
        if not limited:
            environment["CANTON_API_RATE"] = "1000000"
        server = Process(["serve", "--json"], environment, folder / "serve.log")
        stack.callback(server.stop)
        yield Installation(database, issuer, folder, environment, server, server.line()["url"])
