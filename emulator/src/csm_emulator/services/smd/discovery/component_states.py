"""The component state after discovery: that of Redfish, except that a booted node keeps its state."""

from __future__ import annotations

from collections.abc import Mapping

from csm_emulator.machine.controllers import CONTROLLERS
from csm_emulator.machine.parts import Part
from csm_emulator.records import Json
from csm_emulator.services.smd.components import seed_data as component_seeds
from csm_emulator.services.smd.database import Hsm

POST_BOOT_STATES = frozenset({"Ready", "Standby", "Halt"})
"""Redfish has no state above On; discovery keeps these higher states. (base.IsPostBootState)"""
_DISCOVERED_FIELDS = ("State", "Flag", "Subtype", "NetType", "Arch", "Class")
"""The fields of an existing component that discovery overwrites; the site sets role, NID and the others."""


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
    return "Ready" if hsm.context.machine.boot.sends_heartbeats(part.xname) else "On"
