"""Which actions a component goes through, and in which order components do: decisions, no doing.

``sequenceComponents`` and ``PowerSequenceFull`` of domain/transitions.go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from csm_emulator.services.pcs.kinds import BMCS, MODULES, SWITCHES
from csm_emulator.services.pcs.transitions.tasks import (
    CONFIRMED,
    FAILED,
    GATHERING,
    SUCCEEDED,
    UNSUPPORTED,
    WAITING,
    Task,
)

SHUTDOWN, FORCE_OFF, RESTART, ON = "gracefulshutdown", "forceoff", "gracefulrestart", "on"
_NODE, _CHASSIS, _OUTLET = ("Node",), ("Chassis",), ("CabinetPDUPowerConnector",)
_DOWN = [(action, kinds) for kinds in (_NODE, MODULES, _CHASSIS, _OUTLET) for action in (SHUTDOWN, FORCE_OFF)]
_UP = [(ON, kinds) for kinds in (_OUTLET, _CHASSIS, MODULES, _NODE)]
WAVES: list[tuple[str, tuple[str, ...]]] = [
    *_DOWN,
    (RESTART, (*_NODE, *MODULES, *_CHASSIS, *_OUTLET, *SWITCHES)),
    # BMCs last of all restarts: they do not answer for a while.
    (RESTART, BMCS),
    *_UP,
]
OPERATION_OF = {SHUTDOWN: "Off", FORCE_OFF: "Force-Off", RESTART: "Soft-Restart", ON: "On"}
END_STATE = {SHUTDOWN: "off", FORCE_OFF: "off", RESTART: "on", ON: "on"}
_CONTROLLERS = frozenset({*BMCS, "CabinetPDUController"})


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a component when its actions are decided."""

    power: str
    operations: Collection[str]
    actions: Mapping[str, str]
    """Redfish's ResetTypes by their names in lower case."""
    parent_restarts: bool = True
    """Whether no parent in the same transition drops its power instead of restarting."""


Changes = dict[str, Any]


def decide(operation: str, task: Task, seen: Seen) -> Changes:
    """What becomes of the task."""
    if operation not in seen.operations:
        return _ended(
            UNSUPPORTED,
            f"Component does not support the specified transition operation, {operation}",
            "Unsupported for transition operation",
        )
    return _DECISIONS[operation](task, seen)


def _ended(status: str, description: str, error: str = "") -> Changes:
    return {"status": status, "description": description, "error": error}


def _planned(*plan: str, **more: Any) -> Changes:
    return {"plan": list(plan), "left": len(plan), **more}


def _already(task: Task, word: str) -> Changes:
    fresh = task["state"] == GATHERING
    return _ended(SUCCEEDED, "Component already in desired state" if fresh else f"Transition confirmed, {word}")


def _on(task: Task, seen: Seen) -> Changes:
    # "undefined" is tried: it may come to answer when a parent is powered on.
    return _already(task, "On") if seen.power == "on" else _planned(ON)


def _off(task: Task, seen: Seen) -> Changes:
    return _already(task, "Off") if seen.power == "off" else _planned(SHUTDOWN)


def _force_off(task: Task, seen: Seen) -> Changes:
    return _already(task, "ForceOff") if seen.power == "off" else _planned(FORCE_OFF)


def _taken_up_while_off(task: Task, word: str) -> Changes:
    """A restart that is not on: refused, unless it was us who switched it off before somebody restarted PCS."""
    if task["state"] == GATHERING:
        return _ended(
            FAILED,
            f"Component must be in the On state for {word}",
            "Component is in the wrong power state",
        )
    if task["operation"] == "On":
        return _planned(ON)
    if task["operation"] in ("Off", "Force-Off"):
        return _planned(ON, state=CONFIRMED)
    kind = "GracefulRestart" if task["operation"] == "Soft-Restart" else "ForceRestart"
    return _ended(FAILED, f"Failed to apply transition, {kind}", "Unknown error")


def _off_and_on(task: Task) -> Changes:
    if task["operation"] == "On":
        return _ended(SUCCEEDED, "Transition confirmed, On")
    return _planned(SHUTDOWN, ON)


def _soft_restart(task: Task, seen: Seen) -> Changes:
    if seen.power != "on":
        return _taken_up_while_off(task, "Soft-Restart")
    controller = task["type"] in _CONTROLLERS
    able = RESTART in seen.actions or (controller and "forcerestart" in seen.actions)
    if able and seen.parent_restarts:
        if task["state"] == WAITING:
            return _ended(SUCCEEDED, "Transition confirmed, gracefulrestart")
        return _planned(RESTART)
    if controller:
        return _ended(SUCCEEDED, "Component will be reset as a result of its parent component getting powered off->on.")
    return _off_and_on(task)


def _hard_restart(task: Task, seen: Seen) -> Changes:
    return _off_and_on(task) if seen.power == "on" else _taken_up_while_off(task, "Hard-Restart")


def _init(task: Task, seen: Seen) -> Changes:
    went_off = task["operation"] in ("Off", "Force-Off")
    if seen.power != "on":
        said: Changes = {}
        if went_off:
            said = {
                "description": "Transition confirmed, off. Waiting for next transition",
                "state": CONFIRMED,
            }
        return _planned(ON, **said)
    if task["operation"] == "On" or (went_off and task["state"] == CONFIRMED):
        return _ended(SUCCEEDED, "Transition confirmed, on")
    return _planned(FORCE_OFF if task["operation"] == "Force-Off" else SHUTDOWN, ON)


_DECISIONS: Mapping[str, Callable[[Task, Seen], Changes]] = {
    "On": _on,
    "Off": _off,
    "Soft-Off": _off,
    "Soft-Restart": _soft_restart,
    "Hard-Restart": _hard_restart,
    "Init": _init,
    "Force-Off": _force_off,
}


def reset_type(action: str, actions: Mapping[str, str]) -> str | None:
    """The ResetType that the hardware has for an action."""
    instead = {SHUTDOWN: "off", RESTART: "forcerestart"}.get(action, "")
    return actions.get(action) or actions.get(instead)


def first_action(operation: str, power: str) -> str:
    """What the dependants of a component would have waited for."""
    if operation == "Force-Off":
        return FORCE_OFF
    if operation == "On" or (operation == "Init" and power != "on"):
        return ON
    return SHUTDOWN


def wakes_controllers(action: str, kinds: Collection[str]) -> bool:
    """Whether controllers need time after this wave before they answer."""
    return (action == ON and "ComputeModule" in kinds) or (action == RESTART and "NodeBMC" in kinds)
