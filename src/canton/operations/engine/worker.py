"""The process that drives operations: waits for due ones, leases them, renews the leases, lets go when asked.

A worker keeps nothing that a successor would miss. It does not ask the database over and over: it sleeps until
the doorbell rings or the next timer in the rows is due.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import secrets
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from dataclasses import dataclass, field
from math import inf
from typing import TypeVar

from sqlalchemy.engine import Connection

from canton import telemetry
from canton.domain.errors import CantonError, DatabaseUnavailable, UnknownStepKind
from canton.operations.engine.lease import Lease, uptime
from canton.operations.engine.runner import DriveResources, hand_back, load, require_attention
from canton.operations.engine.step_kind import Kinds
from canton.store import idempotency
from canton.store.access import approvals
from canton.store.database import Database
from canton.store.doorbell import Doorbell, listen
from canton.store.operations import journal, leases, plans, workers

T = TypeVar("T")
log = logging.getLogger("canton.worker")
_jitter = random.random


@dataclass(frozen=True, slots=True)
class Settings:
    """Seconds and counts; the defaults suit a site whose devices answer within seconds."""

    lease: float = 15.0
    """A dead worker's operations are taken over this long after its last renewal."""
    operations: int = 32
    """Operations driven at a time by this worker."""
    parallel: int = 16
    """Device calls under way at a time for one operation."""
    per_device: int = 4
    """Device calls under way at a time for one device, by this worker."""
    device_limits: dict[str, int] = field(default_factory=dict)
    """Limits that differ from ``per_device``, by device."""
    sweep: float = 60.0
    """The longest sleep; after it, lost doorbell rings and clocks that were set back are noticed."""
    grace: float = 30.0
    """How long a stop waits for device calls under way."""


