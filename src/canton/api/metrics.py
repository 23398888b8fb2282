"""The metrics for Prometheus. No label names a tenant, a node or a person: labels have few, known values."""

from __future__ import annotations

from http import HTTPMethod

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import Scope

from canton import __version__
from canton.store.inventory.open_work import OpenWork

# From a cache hit to the time limit; the budget of a long list is 15 ms.
BUCKETS = (0.002, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
NO_ROUTE = "(none)"


class Metrics:
    """The metrics of one server; a second app in the same process has its own."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        labels = ("route", "method", "status")
        self._requests = Counter("canton_requests", "Requests that have ended.", labels, registry=registry)
        self._seconds = Histogram(
            "canton_request_seconds",
            "How long requests took, streams of events left out.",
            ("route", "method"),
            registry=registry,
            buckets=BUCKETS,
        )
        self._readers = Gauge("canton_event_readers", "Readers that follow events now.", registry=registry)
        self._lag = Gauge(
            "canton_event_lag_seconds", "Age of the newest event when this server picked it up.", registry=registry
        )
        self._operations = Gauge("canton_open_operations", "Operations not ended.", ("state",), registry=registry)
        self._due = Gauge("canton_due_operations", "Operations that wait for a worker now.", registry=registry)
        self._workers = Gauge("canton_workers", "Workers that were seen within a minute.", registry=registry)
        self._database = Gauge("canton_database_up", "1 if the database answered this look.", registry=registry)
        build = Gauge("canton_build_info", "The version that runs.", ("version",), registry=registry)
        build.labels(__version__).set(1)

    def observe(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request that has ended; status 0 means that the client left before the answer."""
        route = _template(scope)
        method = scope["method"] if scope["method"] in HTTPMethod.__members__ else "(other)"
        self._requests.labels(route, method, f"{status // 100}xx" if status else "none").inc()
        if "text/event-stream" not in _accepted(scope):
            self._seconds.labels(route, method).observe(seconds)

    def text(self, readers: int, lag: float, census: OpenWork | None) -> bytes:
        self._readers.set(readers)
        self._lag.set(lag)
        self._database.set(census is not None)
        if census is not None:
            self._due.set(census.due)
            self._workers.set(census.workers)
            for state, count in census.open_operations.items():
                self._operations.labels(state).set(count)
        return generate_latest(self._registry)


def _accepted(scope: Scope) -> str:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"), "")


def _template(scope: Scope) -> str:
    """The path template of the route; FastAPI gives it without the prefix under which its router is mounted."""
    path = getattr(scope.get("route"), "path", None)
    if path is None:
        return NO_ROUTE
    return f"/v1{path}" if scope["path"].startswith("/v1/") and not path.startswith("/v1/") else str(path)
