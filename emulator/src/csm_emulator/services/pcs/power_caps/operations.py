"""What a power cap task does to one component. Facts: internal/domain/power-cap.go, internal/hsm/state_manager.go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

from csm_emulator.machine.power import ControllerUnreachable
from csm_emulator.machine.power_caps import NODE_LIMIT, PowerCaps
from csm_emulator.records import Json

IN_PROGRESS, FAILED, SUCCEEDED, UNSUPPORTED = "in-progress", "failed", "succeeded", "un-supported"
Limits = tuple[int | None, int | None]
"""The least and the most watts, as far as HSM knows them."""


class Operation(TypedDict):
    status: str
    component: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Capping:
    """What HSM says about the caps of a component."""

    fqdn: str = ""
    url: str = ""
    separate: bool = False
    """Each control is a resource of its own: Cray EX."""
    limits: Mapping[str, Limits] = field(default_factory=dict)
    """By control."""
    capacity: int | None = None
    """Watts that a server in a rack can draw, which is told where there is no limit."""


def failed(xname: str, error: str, status: str = FAILED) -> Operation:
    return Operation(status=status, component={"xname": xname, "error": error})


def capping(endpoint: Json | None) -> Capping:
    """Of a ComponentEndpoint."""
    if endpoint is None:
        return Capping()
    info = endpoint.get("RedfishSystemInfo") or {}
    fqdn, url = endpoint.get("RedfishEndpointFQDN", ""), info.get("PowerURL", "")
    if controls := [each["Control"] for each in info.get("Controls") or ()]:
        ranges = {each["Name"]: (each["SettingRangeMin"], each["SettingRangeMax"]) for each in controls}
        return Capping(fqdn, url, True, ranges)
    powers = info.get("PowerControl") or ()
    # HPE's servers give their control no name that a client would know.
    names = [NODE_LIMIT if "Chassis/1/Power" in url else each.get("Name", "") for each in powers]
    ranges = {name: _oem_limits(each) for name, each in zip(names, powers, strict=True)}
    return Capping(fqdn, url, False, ranges, powers[0].get("PowerCapacityWatts") if powers else None)


def _oem_limits(power: Json) -> Limits:
    limits = ((power.get("OEM") or {}).get("HPE") or {}).get("PowerLimit") or {}
    return limits.get("Min"), limits.get("Max")


def hindrance(component: Json, known: Capping) -> tuple[str, str]:
    """Why it cannot be capped, and the status; both empty when it can."""
    kind = component.get("Type", "")
    if not known.fqdn:
        return "Missing RfFQDN", FAILED
    if kind != "Node":
        return f"Type, {kind} unsupported for power capping", UNSUPPORTED
    if not known.url:
        return "Missing Power Cap URI", FAILED
    if component.get("Role") == "Management":
        return "Power capping Management nodes is not supported", UNSUPPORTED
    return "", ""


def snapshot(component: Json, known: Capping, caps: PowerCaps) -> list[Operation]:
    """One for each control that is a resource of its own, otherwise one for all."""
    xname = component["ID"]
    error, status = hindrance(component, known)
    if error:
        return [failed(xname, error, status) for _ in (known.limits if known.separate else [""])]
    return [_read(xname, name, known, caps) for name in known.limits]


def _read(xname: str, name: str, known: Capping, caps: PowerCaps) -> Operation:
    try:
        value = caps.read(xname, name)
    except ControllerUnreachable:
        return Operation(status=IN_PROGRESS, component={"xname": xname})
    low, high = known.limits[name]
    high = known.capacity if high is None else high
    told: dict[str, Any] = {"xname": xname}
    if name == NODE_LIMIT or not known.separate:
        told["limits"] = _without_none({"hostLimitMax": high, "hostLimitMin": low})
    return Operation(status=SUCCEEDED, component={**told, "powerCapLimits": [_shown(name, value, low, high)]})


def patch(component: Json, known: Capping, caps: PowerCaps, wanted: Mapping[str, int]) -> list[Operation]:
    """One for all controls, and one for each that is none; what is out of range is left out and told."""
    xname = component["ID"]
    operations = [failed(xname, f"Skipping undefined control '{name}'") for name in wanted if name not in known.limits]
    watts = {name: wanted[name] for name in known.limits if name in wanted}
    if not watts:
        return operations
    error, status = hindrance(component, known)
    if error:
        return [*operations, failed(xname, error, status)]
    errors = {name: wrong for name, value in watts.items() if (wrong := _out_of_range(name, value, known.limits[name]))}
    told = {"xname": xname} | ({"error": "; ".join(errors.values())} if errors else {})
    good = {name: value for name, value in watts.items() if name not in errors}
    if not good:
        return [*operations, Operation(status=FAILED, component=told)]
    try:
        caps.write(xname, good, "pcs power-cap")
    except ControllerUnreachable:
        return [*operations, Operation(status=IN_PROGRESS, component=told)]
    shown = [_shown(name, value, *known.limits[name]) for name, value in good.items()]
    return [*operations, Operation(status=SUCCEEDED, component={**told, "powerCapLimits": shown})]


def _shown(name: str, value: int, low: int | None, high: int | None) -> Json:
    return _without_none({"name": name, "currentValue": value, "maximumValue": high, "minimumValue": low})


def _without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _out_of_range(name: str, watts: int, limits: Limits) -> str:
    """0 takes the cap away."""
    low, high = limits
    if low is not None and 0 < watts < low:
        return f"Control ({name}) value ({watts}) is less than minimum ({low})"
    if high is not None and watts > high:
        return f"Control ({name}) value ({watts}) is more than maximum ({high})"
    return ""


def merged(operations: Iterable[Operation]) -> list[Json]:
    """One for each xname. Limits of the whole node are told when its own control came first, as PCS has it."""
    components: dict[str, dict[str, Any]] = {}
    errors: dict[str, list[str]] = {}
    for operation in operations:
        told = operation["component"]
        known = components.get(told["xname"])
        if told.get("error"):
            errors.setdefault(told["xname"], []).append(told["error"])
        if known is None:
            copied = {"powerCapLimits": list(told["powerCapLimits"])} if "powerCapLimits" in told else {}
            components[told["xname"]] = {**told, **copied}
        elif "error" not in told:
            if "limits" in told and "limits" in known:
                known["limits"] = told["limits"]
            if "powerCapLimits" in told:
                known.setdefault("powerCapLimits", []).extend(told["powerCapLimits"])
    for xname, found in errors.items():
        components[xname]["error"] = "; ".join(found)
    order = ("xname", "error", "limits", "powerCapLimits")
    return [{name: component[name] for name in order if name in component} for component in components.values()]
