"""``get_power_cap``, ``set_power_cap`` and ``get_power_cap_capabilities``: by NID, directly from the controllers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from csm_emulator.dialects.go_json.reader import DecodeError, EmptyBody, decode_first
from csm_emulator.dialects.go_json.types import INT, STRING, GoType, pointer_to, slice_of, struct
from csm_emulator.machine.machine import Machine
from csm_emulator.machine.parts import Fru, NodeModel, Part
from csm_emulator.machine.power import ControllerUnreachable
from csm_emulator.machine.power_caps import NODE_LIMIT, PowerControl, controls_of
from csm_emulator.records import Json
from csm_emulator.services.capmc.components import Components
from csm_emulator.services.capmc.responses import INVALID, CapmcError, go_list
from csm_emulator.transport.call import Call, Reply, json_reply

_NIDS = struct("capmc.NidlistRequest", {"nids": slice_of(INT)})
_CONTROL = struct("capmc.PowerCapControl", {"name": STRING, "val": pointer_to(INT)})
_NID = struct("capmc.PowerCapNid", {"nid": INT, "controls": slice_of(_CONTROL), "e": INT, "err_msg": STRING})
_SET = struct("capmc.SetPowerCapRequest", {"nids": slice_of(_NID)})
BAD_EXCHANGE = 52
HPE_CONTROL = "Node Power Control"


class PowerCap:
    def __init__(self, machine: Machine, components: Components) -> None:
        self._machine = machine
        self._components = components

    def read_caps(self, call: Call) -> Reply:
        nids = list(dict.fromkeys(nid for nid in _read(call.body, _NIDS)["nids"] or () if nid >= 0))
        query = [("role", "Compute"), ("state", "Ready"), ("enabled", "true"), ("type", "node")]
        nodes = self._nodes(nids, query)
        errors = _undefined_nids(nids, nodes)
        if nids:
            errors += [
                _nid_error(nid, "Invalid state, NID is not 'ready'") for nid, node in nodes.items() if not _ready(node)
            ]
        if errors:
            return json_reply({"e": INVALID, "err_msg": "Invalid argument", "nids": errors})
        entries = [entry for nid, node in nodes.items() for entry in self._caps(nid, node["ID"])]
        return json_reply(_exchange_reply(entries, any("e" in entry for entry in entries)))

    def _caps(self, nid: int, node: str) -> list[Json]:
        """The entries of one node; a failed request gives an entry for each control with a URL of its own."""
        part = self._machine.part(node)
        controls = controls_of(part) if part else []
        if not controls:
            return [{"nid": nid, "e": 66, "err_msg": "No Redfish Power data for NID"}]
        try:
            values = [
                {"name": control.name, "val": self._machine.caps.read(node, control.name)} for control in controls
            ]
        except ControllerUnreachable:
            return [{"nid": nid, "e": -1, "err_msg": "Error getting power cap from NID"} for _ in controls]
        return [{"nid": nid, "controls": values}]

    def set_caps(self, call: Call) -> Reply:
        requested = _read(call.body, _SET)["nids"]
        if not requested:
            raise CapmcError(400, "no NIDs")
        controls_by_nid: dict[int, Json] = {}
        errors: list[Json] = []
        for entry in requested:
            if entry["nid"] in controls_by_nid:
                errors.append(_nid_error(entry["nid"], "Duplicate NID"))
            controls_by_nid.setdefault(entry["nid"], entry["controls"] or [])
        nodes = self._nodes(list(controls_by_nid), [])
        errors += _undefined_nids(controls_by_nid, nodes)
        orders: dict[int, tuple[str, dict[str, int]]] = {}
        for nid, node in nodes.items():
            error = self._node_error(node, controls_by_nid[nid])
            if error:
                errors.append(_nid_error(nid, error))
            else:
                settable = self._settable_controls(node["ID"])
                watts = {settable[c["name"]].name: c["val"] or 0 for c in controls_by_nid[nid] if c["name"] in settable}
                orders[nid] = (node["ID"], watts)
        if not orders:
            return json_reply({"e": INVALID, "err_msg": "No supported power capping controls", "nids": errors or None})
        if errors:
            return json_reply({"e": INVALID, "err_msg": "Invalid Argument", "nids": errors})
        failed = [entry for nid, order in orders.items() for entry in self._write_caps(nid, *order)]
        return json_reply(_exchange_reply(failed, bool(failed)))

    def _write_caps(self, nid: int, node: str, watts: dict[str, int]) -> Iterable[Json]:
        try:
            self._machine.caps.write(node, watts, "capmc set_power_cap")
        except ControllerUnreachable:
            yield {"nid": nid, "e": -1, "err_msg": "Error setting power cap for NID"}

    def _node_error(self, node: Json, controls: Sequence[Json]) -> str:
        if not _ready(node):
            return "Invalid state, NID is not 'ready'"
        if node.get("Role") != "Compute":
            return "Invalid type, not a compute node"
        if not controls:
            return "Invalid command, 'control' is not an object"
        settable, names = self._settable_controls(node["ID"]), set()
        for control in controls:
            name, watts = control["name"], control["val"] or 0
            if name in names:
                return f"Duplicate control specified: {name}"
            if name in settable:
                names.add(name)
                if error := _range_error(name, watts, settable[name].limits):
                    return error
        return "" if names else "No NID supported controls specified"

    def _settable_controls(self, node: str) -> dict[str, PowerControl]:
        """CAPMC's name → control. CAPMC shows that of HPE's servers under another name (hsmapi.go, nodecap.go), and
        has limits only for HPE's servers with accelerators.
        """
        part = self._machine.part(node)
        if part is None or part.hardware_class != "River":
            return {control.name: control for control in (controls_of(part) if part else ())}
        limited = part.model is not None and _accelerator(part.model) is not None
        controls = [control if limited else replace(control, limits=(0, 0)) for control in controls_of(part)]
        return {HPE_CONTROL if control.name == NODE_LIMIT else control.name: control for control in controls}

    def capabilities(self, call: Call) -> Reply:
        try:
            nids = decode_first(call.body, _NIDS)["nids"] or []
        except DecodeError as error:
            raise CapmcError(400, f"Bad Request: JSON: {error}") from error
        nids = list(dict.fromkeys(nids))
        negative = [nid for nid in nids if nid < 0]
        if negative:
            raise CapmcError(400, f"invalid nids: {go_list(negative)}")
        nodes = self._nodes(nids, [("type", "node")])
        errors = _undefined_nids(nids, nodes)
        if errors:
            return json_reply({"e": INVALID, "err_msg": "Invalid argument", "nids": errors})
        groups = self._groups(nodes)
        return json_reply({"e": 0, "err_msg": ""} | ({"groups": groups} if groups else {}))

    def _groups(self, nodes: dict[int, Json]) -> list[Json]:
        """One group for each model of node, without nodes that are in HSM but not in the machine."""
        by_model: dict[str, tuple[Part, list[int]]] = {}
        for nid, node in nodes.items():
            part = self._machine.part(node["ID"])
            if part is not None and part.model is not None:
                by_model.setdefault(part.model.name, (part, []))[1].append(nid)
        return [_group(part, nids) for part, nids in by_model.values()]

    def _nodes(self, nids: Sequence[int], default_query: Sequence[tuple[str, str]]) -> dict[int, Json]:
        query = [("nid", str(nid)) for nid in nids] or list(default_query)
        return {
            int(component["NID"]): component for component in self._components.matching(query) if "NID" in component
        }


def _read(body: bytes, kind: GoType) -> Json:
    try:
        return decode_first(body, kind)
    except EmptyBody:
        raise CapmcError(400, "no request") from None
    except DecodeError as error:
        raise CapmcError(400, str(error)) from error


def _ready(node: Json) -> bool:
    return bool(node.get("Enabled", True)) and node.get("State") == "Ready"


def _nid_error(nid: int, message: str) -> Json:
    return {"nid": nid, "e": INVALID, "err_msg": message}


def _undefined_nids(nids: Iterable[int], nodes: dict[int, Json]) -> list[Json]:
    return [_nid_error(nid, "Undefined NID") for nid in nids if nid not in nodes]


def _range_error(name: str, watts: int, limits: tuple[int, int]) -> str:
    """The error about a value outside the limits; a value of 0 removes the cap, a limit of 0 is none."""
    low, high = limits
    if watts and low and watts < low:
        return f"Control ({name}) value ({watts}) is less than minimum ({low})"
    return f"Control ({name}) value ({watts}) is greater than maximum ({high})" if high and watts > high else ""


def _exchange_reply(nids: list[Json], failed: bool) -> Json:
    """The reply with these entries; an empty list is null, as in Go."""
    result = {"e": BAD_EXCHANGE, "err_msg": "Invalid exchange"} if failed else {"e": 0, "err_msg": ""}
    return result | {"nids": nids or None}


def _group(part: Part, nids: list[int]) -> Json:
    name = _group_name(part.model) if part.model else ""
    node = controls_of(part)[0]
    limited = part.hardware_class != "River" or (part.model is not None and _accelerator(part.model) is not None)
    low, high = node.limits if limited else (0, 0)
    return {
        "name": name,
        "desc": name,
        "host_limit_max": high,
        "host_limit_min": low,
        "static": 0,
        "supply": node.limits[1],
        "powerup": 0,
        "nids": nids,
        "controls": [_capability(part, control, limited) for control in controls_of(part)],
    }


def _capability(part: Part, control: PowerControl, limited: bool) -> Json:
    """The limits of a control; that of HPE's rack servers has no name, or that of a Redfish service."""
    name = control.name
    if part.hardware_class == "River" and name == NODE_LIMIT:
        name = "PowerLimit Resource for AccPowerService" if limited else ""
    low, high = control.limits if limited else (0, 0)
    return {"name": name, "desc": name, "max": high, "min": low}


def _accelerator(model: NodeModel) -> Fru | None:
    return next((fitting.fru for fitting in model.fittings if fitting.fru.kind == "NodeAccel"), None)


def _group_name(model: NodeModel) -> str:
    """Processor, cores, memory and accelerator in one name, in the style of Cray Cascade."""
    by_kind = {fitting.fru.kind: fitting for fitting in model.fittings}
    processor, memory = by_kind.get("Processor"), by_kind.get("Memory")
    name = "3_"
    if processor:
        name += f"{processor.fru.manufacturer.replace(' ', '')}_{processor.fru.facts.get('TotalCores', 0)}c_"
    if memory:
        size = int(str(memory.fru.facts.get("CapacityMiB", 0))) * memory.count // 1024
        name += f"{size}GiB_{memory.fru.facts.get('OperatingSpeedMhz', 0)}MHz_"
    accelerator = _accelerator(model)
    return name + (accelerator.model.replace(" ", "") if accelerator else "NoAccel")
