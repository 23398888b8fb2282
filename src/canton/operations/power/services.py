"""A site's power service that is made from its settings when it is needed, and again until it can be made.

A certificate or a folder that is missing at one site must not stop the worker for the others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from canton.contracts.guard import Guard
from canton.contracts.power import Power, PowerState
from canton.domain.errors import InvalidSetting, StepFailure, TemporaryFailure

log = logging.getLogger("canton.worker")


class PowerOfSite:
    """Raises ``TemporaryFailure`` for as long as ``make`` raises ``InvalidSetting``; it is called at every use."""

    def __init__(self, site: str, make: Callable[[], Power]) -> None:
        self._site = site
        self._make = make
        self._made: Power | None = None

    async def states(self, nodes: Sequence[str]) -> Mapping[str, PowerState | StepFailure]:
        return await (await self._service()).states(nodes)

    async def switch(self, nodes: Sequence[str], to: PowerState, guard: Guard) -> Mapping[str, StepFailure]:
        return await (await self._service()).switch(nodes, to, guard)

    def prepare(self) -> None:
        """Make the service now; what stands in its way is logged, with the name of the site."""
        try:
            self._made = self._make()
        except InvalidSetting as error:
            log.warning(
                "site %s: its power service cannot be set up: %s. Its operations fail, those of other sites do not; "
                "it is tried again at every use",
                self._site,
                error.message,
            )

    async def _service(self) -> Power:
        if self._made is None:
            try:
                # Not on the event loop: it reads files, which may be on another machine.
                self._made = await asyncio.to_thread(self._make)
            except InvalidSetting as error:
                raise TemporaryFailure(
                    f"the power service of site {self._site} cannot be set up; the provider has to look",
                    cause=error.message,
                ) from error
            log.info("site %s: its power service is set up", self._site)
        return self._made
