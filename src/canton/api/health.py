"""``/healthz``: the process is alive; ``/readyz``: whether it can serve; ``/metrics``: the metrics for Prometheus.

They need no token, so their cost is bounded: the database is read, and the metrics are rendered, at most once a second.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from canton.api.events.hub import Hub
from canton.api.metrics import Metrics
from canton.domain.errors import CantonError
from canton.store.database import Database
from canton.store.inventory import open_work
from canton.store.inventory.open_work import OpenWork
from canton.store.maintenance import migrate, write_probe
from canton.store.operations import workers

T = TypeVar("T")
WORKER_SEEN = 60.0
PATIENCE = 5.0
CACHE_SECONDS = 1.0
# After a failure every check writes again, so that the end of an outage is noticed at once.
BETWEEN_WRITES = 5.0
log = logging.getLogger("canton.health")


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    problem: str | None

    def as_json(self) -> dict[str, object]:
        body: dict[str, object] = {"name": self.name, "ok": self.problem is None}
        return body if self.problem is None else body | {"problem": self.problem}


class CachedAnswer(Generic[T]):
    """An answer that is computed once and returned for one second."""

    def __init__(self, find: Callable[[], Awaitable[T]]) -> None:
        self._find = find
        self._asking = asyncio.Lock()
        self._answer: tuple[float, T] | None = None

    async def get(self) -> T:
        async with self._asking:
            if self._answer is None or time.monotonic() >= self._answer[0]:
                answer = await self._find()
                self._answer = (time.monotonic() + CACHE_SECONDS, answer)
            return self._answer[1]


class Health:
    def __init__(self, database: Database, hub: Hub, metrics: Metrics) -> None:
        self._database = database
        self._hub = hub
        self._metrics = metrics
        self._readiness = CachedAnswer(self._examine)
        self._rendered = CachedAnswer(self._render)
        self._written = -BETWEEN_WRITES
        self._write_problem: str | None = None

    async def readiness(self) -> list[Check]:
        return await self._readiness.get()

    async def metrics(self) -> bytes:
        return await self._rendered.get()

    async def _render(self) -> bytes:
        return self._metrics.text(self._hub.readers, self._hub.lag, await self._count())

    async def _examine(self) -> list[Check]:
        try:
            async with asyncio.timeout(PATIENCE):
                checks = await asyncio.to_thread(self._look)
        except TimeoutError:
            checks = [Check("database", f"it did not answer within {PATIENCE:g} s")]
        if self._hub.draining:
            checks.append(Check("server", "it is stopping"))
        return checks

    def _look(self) -> list[Check]:
        checks = []
        looks: dict[str, Callable[[], str | None]] = {
            "database": lambda: _problem(self._reach),
            "migrations": lambda: _problem(self._compare),
            "writes": self._try_to_write,
            "worker": lambda: _problem(self._find_worker),
        }
        for name, look in looks.items():
            checks.append(Check(name, look()))
            if checks[-1].problem is not None:
                break
        return checks

    def _reach(self) -> None:
        with self._database.read():
            """Beginning a transaction shows that the database answers."""

    def _compare(self) -> None:
        migrate.require_current(self._database)

    def _try_to_write(self) -> str | None:
        """The problem that prevents writes, such as a full disk or a read-only database; None if there is none."""
        if time.monotonic() >= self._written + BETWEEN_WRITES or self._write_problem is not None:
            self._write_problem = _problem(self._write)
            self._written = time.monotonic()
        return self._write_problem

    def _write(self) -> None:
        with self._database.write() as connection:
            write_probe.touch(connection)

    def _find_worker(self) -> None:
        with self._database.read() as connection:
            if not workers.alive(connection, WORKER_SEEN):
                raise NoWorkerSeen(f"no worker was seen within {WORKER_SEEN:g} s; start one: canton worker")

    async def _count(self) -> OpenWork | None:
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._hub.read(lambda connection: open_work.count_open_work(connection, WORKER_SEEN))
        except (CantonError, TimeoutError) as error:
            log.warning("cannot count what is open: %s", getattr(error, "with_cause", "it took too long"))
        except Exception:
            log.exception("cannot count what is open because of a defect")
        return None


class NoWorkerSeen(Exception):
    """No worker has written its heartbeat within ``WORKER_SEEN`` seconds."""


def _problem(look: Callable[[], None]) -> str | None:
    try:
        look()
    except CantonError as error:
        # Not its message, which names hosts and files: this route needs no token.
        log.warning("not ready: %s", error.with_cause)
        return error.code
    except NoWorkerSeen as error:
        return str(error)
    return None


def router(health: Health) -> APIRouter:
    routes = APIRouter(include_in_schema=False)

    @routes.get("/healthz")
    async def alive() -> JSONResponse:
        return JSONResponse({"ok": True})

    @routes.get("/readyz")
    async def ready() -> JSONResponse:
        checks = await health.readiness()
        good = all(check.problem is None for check in checks)
        body = {"ok": good, "checks": [check.as_json() for check in checks]}
        return JSONResponse(body, 200 if good else 503, headers={} if good else {"Retry-After": "1"})

    @routes.get("/metrics")
    async def metrics() -> Response:
        return Response(await health.metrics(), media_type=CONTENT_TYPE_LATEST)

    return routes
