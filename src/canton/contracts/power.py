"""Reading and switching the power of nodes."""

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
    """The controller answers for the node, but without its power state."""


class Power(Protocol):
    """Any number of nodes in one call; an implementation talks to its backend a constant number of times."""

    async def states(self, nodes: Sequence[str]) -> Mapping[str, PowerState | StepFailure]:
        """The power of each node now; raises ``TemporaryFailure`` if none could be read."""

    async def switch(self, nodes: Sequence[str], to: PowerState, guard: Guard) -> Mapping[str, StepFailure]:
        """Request a power state. Returns the failures of the nodes that were refused; these are unchanged.

        Raises ``TemporaryFailure`` if it is not known what the backend did with the request.
        """
