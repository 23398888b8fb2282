"""The batcher: it finds components whose configuration is pending and creates sessions for them.

The real service checks every ``batcher_check_interval``; this one checks at the same times, but only while there is
work. A round of the real service takes slightly longer than the interval, so a time that ends with a round has passed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from csm_emulator.cluster.service_workloads import CFS_BATCHER
from csm_emulator.context import Context
from csm_emulator.records import Json, Record
from csm_emulator.services.cfs.batcher.backoff import Backoff
from csm_emulator.services.cfs.batcher.batches import Batch, BatchTable, as_member, pending_layers
from csm_emulator.services.cfs.batcher.results import BatchResults
from csm_emulator.services.cfs.components.table import BROKEN, Components
from csm_emulator.services.cfs.options.table import Options
from csm_emulator.services.cfs.sessions.table import Sessions
from csm_emulator.state.clock import next_tick
from csm_emulator.state.tables import RecordTable

_ROUND = "cfs.batcher"
_NAME_PREFIX = "batcher"


class Batcher:
    def __init__(
        self, context: Context, options: Options, components: Components, sessions: Sessions, results: BatchResults
    ) -> None:
        self._context = context
        self._options = options
        self._components = components
        self._sessions = sessions
        self._results = results
        self._batches = BatchTable(context.tables)
        self._backoff = Backoff(context.tables, options)
        self._table: RecordTable[Json] = context.tables.open("cfs.batcher")
        context.scheduler.register(_ROUND, self._round)
        components.when_ready = self._schedule
        options.watchers.append(self._schedule)
        self._schedule()

    def restarted(self) -> None:
        """After a restart the batcher knows only its own sessions that are not complete."""
        self._batches.clear()
        self._backoff.reset()
        self._table.pop("next", None)
        for name in self._sessions.names():
            session = self._sessions.get(name) or {}
            if _NAME_PREFIX in name and session["status"]["session"]["status"] != "complete":
                self._adopt_session(session)
        self._schedule()

    def _schedule(self) -> None:
        waiting = self._components.ready() and not self._options.flag("batcher_disable")
        if "next" in self._table or not (waiting or self._batches):
            return
        self._table["next"] = next_tick(self._context.clock.now(), self._options.number("batcher_check_interval"))
        self._context.scheduler.at(self._table["next"], _ROUND)

    def _round(self) -> None:
        if self._table.get("next") != self._context.clock.now():
            return
        del self._table["next"]
        if self._context.faults.present("service-restart", "cfs") is None and self._context.cluster.runs(CFS_BATCHER):
            self._check()
            # The batcher cannot list components while one of them makes the service fail.
            if not self._options.flag("batcher_disable") and not self._components.with_status(BROKEN):
                self._collect()
                self._send()
        self._schedule()

    def _check(self) -> None:
        outcomes = []
        for number, batch in self._batches.items():
            outcome = self._outcome(batch) if batch.session else None
            if outcome is not None:
                outcomes.append(outcome)
                self._batches.remove(number)
        if outcomes:
            self._backoff.record(outcomes, self._context.clock.now())

    def _outcome(self, batch: Batch) -> bool | None:
        """Whether the batch's session succeeded; None while it runs."""
        session = self._sessions.get(batch.session)
        if session is None:
            return False
        if not self._components.with_status(BROKEN).isdisjoint(batch.members):
            # The batcher cannot read these components now, and retries in the next round.
            return None
        status = session["status"]["session"]
        if status.get("succeeded") in ("false", "unknown"):
            self._results.failed(batch)
            return False
        if status["status"] == "complete":
            self._results.succeeded(batch)
            return True
        return self._give_up(batch) if status["status"] == "pending" else None

    def _give_up(self, batch: Batch) -> bool | None:
        if self._context.clock.now() - batch.sent < self._options.number("batcher_pending_timeout"):
            return None
        self._context.mesh.ask("cfs", "DELETE", f"/v3/sessions/{batch.session}")
        return False

    def _collect(self) -> None:
        """Put each pending component without a batch into the first matching batch with room, or into a new batch."""
        size = self._options.number("batch_size")
        room: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
        for number, batch in self._batches.items():
            if not batch.session and len(batch.members) < size:
                room[batch.kind].append(number)
        drafts: dict[str, Batch] = {}
        for single in self._unassigned():
            open_batches = room[single.kind]
            if not open_batches:
                open_batches.append(self._new_number())
            number = open_batches[0]
            if number not in drafts:
                drafts[number] = self._batches.draft(number, single)
            drafts[number].members.update(single.members)
            if len(drafts[number].members) >= size:
                open_batches.pop(0)
        for number, batch in drafts.items():
            self._batches.put(number, batch)

    def _unassigned(self) -> Iterator[Batch]:
        """Pending components without a batch, each as a batch with one member."""
        now = self._context.clock.now()
        for xname in sorted(self._components.ready() - self._batches.taken):
            yield self._single_batch(xname, self._components.get(xname) or {}, now)

    def _single_batch(self, xname: str, record: Record, now: float) -> Batch:
        layers = self._components.desired_layers(record)
        member = as_member(record, layers)
        return Batch(record["desired_config"], pending_layers(layers), member.latest_status, now, {xname: member})

    def _send(self) -> None:
        now = self._context.clock.now()
        if self._backoff.is_active(now):
            return
        size, window = self._options.number("batch_size"), self._options.number("batch_window")
        for number, batch in self._batches.items():
            if not batch.session and (len(batch.members) >= size or now - batch.opened >= window):
                name = self._create(batch)
                if name:
                    self._batches.put(number, replace(batch, session=name, sent=now))

    def _create(self, batch: Batch) -> str:
        """Create a session and return its name; empty when that failed, to be retried in the next round."""
        name = f"{_NAME_PREFIX}-{self._context.random.uuid('cfs.batcher', self._new_number())}"
        body: Record = {
            "name": name,
            "configuration_name": batch.configuration,
            "configuration_limit": batch.limit,
            "ansible_limit": ",".join(batch.members),
            "target": {"definition": "dynamic"},
        }
        tags = batch.common_tags()
        reply = self._context.mesh.ask("cfs", "POST", "/v3/sessions", {**body, "tags": tags} if tags else body)
        return name if reply.ok else ""

    def _adopt_session(self, session: Record) -> None:
        now = self._context.clock.now()
        names = (session["ansible"]["limit"] or "").split(",")
        components = [(xname, self._components.get(xname)) for xname in names]
        members = [
            self._single_batch(xname, record, now) for xname, record in components if record and "state" in record
        ]
        if members:
            batch = replace(members[0], session=session["name"], sent=now)
            for member_batch in members[1:]:
                batch.members.update(member_batch.members)
            self._batches.put(self._new_number(), batch)

    def _new_number(self) -> str:
        number = self._table["last"] = self._table.get("last", 0) + 1
        return str(number)
