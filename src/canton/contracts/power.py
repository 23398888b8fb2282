"""Power of nodes, seen and switched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from canton.contracts.guard import Guard
from canton.domain.errors import StepFailure


class PowerState(StrEnum):
    ON = "on"
    OFF = "off"
    UNKNOWN = "unknown"
    """The controller answers for the node, but not with its power."""


class Power(Protocol):
    """Any number of nodes in one call; an implementation talks to its backend a constant number of times."""

    async def states(self, nodes: Sequence[str]) -> Mapping[str, PowerState | StepFailure]:
        """The power of each node now; raises ``TemporaryFailure`` when none could be seen."""

    async def switch(self, nodes: Sequence[str], to: PowerState, guard: Guard) -> Mapping[str, StepFailure]:
        """Ask for a power state; answers with the nodes that were refused, of which nothing was changed.

        Raises ``TemporaryFailure`` when it is not known what the backend did with the request.
        """
