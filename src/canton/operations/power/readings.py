"""The power of every node, read from its site at a set interval and stored with the time of the reading.

One worker at a time reads a site, all its nodes in one call for up to 10,000 of them. What cannot be read is left as
it was last seen: it ages, and lists show its age.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Final

from canton.contracts.power import Power, PowerState
from canton.domain.errors import CantonError, StepFailure, TemporaryFailure
from canton.store.database import Database
from canton.store.inventory import nodes, site_readings
from canton.store.inventory.site_readings import POWER

log = logging.getLogger("canton.worker")
# Three times the number of nodes that PCS returns in one response.
NODES_PER_CALL: Final = 10_000
# A transaction of this many rows is over in milliseconds, so that on SQLite other writers wait no longer than that.
ROWS_PER_WRITE: Final = 1000
TIMEOUT: Final = 60.0


class PowerReading:
    """``powers`` are the power services by the name of their site; ``interval`` is in seconds."""

    def __init__(self, database: Database, powers: Mapping[str, Power], interval: float) -> None:
        self._database = database
        self._powers = powers
        self._interval = interval

    async def run(self, stop: asyncio.Event) -> None:
        """Read every site when it is due, until told to stop. The sites do not wait for one another."""
        await asyncio.gather(*(self._keep_reading(site, stop) for site in self._powers))

    async def _keep_reading(self, site: str, stop: asyncio.Event) -> None:
        while not stop.is_set():
            pause = await self._read_if_due(site)
            try:
                async with asyncio.timeout(pause):
                    await stop.wait()
            except TimeoutError:
                continue

    async def _read_if_due(self, site: str) -> float:
        """Read the site if it is due; returns the seconds until the next attempt."""
        try:
            seconds = await asyncio.to_thread(self._seconds_until_due, site)
            if seconds > 0:
                return seconds
            await self.read(site)
        except CantonError as error:
            log.warning(
                "the power of site %s was not read, what was seen of its nodes ages: %s", site, error.with_cause
            )
        except Exception:
            log.exception("the power of site %s was not read because of a defect; trying again", site)
        return self._interval

    async def read(self, site: str) -> None:
        """Read the site once, unless another worker does; raises what the power service raised."""
        reading = await asyncio.to_thread(self._take, site)
        if reading is None:
            return
        at, names = reading
        for start in range(0, len(names), NODES_PER_CALL):
            chunk = names[start : start + NODES_PER_CALL]
            states = await self._states(site, chunk)
            await asyncio.to_thread(self._store, at, states)
        await asyncio.to_thread(self._finish, site, at)

    async def _states(self, site: str, names: Sequence[str]) -> Mapping[str, PowerState | StepFailure]:
        try:
            async with asyncio.timeout(TIMEOUT):
                return await self._powers[site].states(names)
        except TimeoutError as error:
            raise TemporaryFailure(f"no answer for {len(names)} nodes within {TIMEOUT:g} s") from error

    def _seconds_until_due(self, site: str) -> float:
        with self._database.read() as connection:
            return site_readings.seconds_until_due(connection, site, POWER, self._interval)

    def _take(self, site: str) -> tuple[int, Sequence[str]] | None:
        with self._database.write() as connection:
            at = site_readings.take(connection, site, POWER, self._interval)
            return None if at is None else (at, nodes.at_site(connection, site))

    def _store(self, at: int, states: Mapping[str, PowerState | StepFailure]) -> None:
        known_states = [(node, state) for node, state in states.items() if not isinstance(state, StepFailure)]
        for start in range(0, len(known_states), ROWS_PER_WRITE):
            with self._database.write() as connection:
                nodes.observe_at(connection, dict(known_states[start : start + ROWS_PER_WRITE]), at)

    def _finish(self, site: str, at: int) -> None:
        with self._database.write() as connection:
            site_readings.finish(connection, site, POWER, at)
