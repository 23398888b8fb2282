"""Whether a NIC of the high-speed network has a link."""

from __future__ import annotations

from canton.emulator.machine.fabric_ports import Dropped
from canton.emulator.machine.machine import Machine


def linked(machine: Machine, nic: str) -> bool:
    try:
        port = machine.fabric.plug(nic)
    except Dropped:
        return False
    return machine.fabric.state(port.xname).online
