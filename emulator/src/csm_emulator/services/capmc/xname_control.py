"""``xname_on``, ``xname_off`` and ``xname_reinit``: what to switch is found out here, PCS switches it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from csm_emulator.context import Context
from csm_emulator.dialects.go_json.reader import DecodeError, decode_first
from csm_emulator.dialects.go_json.types import BOOL, STRING, STRINGS, struct
from csm_emulator.dialects.hms.names import hms_type
from csm_emulator.records import Json
from csm_emulator.services.capmc.hsm_client import Hsm
from csm_emulator.services.capmc.responses import INVALID, BadIds, Refusal, go_list
from csm_emulator.services.capmc.transitions import Outcome, PowerOrders
from csm_emulator.transport.call import Call, ConnectionAborted, Reply, json_reply
from csm_emulator.transport.routes import Handler
from csm_emulator.xnames import parse

ON, OFF, RESTART = "On", "Off", "Restart"
POWERED = (
    "CabinetPDUPowerConnector",
    "CabinetPDUOutlet",
    "Chassis",
    "RouterModule",
    "HSNBoard",
    "ComputeModule",
    "Node",
)
_SEQUENCE = {ON: POWERED, OFF: POWERED, RESTART: ("Node",)}
"""The types that a command is for (PowerControls in config.toml)."""
_REQUEST = struct(
    "capmc.XnameControl",
    {"xnames": STRINGS, "force": BOOL, "reason": STRING, "recursive": BOOL, "prereq": BOOL, "continue": BOOL},
)
NO_LOCK = 37


def split(names: Sequence[str], *, twice: bool) -> tuple[list[str], list[str]]:
    """Good ones and bad ones; those that come twice are bad, unless that is all right."""
    good: dict[str, None] = {}
    bad: list[str] = []
    seen: set[str] = set()
    for name in names:
        if name in seen:
            bad += [] if twice else [name]
        elif hms_type(name):
            good[name] = None
        else:
            bad.append(name)
        seen.add(name)
    return list(good), bad


class XnameControl:
    def __init__(self, context: Context, hsm: Hsm, orders: PowerOrders) -> None:
        self._context = context
        self._hsm = hsm
        self._orders = orders

    def handler(self, command: str) -> Handler:
        return lambda call: self._control(call, command)

    def _control(self, call: Call, command: str) -> Reply:
        asked = _asked(call.body)
        ignored: list[Json] = []
        try:
            found = self._targets(asked, command, ignored)
        except BadIds as bad:
            told = {"e": INVALID, "err_msg": "invalid argument", "xnames": [*ignored, *_xname_errors(bad)]}
            return json_reply(told, 400)
        if not found:
            raise Refusal(404, "No nodes found to operate on")
        disabled = [each["ID"] for each in found if not each.get("Enabled", True)]
        if disabled:
            raise Refusal(400, f"components disabled: {go_list(disabled)}")
        outcome = self._switch(found, command, force=asked["force"])

        def answer() -> Reply | None:
            if outcome.lost:
                raise ConnectionAborted
            told = outcome.known(standing=self._context.clock.speed == 0)
            return None if told is None else json_reply(_with_ignored(told, ignored, asked, command))

        return answer() or Reply(later=answer)

    def _targets(self, asked: Json, command: str, ignored: list[Json]) -> list[Json]:
        go_on = asked["continue"]
        names, bad = split(asked["xnames"], twice=asked["force"] or go_on)
        if bad:
            _ignore(BadIds("invalid/duplicate xnames", bad), ignored, go_on=go_on)
        names = _with_dependants(names, command)
        if {"s0", "all"} & set(names):
            names = []
        try:
            names = self._widened(names, asked)
        except BadIds as error:
            _ignore(error, ignored, go_on=go_on)
        query = [("enabled", "true"), ("state", "!Empty")] if go_on else []
        try:
            return self._hsm.by_xname(names, query)
        except BadIds as error:
            _ignore(error, ignored, go_on=go_on)
            rest = [name for name in names if name not in error.ids]
            return self._hsm.by_xname(rest, query) if rest else []

    def _widened(self, names: list[str], asked: Json) -> list[str]:
        if names and asked["recursive"]:
            return self._hsm.descendants(names, map(hms_type, names))
        if names and asked["prereq"]:
            return self._with_prerequisites(names)
        return names

    def _with_prerequisites(self, names: list[str]) -> list[str]:
        """What must be on before them: blades and chassis."""
        known = {each["ID"] for each in self._hsm.components([])}
        found: dict[str, None] = {}
        bad: list[str] = []
        for name in names:
            kind = hms_type(name)
            if name not in known or kind not in ("Node", "HSNBoard", "RouterModule", "ComputeModule", "Chassis"):
                bad.append(name)
                continue
            lineage = [name, *(str(each) for each in parse(name).ancestry)]
            found |= {each: None for each in lineage if each in known and hms_type(each) in POWERED}
        if bad:
            raise BadIds("Invalid Component IDs", bad)
        return list(found)

    def _switch(self, found: list[Json], command: str, *, force: bool) -> Outcome:
        word = f"Force{command}" if force else command
        wrong = [each for each in found if each["Type"] not in _SEQUENCE[command]]
        if wrong:
            refused = [_unsupported(each, word) for each in wrong]
            return Outcome(
                _said(-1, f"Errors encountered with {len(wrong)} components for {word}") | {"xnames": refused}
            )
        names = [each["ID"] for each in found]
        try:
            if command != ON:
                below = self._hsm.descendants(names, [each["Type"] for each in found])
                names = list(dict.fromkeys([*names, *below]))
            keys = self._hsm.reserve(names)
        except (BadIds, Refusal):
            keys = None
        if keys is None:
            return Outcome(_said(NO_LOCK, f"Error: Failed to reserve components while performing a {word}."))
        off = "force-off" if force else "off"
        return self._orders.begin(names, word, {ON: ["on"], OFF: [off], RESTART: [off, "on"]}[command], keys)


def _asked(body: bytes) -> Json:
    try:
        asked = decode_first(body, _REQUEST)
    except DecodeError as error:
        raise Refusal(400, f"Bad Request: {error}") from error
    if asked["recursive"] and asked["prereq"]:
        raise Refusal(400, "Bad Request: recursive and prereq options are mutually exclusive")
    if asked["xnames"] is None:
        raise Refusal(400, "Bad Request: Missing required xnames parameter")
    if not asked["xnames"]:
        raise Refusal(400, "Bad Request: Required xnames list is empty")
    return asked


def _ignore(error: BadIds, ignored: list[Json], *, go_on: bool) -> None:
    if not go_on:
        raise error
    ignored += _xname_errors(error)


def _xname_errors(error: BadIds) -> list[Json]:
    message = error.message.replace("xnames", "xname")
    return [{"xname": each, "e": INVALID, "err_msg": message} for each in error.ids]


def _unsupported(component: Json, word: str) -> Json:
    kind, xname = component["Type"], component["ID"]
    message = f"Skipping {xname}: Type, '{kind}', not defined in power sequence for '{word}'"
    return {"xname": xname, "e": -1, "err_msg": message}


def _with_dependants(names: list[str], command: str) -> list[str]:
    """A switch's ASIC goes off before its board, and on with it."""
    boards = [f"{name}e0" for name in names if hms_type(name) == "RouterModule"]
    if command == OFF:
        return list(dict.fromkeys([*names, *boards]))
    return [name for name in names if name not in boards] if command == ON else names


def _said(number: int, message: str) -> dict[str, Any]:
    return {"e": number, "err_msg": message}


def _with_ignored(told: dict[str, Any], ignored: list[Json], asked: Json, command: str) -> Json:
    if not ignored:
        return told
    word = f"Force{command}" if asked["force"] else command
    xnames = [*told.get("xnames", ()), *ignored]
    message = f"Errors encountered with {len(xnames)}/{len(asked['xnames'])} Xnames for {word}"
    before = f"{told['err_msg']}; " if told["err_msg"] else ""
    return {**told, "err_msg": before + message, "xnames": xnames}
