"""Redfish events, which reach SMD through the collector, change component states. (cmd/smd/rfevent.go)

A controller that is off or unreachable sends none; SMD learns of those changes when it discovers the controller again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from csm_emulator.machine.context import Event
from csm_emulator.machine.machine import Machine
from csm_emulator.machine.parts import Part
from csm_emulator.services.smd.components.state_changes import set_state
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.discovery.run import Discoverer

_SLOTS = ("ComputeModule", "RouterModule")
_ON_BOARD = ("NodeBMC", "RouterBMC", "NodeEnclosure", "HSNBoard", "Node")
_POWERED_WITH_COMPUTE_SLOT = frozenset({"NodeBMC", "NodeEnclosure"})
"""Types that come on with a compute slot; its nodes wait for a command. With a router slot everything comes on."""

Boards = Mapping[str, Sequence[Part]]
"""Slot → its controllers and the parts that they manage."""


def watch_machine(hsm: Hsm) -> None:
    boards = _boards(hsm.context.machine)
    hsm.context.machine.watch(lambda event: _on_event(hsm, boards, event))


def _boards(machine: Machine) -> Boards:
    boards: dict[str, list[Part]] = {slot.xname: [] for slot in machine.parts(*_SLOTS)}
    slots = {part.xname: part.parent for part in machine.parts("NodeBMC", "RouterBMC")}
    for part in machine.parts(*_ON_BOARD):
        slot = slots.get(part.xname) or slots.get(part.controller)
        if slot in boards:
            boards[slot].append(part)
    return boards


def _on_event(hsm: Hsm, boards: Boards, event: Event) -> None:
    machine = hsm.context.machine
    if event.kind == "power" and machine.power.reachable(machine.controller(event.xname)):
        state = "On" if event.value == "on" else "Off"
        _set_state(hsm, [event.xname, *_affected_parts(hsm, boards, event.xname, state)], state)
    elif event.kind == "controller" and event.value == "up" and event.xname in hsm.inventory.endpoints:
        Discoverer(hsm).start([event.xname])


def _affected_parts(hsm: Hsm, boards: Boards, slot: str, state: str) -> Iterable[str]:
    part = hsm.context.machine.part(slot)
    everything = state == "Off" or (part is not None and part.type == "RouterModule")
    return (child.xname for child in boards.get(slot, ()) if everything or child.type in _POWERED_WITH_COMPUTE_SLOT)


def _set_state(hsm: Hsm, xnames: Iterable[str], state: str) -> None:
    reported = [xname for xname in xnames if not hsm.context.faults.trigger("stale-inventory", xname)]
    if reported:
        set_state(hsm, reported, state, "OK")
