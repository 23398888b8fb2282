"""The power-off operators: first a graceful shutdown, later a forced one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from csm_emulator.records import Record
from csm_emulator.services.bos.components.records import (
    DID_FORCE_OFF,
    DID_POWER_OFF,
    FORCE_CALLED,
    OFF_CALLED,
    OFF_PENDING,
)
from csm_emulator.services.bos.operators.node_actions import NodeOperator
from csm_emulator.services.bos.timestamps import moment_of


class PowerOffGraceful(NodeOperator):
    name = "power-off-graceful"
    statuses: ClassVar[tuple[str, ...]] = (OFF_PENDING,)
    action = DID_POWER_OFF
    attempts_field = "power_off_graceful_attempts"
    transition: ClassVar[str] = "Soft-Off"

    def act(self, components: Sequence[Record]) -> dict[str, str]:
        self.bos.neighbours.transition(self.transition, [record["id"] for record in components])
        return {}


class PowerOffForceful(PowerOffGraceful):
    name = "power-off-forceful"
    statuses = (OFF_CALLED, FORCE_CALLED)
    action = DID_FORCE_OFF
    attempts_field = "power_off_forceful_attempts"
    transition = "Force-Off"

    def candidates(self) -> list[Record]:
        wait = self.bos.options.number("max_power_off_wait_time")
        return [record for record in super().candidates() if acted_before(record, self.bos.now - wait)]


def acted_before(record: Record, moment: float) -> bool:
    """Whether the last action on the component was before this time, or there was none."""
    last = record.get("last_action", {}).get("last_updated")
    return not last or moment_of(last) < moment
