"""How SMD hears of the machine: the Redfish events that the collector brings it. (cmd/smd/rfevent.go)"""

from __future__ import annotations

from collections.abc import Iterable

from canton.emulator.faces.smd.hsm import Hsm
from canton.emulator.faces.smd.state_changes import set_state
from canton.emulator.machine.means import Event
from canton.emulator.machine.parts import Part

_SLOTS = frozenset({"ComputeModule", "RouterModule"})
_COME_UP = frozenset({"NodeBMC", "NodeEnclosure"})
"""With a compute slot only its cards come up, its nodes wait for an order; a router slot brings everything."""


def listen(hsm: Hsm) -> None:
    hsm.world.machine.watch(lambda event: _hear(hsm, event))


def _hear(hsm: Hsm, event: Event) -> None:
    if event.kind == "power":
        _power(hsm, event.xname, "On" if event.value == "on" else "Off")
    elif event.kind == "controller" and event.value == "up":
        # It is discovered anew, and a controller that answers is Ready.
        _set(hsm, [event.xname], "Ready")


def _power(hsm: Hsm, xname: str, state: str) -> None:
    part = hsm.world.machine.part(xname)
    if part is None:
        return
    affected = [xname]
    if part.type in _SLOTS:
        affected += (child.xname for child in _on_board(hsm, part) if _goes_along(part, child, state))
    _set(hsm, affected, state)


def _on_board(hsm: Hsm, slot: Part) -> Iterable[Part]:
    """What the slot's controllers are asked about."""
    machine = hsm.world.machine
    controllers = {part.xname for part in machine.parts("NodeBMC", "RouterBMC") if part.parent == slot.xname}
    return (
        part
        for part in machine.parts("NodeBMC", "RouterBMC", "NodeEnclosure", "HSNBoard", "Node")
        if part.xname in controllers or part.controller in controllers
    )


def _goes_along(slot: Part, child: Part, state: str) -> bool:
    return state == "Off" or slot.type == "RouterModule" or child.type in _COME_UP


def _set(hsm: Hsm, xnames: Iterable[str], state: str) -> None:
    heard = [xname for xname in xnames if not hsm.world.faults.strikes("stale-inventory", xname)]
    if heard:
        set_state(hsm, heard, state, "OK")
