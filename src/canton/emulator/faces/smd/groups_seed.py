"""The groups that the machine's owners have."""

from __future__ import annotations

from collections.abc import Mapping

from canton.emulator.machine.parts import Topology
from canton.emulator.wire.call import Json


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
