"""Decides which actions each component needs, and in which order the components get them.

``sequenceComponents`` and ``PowerSequenceFull`` of domain/transitions.go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from csm_emulator.services.pcs.component_types import BMCS, MODULES, SWITCHES
from csm_emulator.services.pcs.transitions.tasks import (
    CONFIRMED,
    FAILED,
    GATHERING,
    SUCCEEDED,
    UNSUPPORTED,
    WAITING,
    Decision,
    Task,
)

SHUTDOWN, FORCE_OFF, RESTART, ON = "gracefulshutdown", "forceoff", "gracefulrestart", "on"
_NODE, _CHASSIS, _OUTLET = ("Node",), ("Chassis",), ("CabinetPDUPowerConnector",)
_DOWN = [(action, kinds) for kinds in (_NODE, MODULES, _CHASSIS, _OUTLET) for action in (SHUTDOWN, FORCE_OFF)]
_UP = [(ON, kinds) for kinds in (_OUTLET, _CHASSIS, MODULES, _NODE)]
WAVES: list[tuple[str, tuple[str, ...]]] = [
    *_DOWN,
    (RESTART, (*_NODE, *MODULES, *_CHASSIS, *_OUTLET, *SWITCHES)),
    # BMCs restart last, since they do not answer while they restart.
    (RESTART, BMCS),
    *_UP,
]
OPERATION_OF = {SHUTDOWN: "Off", FORCE_OFF: "Force-Off", RESTART: "Soft-Restart", ON: "On"}
END_STATE = {SHUTDOWN: "off", FORCE_OFF: "off", RESTART: "on", ON: "on"}
_CONTROLLERS = frozenset({*BMCS, "CabinetPDUController"})


@dataclass(frozen=True, slots=True)
class ComponentState:
    """The facts about a component that decide its actions."""

    power: str
    operations: Collection[str]
    actions: Mapping[str, str]
    """Redfish's ResetTypes, by their names in lower case."""
    parent_restarts: bool = True
    """No parent in the same transition is switched off and on instead of restarting."""


def decide(operation: str, task: Task, component: ComponentState) -> Decision:
    """The changes to the task: its plan, or its end."""
    if operation not in component.operations:
        return _ended(
            UNSUPPORTED,
            f"Component does not support the specified transition operation, {operation}",
            "Unsupported for transition operation",
        )
    return _DECISIONS[operation](task, component)


def _ended(status: str, description: str, error: str = "") -> Decision:
    return {"status": status, "description": description, "error": error}


def _planned(*plan: str) -> Decision:
    return {"plan": list(plan), "left": len(plan)}


def _already_achieved(task: Task, word: str) -> Decision:
    fresh = task["state"] == GATHERING
    return _ended(SUCCEEDED, "Component already in desired state" if fresh else f"Transition confirmed, {word}")


def _on(task: Task, component: ComponentState) -> Decision:
    # A component in state "undefined" is tried: it may answer once its parent has power.
    return _already_achieved(task, "On") if component.power == "on" else _planned(ON)


def _off(task: Task, component: ComponentState) -> Decision:
    return _already_achieved(task, "Off") if component.power == "off" else _planned(SHUTDOWN)


def _force_off(task: Task, component: ComponentState) -> Decision:
    return _already_achieved(task, "ForceOff") if component.power == "off" else _planned(FORCE_OFF)


def _resume_while_off(task: Task, word: str) -> Decision:
    """A restart of a component that is not on fails, unless PCS switched it off itself before PCS was restarted."""
    if task["state"] == GATHERING:
        return _ended(
            FAILED,
            f"Component must be in the On state for {word}",
            "Component is in the wrong power state",
        )
    if task["operation"] == "On":
        return _planned(ON)
    if task["operation"] in ("Off", "Force-Off"):
        return {**_planned(ON), "state": CONFIRMED}
    kind = "GracefulRestart" if task["operation"] == "Soft-Restart" else "ForceRestart"
    return _ended(FAILED, f"Failed to apply transition, {kind}", "Unknown error")


def _off_and_on(task: Task) -> Decision:
    if task["operation"] == "On":
        return _ended(SUCCEEDED, "Transition confirmed, On")
    return _planned(SHUTDOWN, ON)


def _soft_restart(task: Task, component: ComponentState) -> Decision:
    if component.power != "on":
        return _resume_while_off(task, "Soft-Restart")
    is_controller = task["type"] in _CONTROLLERS
    can_restart = RESTART in component.actions or (is_controller and "forcerestart" in component.actions)
    if can_restart and component.parent_restarts:
        if task["state"] == WAITING:
            return _ended(SUCCEEDED, "Transition confirmed, gracefulrestart")
        return _planned(RESTART)
    if is_controller:
        return _ended(SUCCEEDED, "Component will be reset as a result of its parent component getting powered off->on.")
    return _off_and_on(task)


def _hard_restart(task: Task, component: ComponentState) -> Decision:
    return _off_and_on(task) if component.power == "on" else _resume_while_off(task, "Hard-Restart")


def _init(task: Task, component: ComponentState) -> Decision:
    was_switched_off = task["operation"] in ("Off", "Force-Off")
    if component.power != "on":
        if not was_switched_off:
            return _planned(ON)
        description = "Transition confirmed, off. Waiting for next transition"
        return {**_planned(ON), "description": description, "state": CONFIRMED}
    if task["operation"] == "On" or (was_switched_off and task["state"] == CONFIRMED):
        return _ended(SUCCEEDED, "Transition confirmed, on")
    return _planned(FORCE_OFF if task["operation"] == "Force-Off" else SHUTDOWN, ON)


_DECISIONS: Mapping[str, Callable[[Task, ComponentState], Decision]] = {
    "On": _on,
    "Off": _off,
    "Soft-Off": _off,
    "Soft-Restart": _soft_restart,
    "Hard-Restart": _hard_restart,
    "Init": _init,
    "Force-Off": _force_off,
}


def reset_type(action: str, actions: Mapping[str, str]) -> str | None:
    """The ResetType of the hardware for an action; None when it has none."""
    substitute = {SHUTDOWN: "off", RESTART: "forcerestart"}.get(action, "")
    return actions.get(action) or actions.get(substitute)


def first_action(operation: str, power: str) -> str:
    """The action that a component's dependants wait for."""
    if operation == "Force-Off":
        return FORCE_OFF
    if operation == "On" or (operation == "Init" and power != "on"):
        return ON
    return SHUTDOWN


def wakes_controllers(action: str, kinds: Collection[str]) -> bool:
    """Whether controllers start with this wave, and need time before they answer."""
    return (action == ON and "ComputeModule" in kinds) or (action == RESTART and "NodeBMC" in kinds)
