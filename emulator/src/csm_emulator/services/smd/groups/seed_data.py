"""The groups of the machine's owners."""

from __future__ import annotations

from collections.abc import Mapping

from csm_emulator.machine.parts import Topology
from csm_emulator.records import Json


def groups(topology: Topology) -> Mapping[str, Json]:
    return {
        owner.label: {
            "label": owner.label,
            "description": owner.description,
            "exclusiveGroup": owner.exclusive,
            "tags": list(owner.tags),
            "members": {"ids": list(owner.nodes)},
        }
        for owner in topology.owners
    }
