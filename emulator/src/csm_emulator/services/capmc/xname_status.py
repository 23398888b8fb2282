"""``get_xname_status``: the state of the hardware from PCS, or that of HSM."""

from __future__ import annotations

import re
from collections.abc import Sequence

from csm_emulator.dialects.go_json.reader import DecodeError, EmptyBody, decode_first
from csm_emulator.dialects.go_json.types import STRING, STRINGS, struct
from csm_emulator.records import Json
from csm_emulator.services.capmc.hsm_client import Hsm
from csm_emulator.services.capmc.responses import CapmcError, InvalidIds, go_list
from csm_emulator.services.capmc.xname_control import POWERED, split_valid
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.mesh import Mesh

_REQUEST = struct("capmc.XnameStatusRequest", {"filter": STRING, "source": STRING, "xnames": STRINGS})
_FILTERS = {
    "show_alert": "alert",
    "show_diag": "diag",
    "show_disabled": "disabled",
    "show_empty": "empty",
    "show_halt": "halt",
    "show_off": "off",
    "show_on": "on",
    "show_populated": "populated",
    "show_ready": "ready",
    "show_reserved": "locked",
    "show_resvd": "locked",
    "show_standby": "standby",
    "show_undefined": "undefined",
    "show_unknown": "unknown",
    "show_warning": "warning",
    "show_warn": "warning",
}
_ALL = frozenset(_FILTERS.values())
_STATES = ("empty", "halt", "off", "on", "populated", "ready", "standby", "undefined", "unknown")
_FLAGS = ("alert", "warning", "locked", "unknown")
_FROM_HSM = frozenset({"hsm", "hms", "sm", "smd", "software"})
_FROM_REDFISH = frozenset({"", "redfish", "hardware"})
_XNAME_PARTS = re.compile(r"([A-Za-z])([0-9]+)")


class XnameStatus:
    def __init__(self, mesh: Mesh, hsm: Hsm) -> None:
        self._mesh = mesh
        self._hsm = hsm

    def answer(self, call: Call) -> Reply:
        request = _read_request(call.body)
        filters = _read_filters(request["filter"])
        source = request["source"].lower()
        if source not in _FROM_HSM | _FROM_REDFISH:
            raise CapmcError(400, f"unknown status source '{request['source']}'")
        names, invalid = split_valid(request["xnames"] or (), allow_duplicates=False)
        if invalid:
            raise CapmcError(400, f"invalid/duplicate xnames: {go_list(invalid)}")
        query = _query(request["filter"], filters, from_hsm=source in _FROM_HSM)
        try:
            if source in _FROM_HSM:
                return json_reply(self._from_hsm(names, query, filters))
            return json_reply(self._from_pcs(self._hsm.by_xname(names, query), filters))
        except InvalidIds as error:
            raise CapmcError(400, str(error)) from error

    def _from_hsm(self, names: list[str], query: list[tuple[str, str]], filters: frozenset[str]) -> Json:
        components = self._hsm.components([*(("id", name) for name in names), *query])
        present = {component["ID"] for component in components}
        missing = [name for name in names if name not in present]
        if missing:
            raise InvalidIds("xnames not found", missing)
        states: dict[str, list[str]] = {}
        flags: dict[str, list[str]] = {}
        for component in components:
            flags.setdefault(component.get("Flag", "").lower(), []).append(component["ID"])
            state = component.get("State", "").lower()
            states.setdefault(state if state in _STATES else "undefined", []).append(component["ID"])
            if not component.get("Enabled", True):
                flags.setdefault("disabled", []).append(component["ID"])
        shown_states = {state: states[state] for state in _STATES if state in states and state in filters}
        shown_flags = {flag: flags[flag] for flag in _FLAGS if flag in flags and flag in filters}
        # CAPMC shows disabled components with the flags, but only if there is another flag.
        if shown_flags and "disabled" in flags and "disabled" in filters:
            shown_flags["disabled"] = flags["disabled"]
        return {"e": 0, "err_msg": ""} | shown_states | ({"flags": shown_flags} if shown_flags else {})

    def _from_pcs(self, components: Sequence[Json], filters: frozenset[str]) -> Json:
        names = sorted(component["ID"] for component in components)
        reply = self._mesh.ask("pcs", "POST", "/power-status", {"xname": names})
        if not reply.ok:
            return {"e": 500, "err_msg": "Error: Failed to get status from PCS."}
        if not {"on", "off"} & filters:
            filters |= {"on", "off"}
        statuses = reply.json()["status"]
        xnames_by_state: dict[str, list[str]] = {"off": [], "on": [], "undefined": []}
        for status in statuses:
            state = "undefined" if status["error"] else status["powerState"]
            if state not in ("on", "off"):
                xnames_by_state["undefined"].append(status["xname"])
            elif state in filters:
                xnames_by_state[state].append(status["xname"])
        failures = sum(1 for status in statuses if status["error"])
        message = f"Errors encountered with {failures}/{len(statuses)} Xnames for Status" if failures else ""
        shown_states = {state: sorted(xnames, key=_sort_key) for state, xnames in xnames_by_state.items() if xnames}
        return {"e": -1 if failures else 0, "err_msg": message} | shown_states


def _read_request(body: bytes) -> Json:
    try:
        return decode_first(body, _REQUEST)
    except EmptyBody:
        raise CapmcError(400, "no request") from None
    except DecodeError as error:
        raise CapmcError(400, str(error)) from error


def _read_filters(text: str) -> frozenset[str]:
    if not text:
        return _ALL
    filters: set[str] = set()
    for token in text.lower().split("|"):
        word = token.strip()
        if word == "show_all":
            filters |= _ALL
        elif word in _FILTERS:
            filters.add(_FILTERS[word])
        else:
            raise CapmcError(400, f"invalid filter string: {token}")
    return frozenset(filters)


def _query(text: str, filters: frozenset[str], *, from_hsm: bool) -> list[tuple[str, str]]:
    query = [("type", kind) for kind in POWERED]
    if not text:
        return query
    # For the state of the hardware, components that are on or off in HSM are always included.
    hardware = frozenset() if from_hsm else frozenset({"off", "on"})
    query += [
        ("state", state.title()) for state in ("halt", "off", "on", "ready", "standby") if state in filters | hardware
    ]
    if "disabled" not in filters:
        query.append(("enabled", "true"))
    elif filters != _ALL:
        query.append(("enabled", "false"))
    return query


def _sort_key(xname: str) -> list[tuple[str, int]]:
    return [(letter, int(digits)) for letter, digits in _XNAME_PARTS.findall(xname)]