class Worker:
    def __init__(self, database: Database, kinds: Kinds, settings: Settings | None = None) -> None:
        self.database = database
        self.kinds = kinds
        self.settings = settings or Settings()
        self.id = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._stopping = False
        self._driving: dict[str, tuple[Lease, asyncio.Task[None]]] = {}
        self._something_ended = asyncio.Event()
        self._foreign_kinds: set[str] = set()
        self._swept = -inf
        # SQLite has one writer: a second thread could only wait for the first.
        self._threads = ThreadPoolExecutor(8 if database.is_postgresql else 1, "canton-store")
        self._slots: dict[str, asyncio.Semaphore] = {}
        self._resources = DriveResources(
            kinds, self._write, self._slot, _jitter, self.settings.parallel, stopping=lambda: self._stopping
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Work until ``stop`` is set; raises UnknownStepKind if open operations need kinds that this version lacks."""
        await self._arrive()
        renewing = asyncio.create_task(self._keep_renewing())
        try:
            await self._run_until_stopped(stop)
            await self._shut_down()
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
            self._threads.shutdown()

    async def _arrive(self) -> None:
        def arrive(connection: Connection) -> frozenset[str]:
            workers.arrive(connection, self.id, socket.gethostname(), os.getpid())
            return journal.open_step_kinds(connection)

        unknown = sorted(await self._write(arrive) - self.kinds.keys())
        if unknown:
            await self._write(lambda connection: workers.leave(connection, self.id))
            raise UnknownStepKind(
                f"operations that have not ended need step kinds {', '.join(unknown)}, which this version does not "
                "have; run the version that made them until they have ended, or abandon them",
                kinds=unknown,
            )

    async def _run_until_stopped(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            try:
                bell = await asyncio.to_thread(listen, self.database)
                with closing(bell):
                    await self._lease_when_notified(bell, stop)
            except DatabaseUnavailable as error:
                log.warning("trying again: %s", error.with_cause)
                await asyncio.sleep(0.2 + 0.8 * _jitter())

    async def _lease_when_notified(self, bell: Doorbell, stop: asyncio.Event) -> None:
        """Take due operations whenever the doorbell rings, until ``stop`` is set."""
        while not stop.is_set():
            if uptime() - self._swept >= self.settings.sweep:
                await self._write(sweep)
                self._swept = uptime()
            await self._sleep(bell, await self._take(), stop)

    async def _take(self) -> float:
        """Lease due operations, as many as there is room for; returns the seconds until there is more to take."""
        room = self.settings.operations - len(self._driving)
        if room <= 0:
            return self.settings.sweep
        due = await self._off_loop(self._until_due)
        if due is None or due > 0:
            return self.settings.sweep if due is None else due
        started_at = uptime()
        taken_leases = await self._write(
            lambda connection: leases.take(connection, self.id, self.settings.lease, room, self._foreign_kinds)
        )
        for taken_lease in taken_leases:
            lease = Lease(taken_lease.operation, taken_lease.fence, started_at + self.settings.lease)
            lease.synchronise(taken_lease.at, started_at)
            task = asyncio.create_task(self._drive_with_log_context(lease, taken_lease.step_kinds))
            self._driving[lease.operation] = (lease, task)
        # A due row that cannot be taken is locked by a transaction that is about to end.
        return 0.0 if taken_leases else 0.05 + 0.1 * _jitter()

    def _until_due(self) -> float | None:
        with self.database.read() as connection:
            return leases.seconds_until_due(connection, self._foreign_kinds)

    async def _drive_with_log_context(self, lease: Lease, step_kinds: str) -> None:
        with telemetry.carrying(operation=lease.operation):
            await self._drive(lease, step_kinds)

    async def _drive(self, lease: Lease, step_kinds: str) -> None:
        """Drive one operation until it rests. After any interruption it is taken again when its lease ends."""
        try:
            if self.kinds.keys() >= set(step_kinds.split()):
                drive = await self._write(lambda connection: load(connection, lease, self._resources))
                await drive.run()
            else:
                log.error("operation %s needs step kinds this version lacks: %s", lease.operation, step_kinds)
                self._foreign_kinds.add(step_kinds)
                await self._write(lambda connection: hand_back(connection, lease))
        except CantonError as error:
            log.warning("operation %s interrupted: %s", lease.operation, error.with_cause)
        except Exception as defect:
            log.exception("operation %s interrupted by a defect", lease.operation)
            await self._require_attention(lease, defect)
        finally:
            # We may have taken it again meanwhile: that drive stays in the list.
            if self._driving.get(lease.operation, (None, None))[0] is lease:
                del self._driving[lease.operation]
            self._something_ended.set()

    async def _require_attention(self, lease: Lease, defect: Exception) -> None:
        try:
            await self._write(lambda connection: require_attention(connection, lease, defect))
        except CantonError as error:
            log.warning("operation %s left to a successor: %s", lease.operation, error.with_cause)

    async def _keep_renewing(self) -> None:
        """Renew at a third of the lease, so that two renewals may fail before it is lost."""
        while True:
            await asyncio.sleep(self.settings.lease / 3)
            try:
                await self._renew()
            except DatabaseUnavailable as error:
                log.warning("cannot renew leases: %s", error.with_cause)
            except Exception:
                # Without renewals every operation here would be lost, silently, while this process looks alive.
                log.exception("cannot renew leases because of a defect; trying again")

    async def _renew(self) -> None:
        driving = dict(self._driving)
        fences = {name: lease.fence for name, (lease, _) in driving.items()}
        started_at = uptime()

        def renew(connection: Connection) -> dict[str, leases.LeaseState]:
            workers.beat(connection, self.id)
            return leases.renew(connection, fences, self.settings.lease)

        renewed = await self._write(renew)
        for name, (lease, task) in driving.items():
            if name in renewed:
                lease.valid_until = started_at + self.settings.lease
                lease.cancel_by = renewed[name].cancel_by
            else:
                # Taken over, or at rest since we asked; then there is nothing left to cancel.
                task.cancel()

    async def _sleep(self, bell: Doorbell, seconds: float, stop: asyncio.Event) -> None:
        """Wait until the doorbell rings, a drive ends, the time is over or ``stop`` is set."""
        until = uptime() + min(seconds, self.settings.sweep)
        while not stop.is_set() and not self._something_ended.is_set() and (seconds_left := until - uptime()) > 0:
            # In slices, so that a stop does not wait for the bell; a slice is a local wait, not a query.
            if await asyncio.to_thread(bell.wait, min(seconds_left, 0.25)):
                break
        self._something_ended.clear()

    async def _shut_down(self) -> None:
        """Finish the calls under way, hand the operations back, and remove this worker from the list."""
        self._stopping = True
        tasks = [task for _, task in self._driving.values()]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self.settings.grace)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._write(lambda connection: workers.leave(connection, self.id))

    def _slot(self, device: str) -> asyncio.Semaphore:
        if device not in self._slots:
            limit = self.settings.device_limits.get(device, self.settings.per_device)
            self._slots[device] = asyncio.Semaphore(limit)
        return self._slots[device]

    async def _write(self, change: Callable[[Connection], T]) -> T:
        def transaction() -> T:
            with self.database.write() as connection:
                return change(connection)

        return await self._off_loop(transaction)

    async def _off_loop(self, work: Callable[[], T]) -> T:
        # With the context of the caller, so that a line logged in the thread carries the operation too.
        return await asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, work)


def sweep(connection: Connection) -> None:
    """Delete expired idempotency keys, approvals and unused plans, and repair timers after a clock was set back."""
    leases.reset_future_timers(connection)
    idempotency.forget_old(connection)
    approvals.forget_expired(connection)
    plans.forget_old(connection)
