"""``xname_on``, ``xname_off`` and ``xname_reinit``: CAPMC selects the components, PCS switches them."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.context import Context
from csm_emulator.dialects.go_json.reader import DecodeError, decode_first
from csm_emulator.dialects.go_json.types import BOOL, STRING, STRINGS, struct
from csm_emulator.dialects.hms.names import hms_type
from csm_emulator.records import Json, Record
from csm_emulator.services.capmc.components import Components
from csm_emulator.services.capmc.responses import INVALID, CapmcError, InvalidIds, go_list
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
"""Command → the types that it supports (PowerControls in config.toml)."""
_REQUEST = struct(
    "capmc.XnameControl",
    {"xnames": STRINGS, "force": BOOL, "reason": STRING, "recursive": BOOL, "prereq": BOOL, "continue": BOOL},
)
NO_LOCK = 37


def split_valid(names: Sequence[str], *, allow_duplicates: bool) -> tuple[list[str], list[str]]:
    """The valid and the invalid names; duplicates are invalid unless they are allowed."""
    valid: dict[str, None] = {}
    invalid: list[str] = []
    names_so_far: set[str] = set()
    for name in names:
        if name in names_so_far:
            invalid += [] if allow_duplicates else [name]
        elif hms_type(name):
            valid[name] = None
        else:
            invalid.append(name)
        names_so_far.add(name)
    return list(valid), invalid


class XnameControl:
    def __init__(self, context: Context, components: Components, orders: PowerOrders) -> None:
        self._context = context
        self._components = components
        self._orders = orders

    def handler(self, command: str) -> Handler:
        return lambda call: self._control(call, command)

    def _control(self, call: Call, command: str) -> Reply:
        request = _read_request(call.body)
        ignored: list[Json] = []
        try:
            components = self._targets(request, command, ignored)
        except InvalidIds as error:
            body = {"e": INVALID, "err_msg": "invalid argument", "xnames": [*ignored, *_xname_errors(error)]}
            return json_reply(body, 400)
        if not components:
            raise CapmcError(404, "No nodes found to operate on")
        disabled = [component["ID"] for component in components if not component.get("Enabled", True)]
        if disabled:
            raise CapmcError(400, f"components disabled: {go_list(disabled)}")
        outcome = self._switch(components, command, force=request["force"])

        def answer() -> Reply | None:
            if outcome.abandoned:
                raise ConnectionAborted
            result = outcome.answer_now(clock_stopped=self._context.clock.speed == 0)
            return None if result is None else json_reply(_with_ignored(result, ignored, request, command))

        return answer() or Reply(later=answer)

    def _targets(self, request: Json, command: str, ignored: list[Json]) -> list[Json]:
        continue_on_errors = request["continue"]
        names, invalid = split_valid(request["xnames"], allow_duplicates=request["force"] or continue_on_errors)
        if invalid:
            _add_ignored(
                InvalidIds("invalid/duplicate xnames", invalid), ignored, continue_on_errors=continue_on_errors
            )
        names = _with_dependants(names, command)
        if {"s0", "all"} & set(names):
            names = []
        try:
            names = self._expanded(names, request)
        except InvalidIds as error:
            _add_ignored(error, ignored, continue_on_errors=continue_on_errors)
        query = [("enabled", "true"), ("state", "!Empty")] if continue_on_errors else []
        try:
            return self._components.by_xname(names, query)
        except InvalidIds as error:
            _add_ignored(error, ignored, continue_on_errors=continue_on_errors)
            remaining = [name for name in names if name not in error.ids]
            return self._components.by_xname(remaining, query) if remaining else []

    def _expanded(self, names: list[str], request: Json) -> list[str]:
        if names and request["recursive"]:
            return self._components.descendants(names, map(hms_type, names))
        if names and request["prereq"]:
            return self._with_prerequisites(names)
        return names

    def _with_prerequisites(self, names: list[str]) -> list[str]:
        """The components and those that must be on before them: blades and chassis."""
        present = {xname["ID"] for xname in self._components.matching([])}
        xnames: dict[str, None] = {}
        invalid: list[str] = []
        for name in names:
            kind = hms_type(name)
            if name not in present or kind not in ("Node", "HSNBoard", "RouterModule", "ComputeModule", "Chassis"):
                invalid.append(name)
                continue
            lineage = [name, *(str(xname) for xname in parse(name).ancestry)]
            xnames |= {xname: None for xname in lineage if xname in present and hms_type(xname) in POWERED}
        if invalid:
            raise InvalidIds("Invalid Component IDs", invalid)
        return list(xnames)

    def _switch(self, components: list[Json], command: str, *, force: bool) -> Outcome:
        word = f"Force{command}" if force else command
        unsupported = [component for component in components if component["Type"] not in _SEQUENCE[command]]
        if unsupported:
            errors = [_unsupported(component, word) for component in unsupported]
            return Outcome(
                _result(-1, f"Errors encountered with {len(unsupported)} components for {word}") | {"xnames": errors}
            )
        names = [component["ID"] for component in components]
        try:
            if command != ON:
                descendants = self._components.descendants(names, [component["Type"] for component in components])
                names = list(dict.fromkeys([*names, *descendants]))
            keys = self._components.reserve(names)
        except (InvalidIds, CapmcError):
            keys = None
        if keys is None:
            return Outcome(_result(NO_LOCK, f"Error: Failed to reserve components while performing a {word}."))
        off = "force-off" if force else "off"
        return self._orders.start(names, word, {ON: ["on"], OFF: [off], RESTART: [off, "on"]}[command], keys)


def _read_request(body: bytes) -> Json:
    try:
        request = decode_first(body, _REQUEST)
    except DecodeError as error:
        raise CapmcError(400, f"Bad Request: {error}") from error
    if request["recursive"] and request["prereq"]:
        raise CapmcError(400, "Bad Request: recursive and prereq options are mutually exclusive")
    if request["xnames"] is None:
        raise CapmcError(400, "Bad Request: Missing required xnames parameter")
    if not request["xnames"]:
        raise CapmcError(400, "Bad Request: Required xnames list is empty")
    return request


def _add_ignored(error: InvalidIds, ignored: list[Json], *, continue_on_errors: bool) -> None:
    if not continue_on_errors:
        raise error
    ignored += _xname_errors(error)


def _xname_errors(error: InvalidIds) -> list[Json]:
    message = error.message.replace("xnames", "xname")
    return [{"xname": xname, "e": INVALID, "err_msg": message} for xname in error.ids]


def _unsupported(component: Json, word: str) -> Json:
    kind, xname = component["Type"], component["ID"]
    message = f"Skipping {xname}: Type, '{kind}', not defined in power sequence for '{word}'"
    return {"xname": xname, "e": -1, "err_msg": message}


def _with_dependants(names: list[str], command: str) -> list[str]:
    """For power off, the HSN board of each switch is added; for power on it is left out, as it comes on by itself."""
    boards = [f"{name}e0" for name in names if hms_type(name) == "RouterModule"]
    if command == OFF:
        return list(dict.fromkeys([*names, *boards]))
    return [name for name in names if name not in boards] if command == ON else names


def _result(number: int, message: str) -> Record:
    return {"e": number, "err_msg": message}


def _with_ignored(result: Record, ignored: list[Json], request: Json, command: str) -> Json:
    if not ignored:
        return result
    word = f"Force{command}" if request["force"] else command
    xnames = [*result.get("xnames", ()), *ignored]
    message = f"Errors encountered with {len(xnames)}/{len(request['xnames'])} Xnames for {word}"
    first_message = f"{result['err_msg']}; " if result["err_msg"] else ""
    return {**result, "err_msg": first_message + message, "xnames": xnames}
