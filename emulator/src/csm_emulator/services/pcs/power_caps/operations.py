"""Reads or sets power caps of one component. Sources: internal/domain/power-cap.go, internal/hsm/state_manager.go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NotRequired, TypedDict, TypeVar

from csm_emulator.machine.power import ControllerUnreachable
from csm_emulator.machine.power_caps import NODE_LIMIT, PowerCaps
from csm_emulator.records import Json, Record

T = TypeVar("T")
IN_PROGRESS, FAILED, SUCCEEDED, UNSUPPORTED = "in-progress", "failed", "succeeded", "un-supported"
_FIELD_ORDER: tuple[Literal["xname", "error", "limits", "powerCapLimits"], ...] = (
    "xname",
    "error",
    "limits",
    "powerCapLimits",
)
Limits = tuple[int | None, int | None]
"""Minimum and maximum in watts; None where HSM has no value."""


class ComponentCaps(TypedDict):
    """The entry of a component, as clients see it."""

    xname: str
    error: NotRequired[str]
    limits: NotRequired[dict[str, int]]
    powerCapLimits: NotRequired[list[Record]]


class Operation(TypedDict):
    status: str
    component: ComponentCaps


@dataclass(frozen=True, slots=True)
class CapControls:
    """The power cap controls of a component, as its ComponentEndpoint in HSM describes them."""

    fqdn: str = ""
    url: str = ""
    separate: bool = False
    """Each control is a Redfish resource of its own, as on Cray EX."""
    limits: Mapping[str, Limits] = field(default_factory=dict)
    """By the name of the control."""
    capacity: int | None = None
    """The most watts that a rack server draws: shown as its maximum where there is no limit."""


def failed_operation(xname: str, error: str, status: str = FAILED) -> Operation:
    return Operation(status=status, component={"xname": xname, "error": error})


def cap_controls(endpoint: Json | None) -> CapControls:
    if endpoint is None:
        return CapControls()
    info = endpoint.get("RedfishSystemInfo") or {}
    fqdn, url = endpoint.get("RedfishEndpointFQDN", ""), info.get("PowerURL", "")
    if controls := [control["Control"] for control in info.get("Controls") or ()]:
        ranges = {control["Name"]: (control["SettingRangeMin"], control["SettingRangeMax"]) for control in controls}
        return CapControls(fqdn, url, True, ranges)
    power_controls = info.get("PowerControl") or ()
    # The control of HPE's rack servers has no name of its own.
    names = [NODE_LIMIT if "Chassis/1/Power" in url else control.get("Name", "") for control in power_controls]
    ranges = {name: _oem_limits(control) for name, control in zip(names, power_controls, strict=True)}
    return CapControls(
        fqdn, url, False, ranges, power_controls[0].get("PowerCapacityWatts") if power_controls else None
    )


def _oem_limits(power_control: Json) -> Limits:
    limits = ((power_control.get("OEM") or {}).get("HPE") or {}).get("PowerLimit") or {}
    return limits.get("Min"), limits.get("Max")


def capping_error(component: Json, controls: CapControls) -> tuple[str, str]:
    """Why the component cannot be capped, and the status of the operation; both are empty when it can be."""
    kind = component.get("Type", "")
    if not controls.fqdn:
        return "Missing RfFQDN", FAILED
    if kind != "Node":
        return f"Type, {kind} unsupported for power capping", UNSUPPORTED
    if not controls.url:
        return "Missing Power Cap URI", FAILED
    if component.get("Role") == "Management":
        return "Power capping Management nodes is not supported", UNSUPPORTED
    return "", ""


def snapshot(component: Json, controls: CapControls, caps: PowerCaps) -> list[Operation]:
    """An operation for each control. A component that cannot be capped has only one, unless its controls
    are separate.
    """
    xname = component["ID"]
    error, status = capping_error(component, controls)
    if error:
        return [failed_operation(xname, error, status) for _ in (controls.limits if controls.separate else [""])]
    return [_read(xname, name, controls, caps) for name in controls.limits]


def _read(xname: str, name: str, controls: CapControls, caps: PowerCaps) -> Operation:
    try:
        value = caps.read(xname, name)
    except ControllerUnreachable:
        return Operation(status=IN_PROGRESS, component={"xname": xname})
    low, high = controls.limits[name]
    high = controls.capacity if high is None else high
    component: ComponentCaps = {"xname": xname}
    if name == NODE_LIMIT or not controls.separate:
        component["limits"] = _without_none({"hostLimitMax": high, "hostLimitMin": low})
    return Operation(
        status=SUCCEEDED, component={**component, "powerCapLimits": [_limit_entry(name, value, low, high)]}
    )


def patch(
    component: Json, controls: CapControls, caps: PowerCaps, requested_watts: Mapping[str, int]
) -> list[Operation]:
    """One operation for the known controls, and a failed one for each unknown control.

    A value out of range is not written; its error is in the result.
    """
    xname = component["ID"]
    operations = [
        failed_operation(xname, f"Skipping undefined control '{name}'")
        for name in requested_watts
        if name not in controls.limits
    ]
    watts = {name: requested_watts[name] for name in controls.limits if name in requested_watts}
    if not watts:
        return operations
    error, status = capping_error(component, controls)
    if error:
        return [*operations, failed_operation(xname, error, status)]
    errors = {
        name: error_text
        for name, value in watts.items()
        if (error_text := _out_of_range(name, value, controls.limits[name]))
    }
    result: ComponentCaps = {"xname": xname}
    if errors:
        result["error"] = "; ".join(errors.values())
    accepted = {name: value for name, value in watts.items() if name not in errors}
    if not accepted:
        return [*operations, Operation(status=FAILED, component=result)]
    try:
        caps.write(xname, accepted, "pcs power-cap")
    except ControllerUnreachable:
        return [*operations, Operation(status=IN_PROGRESS, component=result)]
    entries = [_limit_entry(name, value, *controls.limits[name]) for name, value in accepted.items()]
    return [*operations, Operation(status=SUCCEEDED, component={**result, "powerCapLimits": entries})]


def _limit_entry(name: str, value: int, low: int | None, high: int | None) -> Record:
    return _without_none({"name": name, "currentValue": value, "maximumValue": high, "minimumValue": low})


def _without_none(fields: Mapping[str, T | None]) -> dict[str, T]:
    return {name: value for name, value in fields.items() if value is not None}


def _out_of_range(name: str, watts: int, limits: Limits) -> str:
    """The error text; empty when the value is allowed. 0 removes the cap."""
    low, high = limits
    if low is not None and 0 < watts < low:
        return f"Control ({name}) value ({watts}) is less than minimum ({low})"
    if high is not None and watts > high:
        return f"Control ({name}) value ({watts}) is more than maximum ({high})"
    return ""


def merged_components(operations: Iterable[Operation]) -> list[Json]:
    """One entry for each xname. It has the node's limits only if the node's own control came first, as in PCS."""
    components: dict[str, ComponentCaps] = {}
    errors: dict[str, list[str]] = {}
    for operation in operations:
        result = operation["component"]
        merged = components.get(result["xname"])
        if result.get("error"):
            errors.setdefault(result["xname"], []).append(result["error"])
        if merged is None:
            merged = components[result["xname"]] = result.copy()
            if "powerCapLimits" in result:
                merged["powerCapLimits"] = list(result["powerCapLimits"])
        elif "error" not in result:
            if "limits" in result and "limits" in merged:
                merged["limits"] = result["limits"]
            if "powerCapLimits" in result:
                merged.setdefault("powerCapLimits", []).extend(result["powerCapLimits"])
    for xname, messages in errors.items():
        components[xname]["error"] = "; ".join(messages)
    return [{name: component[name] for name in _FIELD_ORDER if name in component} for component in components.values()]
