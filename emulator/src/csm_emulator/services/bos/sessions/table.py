"""Sessions, and which of them are not over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from csm_emulator.records import Record
from csm_emulator.services.bos.ownership import Owned, owned_key
from csm_emulator.services.bos.timestamps import before, moment_of
from csm_emulator.state.tables import RecordTables

PENDING, RUNNING, COMPLETE = "pending", "running", "complete"


class SessionStore:
    def __init__(self, tables: RecordTables) -> None:
        self._table = tables.open("bos.sessions")
        self._owned = Owned(self._table)
        self.statuses = Owned(tables.open("bos.session-statuses"))
        """What sessions that are over had come to."""
        self._by_status: defaultdict[str, set[str]] = defaultdict(set)
        for key, session in self._table.items():
            self._by_status[_status(session)].add(key)

    def get(self, name: str, tenant: str | None) -> Record | None:
        return self._owned.get(name, tenant)

    def put(self, session: Record) -> Record:
        name, tenant = session["name"], session.get("tenant")
        known, key = self.get(name, tenant), owned_key(name, tenant)
        if known is not None:
            self._by_status[_status(known)].discard(key)
        self._by_status[_status(session)].add(key)
        self._owned.put(name, tenant, session)
        return session

    def patch(self, session: Record, patch: Record) -> Record:
        result = {**session, **patch}
        if "status" in patch:
            result["status"] = {**session["status"], **patch["status"]}
        return self.put(result)

    def delete(self, name: str, tenant: str | None) -> bool:
        known = self.get(name, tenant)
        if known is not None:
            self._by_status[_status(known)].discard(owned_key(name, tenant))
        self.statuses.delete(name, tenant)
        return self._owned.delete(name, tenant)

    def save_status(self, session: Record, told: Record) -> Record:
        """What the session has come to is told like this from now on."""
        self.statuses.put(session["name"], session.get("tenant"), told)
        return told

    def with_status(self, status: str) -> list[Record]:
        return [self._table[key] for key in sorted(self._by_status[status])]

    def any_with_status(self, status: str) -> bool:
        return bool(self._by_status[status])

    def __iter__(self) -> Iterator[Record]:
        return iter(self._owned)

    def select(
        self, now: float, tenant: str, status: str = "", min_age: float | None = None, max_age: float | None = None
    ) -> list[Record]:
        """Raises ``ValueError`` for an age that nobody has."""
        latest = None if min_age is None else before(now, min_age)
        earliest = None if max_age is None else before(now, max_age)
        found = self.with_status(status) if status else self
        return [
            session
            for session in found
            if (not tenant or session.get("tenant") == tenant) and _started(session, earliest, latest)
        ]


def _status(session: Record) -> str:
    return str(session["status"].get("status", ""))


def _started(session: Record, earliest: float | None, latest: float | None) -> bool:
    if earliest is None and latest is None:
        return True
    text = session["status"].get("start_time")
    if not text:
        return False
    start = moment_of(text)
    return (earliest is None or start >= earliest) and (latest is None or start <= latest)
