"""Sessions, with an index by status."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from csm_emulator.records import Record
from csm_emulator.services.bos.ownership import OwnedRecords, owned_key
from csm_emulator.services.bos.timestamps import moment_of, subtract_age
from csm_emulator.state.tables import RecordTable, RecordTables

PENDING, RUNNING, COMPLETE = "pending", "running", "complete"


class SessionStore:
    def __init__(self, tables: RecordTables) -> None:
        self._table: RecordTable[Record] = tables.open("bos.sessions")
        self._owned = OwnedRecords(self._table)
        self.statuses = OwnedRecords(tables.open("bos.session-statuses"))
        """Final statuses of completed sessions."""
        self._by_status: defaultdict[str, set[str]] = defaultdict(set)
        for key, session in self._table.items():
            self._by_status[_status(session)].add(key)

    def get(self, name: str, tenant: str | None) -> Record | None:
        return self._owned.get(name, tenant)

    def put(self, session: Record) -> Record:
        name, tenant = session["name"], session.get("tenant")
        previous, key = self.get(name, tenant), owned_key(name, tenant)
        if previous is not None:
            self._by_status[_status(previous)].discard(key)
        self._by_status[_status(session)].add(key)
        self._owned.put(name, tenant, session)
        return session

    def patch(self, session: Record, patch: Record) -> Record:
        result = {**session, **patch}
        if "status" in patch:
            result["status"] = {**session["status"], **patch["status"]}
        return self.put(result)

    def delete(self, name: str, tenant: str | None) -> bool:
        session = self.get(name, tenant)
        if session is not None:
            self._by_status[_status(session)].discard(owned_key(name, tenant))
        self.statuses.delete(name, tenant)
        return self._owned.delete(name, tenant)

    def save_status(self, session: Record, status: Record) -> Record:
        """Save the status that is returned for this session from now on."""
        self.statuses.put(session["name"], session.get("tenant"), status)
        return status

    def with_status(self, status: str) -> list[Record]:
        return [self._table[key] for key in sorted(self._by_status[status])]

    def any_with_status(self, status: str) -> bool:
        return bool(self._by_status[status])

    def __iter__(self) -> Iterator[Record]:
        return iter(self._owned)

    def select(
        self, now: float, tenant: str, status: str = "", min_age: float | None = None, max_age: float | None = None
    ) -> list[Record]:
        """Sessions that match the filters; ages in seconds. Raises ``ValueError`` for an age that is out of range."""
        latest = None if min_age is None else subtract_age(now, min_age)
        earliest = None if max_age is None else subtract_age(now, max_age)
        sessions = self.with_status(status) if status else self
        return [
            session
            for session in sessions
            if (not tenant or session.get("tenant") == tenant) and _started_between(session, earliest, latest)
        ]


def _status(session: Record) -> str:
    return str(session["status"].get("status", ""))


def _started_between(session: Record, earliest: float | None, latest: float | None) -> bool:
    if earliest is None and latest is None:
        return True
    text = session["status"].get("start_time")
    if not text:
        return False
    start = moment_of(text)
    return (earliest is None or start >= earliest) and (latest is None or start <= latest)
