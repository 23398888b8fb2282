"""What discovery makes of a part's state: as Redfish says, but a node that runs stays what it was."""

from __future__ import annotations

from collections.abc import Mapping

from csm_emulator.machine.controllers import CONTROLLERS
from csm_emulator.machine.parts import Part
from csm_emulator.services.smd.components import seed_data as component_seeds
from csm_emulator.services.smd.database import Hsm
from csm_emulator.transport.call import Json

POST_BOOT_STATES = frozenset({"Ready", "Standby", "Halt"})
"""Redfish knows no more than On: these are higher, and are kept. (base.IsPostBootState)"""
_DISCOVERED_FIELDS = ("State", "Flag", "Subtype", "NetType", "Arch", "Class")
"""What is written over in a component that is there; role, NID and the rest are the site's."""


def discovered_component(hsm: Hsm, part: Part, old: Mapping[str, Json] | None) -> Mapping[str, Json]:
    component = {**component_seeds.component(hsm.context.machine, part), "State": _state(hsm, part, old), "Flag": "OK"}
    if old is None:
        return component
    if component["State"] == old["State"] and old["State"] in POST_BOOT_STATES:
        component["Flag"] = old["Flag"]
    return {**old, **{name: component[name] for name in _DISCOVERED_FIELDS if name in component}}


def _state(hsm: Hsm, part: Part, old: Mapping[str, Json] | None) -> str:
    if part.type in CONTROLLERS:
        return "Ready"
    if hsm.context.machine.power.state(part.xname) == "off":
        return "Off"
    if part.type != "Node":
        return "On"
    if old is not None and old["State"] in POST_BOOT_STATES:
        return str(old["State"])
    # SMD asks HBTD whether the node's heart beats.
    return "Ready" if hsm.context.machine.boot.beating(part.xname) else "On"
