"""The protocol of a step kind: two device calls, and the limits of its devices.

A kind reports what it *observes*; ``judge`` decides for all kinds alike whether that is the goal, and whether to act,
wait, try again or fail. Both calls get one or more steps of one device and answer for each by its number, so that a
batch can fail in part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from canton.contracts.guard import Guard
from canton.domain.errors import StepFailure
from canton.domain.json_types import JsonObject
from canton.operations.plan.plan import Step


@dataclass(frozen=True, slots=True)
class Call:
    """A step, for a device call.

    ``fence`` grows with every take-over: a device that can compare it refuses a worker that was replaced. ``key``
    is the same however often the step is tried: a device that remembers it does nothing twice. ``guard`` raises
    when another worker may have taken over; a driver calls it last, right before a request that changes something
    leaves, because connecting and logging in may have taken longer than the lease.
    """

    operation: str
    fence: int
    step: Step
    guard: Guard

    @property
    def key(self) -> str:
        return f"{self.operation}/{self.step.n}"


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """Time limits, polling and retries for one kind of device; in seconds unless noted."""

    batch: int = 1
    """The number of steps that one call may carry."""
    timeout: float = 30.0
    """The longest duration of one call."""
    settle: float = 0.0
    """The time that a change may take to become visible; until then the device is only observed."""
    poll: float = 1.0
    """The time between two observations of a waiting step."""
    tries: int = 5
    """The number of acts and failed observations before the step fails."""
    backoff: float = 1.0
    """The first pause after a temporary failure; it doubles."""
    backoff_limit: float = 60.0


class StepKind(Protocol):
    @property
    def name(self) -> str:
        """Name and version, as plans hold it: ``set_power/1``."""

    @property
    def limits(self) -> DeviceLimits: ...

    async def observe(self, calls: Sequence[Call]) -> Mapping[int, JsonObject | StepFailure]:
        """What the device shows for each step. Raising means that nothing could be seen for any of them."""

    async def act(self, calls: Sequence[Call]) -> Mapping[int, StepFailure]:
        """Ask the device to go to the goals; answers only with the steps that it refused.

        A refusal says that nothing was done. After an exception the act may still take effect.
        """


Kinds = Mapping[str, StepKind]


def register(*kinds: StepKind) -> Kinds:
    return {kind.name: kind for kind in kinds}
