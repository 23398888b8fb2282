"""The status operator: it sets the phase of each enabled component and disables components that are done."""

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
    configuration_of,
    runs_desired_state,
    should_be_off,
    status_of,
)
from csm_emulator.services.bos.context import Bos
from csm_emulator.services.bos.operators.node_actions import chunks
from csm_emulator.services.bos.operators.power_off import acted_before

_EMPTY: Record = {}


@dataclass(frozen=True, slots=True)
class Assessment:
    phase: str = NO_PHASE
    override: str = ""
    disable: bool = False
    error: str = ""
    action_failed: bool = False


DONE = Assessment(disable=True)


class Status:
    name: ClassVar[str] = "status"
    frequency: ClassVar[str] = "polling_frequency"

    def __init__(self, bos: Bos) -> None:
        self._bos = bos
        self.correctly_configured: set[str] = set()
        """Components that had the desired configuration in CFS at the last run; not kept over a restart."""

    def due(self) -> float | None:
        return self._bos.now if self._bos.components.any_enabled() else None

    def run(self) -> None:
        self.correctly_configured = set()
        for chunk in chunks(self._bos, self._bos.components.enabled()):
            self._check(chunk)

    def _check(self, components: Sequence[Record]) -> None:
        power = self._bos.neighbours.power_states([record["id"] for record in components])
        # CFS matters only for nodes that run their desired state and for those that BOS has just enabled. The real
        # service requests every component from CFS at every run.
        cfs_names = [
            component["id"] for component in components if _needs_cfs(component, power.get(component["id"], ""))
        ]
        in_cfs = self._bos.neighbours.cfs_components(cfs_names)
        if not cfs_names:
            self._bos.neighbours.must_have_cfs()
        cfs_name_set = set(cfs_names)
        patches = {}
        for record in components:
            name = record["id"]
            cfs_record = in_cfs.get(name) if name in cfs_name_set else _EMPTY
            patch = _patch(record, self._assess(record, power.get(name, ""), cfs_record))
            if patch is not None:
                patches[name] = patch
        self._bos.components.patch(patches)

    def _assess(self, record: Record, power: str, in_cfs: Record | None) -> Assessment:
        if not power or in_cfs is None:
            service = "cfs" if power and power != "undefined" else "pcs"
            error = f"Component information was not returned by {service}"
            return Assessment(override=ON_HOLD, disable=True, error=error)
        assessment = self._phase(record, power, in_cfs)
        if status_of(record) == FAILED:
            return replace(assessment, disable=True, override=FAILED)
        return assessment

    def _phase(self, record: Record, power: str, in_cfs: Record) -> Assessment:
        if power == "off":
            if should_be_off(record):
                return DONE
            return Assessment(POWERING_ON, action_failed=self._was_started_before(record, "max_power_on_wait_time"))
        if should_be_off(record):
            return Assessment(POWERING_OFF)
        if runs_desired_state(record):
            return self._configuration(record, in_cfs)
        if _was_started(record) and not self._was_started_before(record, "max_boot_wait_time"):
            return Assessment(POWERING_ON)
        # The node has to be restarted, or it did not come up in time.
        return Assessment(POWERING_OFF)

    def _was_started_before(self, record: Record, wait: str) -> bool:
        return _was_started(record) and acted_before(record, self._bos.now - self._bos.options.number(wait))

    def _configuration(self, record: Record, in_cfs: Record) -> Assessment:
        desired = configuration_of(record)
        if desired != in_cfs.get("desired_config"):
            return Assessment(CONFIGURING)
        self.correctly_configured.add(record["id"])
        status = str(in_cfs.get("configuration_status", "")).lower()
        if not desired or status == "configured":
            return DONE
        if status == "pending":
            return Assessment(CONFIGURING)
        error = "cfs configuration failed"
        if status != "failed":
            error = f"cfs is not reporting a valid configuration status for this component: {status}"
        return Assessment(CONFIGURING, override=FAILED, disable=True, error=error)


def _needs_cfs(record: Record, power: str) -> bool:
    if record.get("status", _EMPTY).get("status_override") == ON_HOLD:
        return True
    return power != "off" and not should_be_off(record) and runs_desired_state(record)


def _was_started(record: Record) -> bool:
    return bool(record.get("last_action", _EMPTY).get("action", "") == DID_POWER_ON)


def _patch(record: Record, assessment: Assessment) -> Record | None:
    """The patch that the assessment calls for; None when nothing changes."""
    status: Mapping[str, str] = record.get("status", _EMPTY)
    patch: Record = {}
    phase, previous_phase = assessment.phase, status.get("phase", NO_PHASE)
    if phase != previous_phase:
        if phase == NO_PHASE:
            patch["event_stats"] = NO_ATTEMPTS
        if previous_phase == POWERING_OFF:
            # The node is off or starts again, so it no longer runs its previous artefacts.
            patch["actual_state"] = NO_ACTUAL_STATE
    if assessment.disable:
        patch["enabled"] = False
    if assessment.error and assessment.error != record.get("error", ""):
        patch["error"] = assessment.error
    if assessment.action_failed and not record.get("last_action", _EMPTY).get("failed", False):
        patch["last_action"] = {"failed": True}
    if not patch and phase == previous_phase and assessment.override == status.get("status_override", ""):
        return None
    override = {"status_override": assessment.override}
    return {**patch, "status": override if phase == previous_phase else {**override, "phase": phase}}
