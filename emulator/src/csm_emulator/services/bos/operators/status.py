"""The status operator: where each enabled component is, and whether it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from csm_emulator.records import Record
from csm_emulator.services.bos.components.records import (
    CONFIGURING,
    DID_POWER_ON,
    FAILED,
    NO_ACTUAL_STATE,
    NO_ATTEMPTS,
    NO_PHASE,
    ON_HOLD,
    POWERING_OFF,
    POWERING_ON,
    boots_nothing,
    configuration_of,
    runs_what_is_wanted,
    status_of,
)
from csm_emulator.services.bos.context import Bos
from csm_emulator.services.bos.operators.node_actions import chunks
from csm_emulator.services.bos.operators.power_off import acted_before

_NONE: Record = {}


@dataclass(frozen=True, slots=True)
class Finding:
    phase: str = NO_PHASE
    override: str = ""
    disable: bool = False
    error: str = ""
    action_failed: bool = False


DONE = Finding(disable=True)


class Status:
    name: ClassVar[str] = "status"
    frequency: ClassVar[str] = "polling_frequency"

    def __init__(self, bos: Bos) -> None:
        self._bos = bos
        self.configured_as_wanted: set[str] = set()
        """Those for which CFS had the wanted configuration at the last look; forgotten by a restart."""

    def due(self) -> float | None:
        return self._bos.now if self._bos.components.any_enabled() else None

    def run(self) -> None:
        self.configured_as_wanted = set()
        for chunk in chunks(self._bos, self._bos.components.enabled()):
            self._look_at(chunk)

    def _look_at(self, components: Sequence[Record]) -> None:
        power = self._bos.neighbours.power_states([record["id"] for record in components])
        # CFS matters to nodes that run what is wanted, and has to know those that BOS begins with; the real one asks
        # for all of them, every time.
        asked = [each["id"] for each in components if _concerns_cfs(each, power.get(each["id"], ""))]
        in_cfs = self._bos.neighbours.cfs_components(asked)
        if not asked:
            self._bos.neighbours.must_have_cfs()
        spared = set(asked)
        patches = {}
        for record in components:
            name = record["id"]
            known = in_cfs.get(name) if name in spared else _NONE
            patch = _patch(record, self._finding(record, power.get(name, ""), known))
            if patch is not None:
                patches[name] = patch
        self._bos.components.patch(patches)

    def _finding(self, record: Record, power: str, in_cfs: Record | None) -> Finding:
        if not power or in_cfs is None:
            service = "cfs" if power and power != "undefined" else "pcs"
            error = f"Component information was not returned by {service}"
            return Finding(override=ON_HOLD, disable=True, error=error)
        found = self._phase(record, power, in_cfs)
        if status_of(record) == FAILED:
            return replace(found, disable=True, override=FAILED)
        return found

    def _phase(self, record: Record, power: str, in_cfs: Record) -> Finding:
        if power == "off":
            if boots_nothing(record):
                return DONE
            return Finding(POWERING_ON, action_failed=self._was_started_before(record, "max_power_on_wait_time"))
        if boots_nothing(record):
            return Finding(POWERING_OFF)
        if runs_what_is_wanted(record):
            return self._configuration(record, in_cfs)
        if _was_started(record) and not self._was_started_before(record, "max_boot_wait_time"):
            return Finding(POWERING_ON)
        # It is to be restarted, or it did not come up.
        return Finding(POWERING_OFF)

    def _was_started_before(self, record: Record, wait: str) -> bool:
        return _was_started(record) and acted_before(record, self._bos.now - self._bos.options.number(wait))

    def _configuration(self, record: Record, in_cfs: Record) -> Finding:
        wanted = configuration_of(record)
        if wanted != in_cfs.get("desired_config"):
            return Finding(CONFIGURING)
        self.configured_as_wanted.add(record["id"])
        status = str(in_cfs.get("configuration_status", "")).lower()
        if not wanted or status == "configured":
            return DONE
        if status == "pending":
            return Finding(CONFIGURING)
        error = "cfs configuration failed"
        if status != "failed":
            error = f"cfs is not reporting a valid configuration status for this component: {status}"
        return Finding(CONFIGURING, override=FAILED, disable=True, error=error)


def _concerns_cfs(record: Record, power: str) -> bool:
    if record.get("status", _NONE).get("status_override") == ON_HOLD:
        return True
    return power != "off" and not boots_nothing(record) and runs_what_is_wanted(record)


def _was_started(record: Record) -> bool:
    return bool(record.get("last_action", _NONE).get("action", "") == DID_POWER_ON)


def _patch(record: Record, found: Finding) -> Record | None:
    """What changes; None when nothing does."""
    status: Mapping[str, str] = record.get("status", _NONE)
    patch: Record = {}
    phase, before = found.phase, status.get("phase", NO_PHASE)
    if phase != before:
        if phase == NO_PHASE:
            patch["event_stats"] = NO_ATTEMPTS
        if before == POWERING_OFF:
            # It is off, or starts anew: what it ran it runs no more.
            patch["actual_state"] = NO_ACTUAL_STATE
    if found.disable:
        patch["enabled"] = False
    if found.error and found.error != record.get("error", ""):
        patch["error"] = found.error
    if found.action_failed and not record.get("last_action", _NONE).get("failed", False):
        patch["last_action"] = {"failed": True}
    if not patch and phase == before and found.override == status.get("status_override", ""):
        return None
    new = {"status_override": found.override}
    return {**patch, "status": new if phase == before else {**new, "phase": phase}}
