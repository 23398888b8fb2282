"""Records refusals and failed changes in the audit, limited so that callers cannot fill it with them.

The first of its kind within a window is recorded at once. Further ones are counted in memory, and the count becomes one
record when the window ends, when it reaches ``MOST_COUNTED``, or when the server stops. A crash loses at most the
counts of one window; every server counts for itself.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from canton.domain.errors import CantonError
from canton.domain.json_types import Json
from canton.store import audit
from canton.store.database import Database

WINDOW = 60.0
MOST_COUNTED = 1_000
# The most kinds of one actor per window: the tenant is a name that a caller may invent.
KINDS_EACH = 20
MOST_KINDS = 10_000
EXAMPLES = 5
SEVERAL = "several"
log = logging.getLogger("canton.api")


@dataclass(frozen=True, slots=True)
class RefusalKind:
    """Refusals with these fields in common are counted together; the outcome is "refused" or the code of an error."""

    actor: str
    permission: str
    tenant: str | None
    outcome: str


@dataclass(slots=True)
class RefusalCount:
    """The number of refusals after the first, and the requests of the first few of them."""

    number: int = 0
    subjects: list[str] = field(default_factory=list)


class Refusals:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[RefusalKind, RefusalCount] = {}
        self._kinds_of: Counter[str] = Counter()
        self._timer: threading.Timer | None = None

    def record(
        self, database: Database, kind: RefusalKind, subject: str, reason: str, details: Mapping[str, Json]
    ) -> None:
        """Append an audit record if this is the first of its kind, else count it."""
        if not self._is_first(database, kind, subject):
            return
        with database.write() as connection:
            audit.append(
                connection,
                actor=kind.actor,
                action=kind.permission,
                subject=subject,
                reason=reason,
                details=dict(details),
            )

    def flush(self, database: Database) -> None:
        """Write the counts, and start a new window. Counts that cannot be written now are kept for the next one."""
        with self._lock:
            counts, self._counts = self._counts, {}
            self._kinds_of.clear()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        repeated = {kind: count for kind, count in counts.items() if count.number}
        try:
            if repeated:
                _write(database, repeated)
        except CantonError as error:
            log.warning("%d counts of refusals wait for the database: %s", len(repeated), error.with_cause)
            with self._lock:
                for kind, count in repeated.items():
                    self._counts.setdefault(kind, count)
                self._start_timer(database)

    def _is_first(self, database: Database, kind: RefusalKind, subject: str) -> bool:
        full = False
        with self._lock:
            bounded = self._bounded(kind)
            count = self._counts.get(bounded)
            first = count is None and bounded is kind
            if count is None:
                self._kinds_of[kind.actor] += 1
                count = self._counts[bounded] = RefusalCount()
                self._start_timer(database)
            if not first:
                count.number += 1
                if len(count.subjects) < EXAMPLES:
                    count.subjects.append(audit.cut(subject, audit.LONGEST_SUBJECT))
                full = count.number >= MOST_COUNTED or len(self._counts) >= MOST_KINDS
        if full:
            self.flush(database)
        return first

    def _bounded(self, kind: RefusalKind) -> RefusalKind:
        if kind in self._counts or self._kinds_of[kind.actor] < KINDS_EACH:
            return kind
        return replace(kind, tenant=None, outcome=SEVERAL)

    def _start_timer(self, database: Database) -> None:
        if self._timer is None:
            self._timer = threading.Timer(WINDOW, self.flush, [database])
            self._timer.daemon = True
            self._timer.start()


def _write(database: Database, counts: Mapping[RefusalKind, RefusalCount]) -> None:
    with database.write() as connection:
        for kind, count in counts.items():
            details: dict[str, Json] = {
                "permission": kind.permission,
                "outcome": kind.outcome,
                "count": count.number,
                "requests": list(count.subjects),
            }
            audit.append(
                connection,
                actor=kind.actor,
                action=kind.permission,
                subject=f"{count.number} more like it within {WINDOW:g} s",
                reason="",
                details=details | ({"tenant": kind.tenant} if kind.tenant else {}),
            )
