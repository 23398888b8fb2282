"""Files that an earlier tenant left on the disks of nodes."""

from __future__ import annotations

from dataclasses import dataclass

from csm_emulator.machine.faults.faults import Faults
from csm_emulator.machine.parts import Part

UNKNOWN_OWNER = "unknown"


@dataclass(frozen=True, slots=True)
class Remnants:
    """Files of an earlier tenant: whose they are, and on which drives."""

    of: str
    drives: tuple[str, ...]


def drives(node: Part) -> tuple[str, ...]:
    """The xnames of a node's disks."""
    fittings = node.model.fittings if node.model else ()
    drive_fittings = [fitting for fitting in fittings if fitting.fru.kind == "Drive"]
    return tuple(
        node.xname + fitting.name.format(number) for fitting in drive_fittings for number in range(fitting.count)
    )


def find_remnants(node: Part, faults: Faults) -> Remnants | None:
    """None if the disks are clean or the node has none."""
    fault = faults.present("disk-remnants", node.xname)
    drive_xnames = drives(node)
    return Remnants(str(fault.facts.get("of", UNKNOWN_OWNER)), drive_xnames) if fault and drive_xnames else None
