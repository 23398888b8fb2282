"""``get_xname_status``: from the hardware, as PCS has it, or from HSM."""

from __future__ import annotations

import re
from collections.abc import Sequence

from csm_emulator.dialects.go_json.reader import DecodeError, EmptyBody, decode_first
from csm_emulator.dialects.go_json.types import STRING, STRINGS, struct
from csm_emulator.records import Json
from csm_emulator.services.capmc.hsm_client import Hsm
from csm_emulator.services.capmc.responses import BadIds, Refusal, go_list
from csm_emulator.services.capmc.xname_control import POWERED, split
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
_PIECES = re.compile(r"([A-Za-z])([0-9]+)")


class XnameStatus:
    def __init__(self, mesh: Mesh, hsm: Hsm) -> None:
        self._mesh = mesh
        self._hsm = hsm

    def answer(self, call: Call) -> Reply:
        asked = _asked(call.body)
        wanted = _wanted(asked["filter"])
        source = asked["source"].lower()
        if source not in _FROM_HSM | _FROM_REDFISH:
            raise Refusal(400, f"unknown status source '{asked['source']}'")
        names, bad = split(asked["xnames"] or (), twice=False)
        if bad:
            raise Refusal(400, f"invalid/duplicate xnames: {go_list(bad)}")
        query = _query(asked["filter"], wanted, from_hsm=source in _FROM_HSM)
        try:
            if source in _FROM_HSM:
                return json_reply(self._from_hsm(names, query, wanted))
            return json_reply(self._from_pcs(self._hsm.by_xname(names, query), wanted))
        except BadIds as error:
            raise Refusal(400, str(error)) from error

    def _from_hsm(self, names: list[str], query: list[tuple[str, str]], wanted: frozenset[str]) -> Json:
        found = self._hsm.components([*(("id", name) for name in names), *query])
        known = {each["ID"] for each in found}
        missing = [name for name in names if name not in known]
        if missing:
            raise BadIds("xnames not found", missing)
        told: dict[str, list[str]] = {}
        flags: dict[str, list[str]] = {}
        for each in found:
            flags.setdefault(each.get("Flag", "").lower(), []).append(each["ID"])
            state = each.get("State", "").lower()
            told.setdefault(state if state in _STATES else "undefined", []).append(each["ID"])
            if not each.get("Enabled", True):
                flags.setdefault("disabled", []).append(each["ID"])
        shown = {state: told[state] for state in _STATES if state in told and state in wanted}
        raised = {flag: flags[flag] for flag in _FLAGS if flag in flags and flag in wanted}
        # Disabled is told with the flags, when there is one to be told.
        if raised and "disabled" in flags and "disabled" in wanted:
            raised["disabled"] = flags["disabled"]
        return {"e": 0, "err_msg": ""} | shown | ({"flags": raised} if raised else {})

    def _from_pcs(self, found: Sequence[Json], wanted: frozenset[str]) -> Json:
        names = sorted(each["ID"] for each in found)
        reply = self._mesh.ask("pcs", "POST", "/power-status", {"xname": names})
        if not reply.ok:
            return {"e": 500, "err_msg": "Error: Failed to get status from PCS."}
        if not {"on", "off"} & wanted:
            wanted |= {"on", "off"}
        statuses = reply.json()["status"]
        told: dict[str, list[str]] = {"off": [], "on": [], "undefined": []}
        for status in statuses:
            state = "undefined" if status["error"] else status["powerState"]
            if state not in ("on", "off"):
                told["undefined"].append(status["xname"])
            elif state in wanted:
                told[state].append(status["xname"])
        failures = sum(1 for status in statuses if status["error"])
        message = f"Errors encountered with {failures}/{len(statuses)} Xnames for Status" if failures else ""
        shown = {state: sorted(named, key=_natural) for state, named in told.items() if named}
        return {"e": -1 if failures else 0, "err_msg": message} | shown


def _asked(body: bytes) -> Json:
    try:
        return decode_first(body, _REQUEST)
    except EmptyBody:
        raise Refusal(400, "no request") from None
    except DecodeError as error:
        raise Refusal(400, str(error)) from error


def _wanted(text: str) -> frozenset[str]:
    if not text:
        return _ALL
    found: set[str] = set()
    for token in text.lower().split("|"):
        word = token.strip()
        if word == "show_all":
            found |= _ALL
        elif word in _FILTERS:
            found.add(_FILTERS[word])
        else:
            raise Refusal(400, f"invalid filter string: {token}")
    return frozenset(found)


def _query(text: str, wanted: frozenset[str], *, from_hsm: bool) -> list[tuple[str, str]]:
    query = [("type", kind) for kind in POWERED]
    if not text:
        return query
    # The hardware's own states are wanted whatever HSM thinks of them.
    hardware = frozenset() if from_hsm else frozenset({"off", "on"})
    query += [
        ("state", state.title()) for state in ("halt", "off", "on", "ready", "standby") if state in wanted | hardware
    ]
    if "disabled" not in wanted:
        query.append(("enabled", "true"))
    elif wanted != _ALL:
        query.append(("enabled", "false"))
    return query


def _natural(xname: str) -> list[tuple[str, int]]:
    return [(letter, int(digits)) for letter, digits in _PIECES.findall(xname)]
