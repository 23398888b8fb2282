"""Passwords of controllers, on the controllers and in Vault. A failure of one controller fails the whole request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from csm_emulator.context import Context
from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import BOOL, STRING, STRINGS, GoType, slice_of, struct
from csm_emulator.dialects.hms.names import CONTROLLERS, hms_type, normal, verified
from csm_emulator.dialects.hms.responses import marshalled
from csm_emulator.records import Json
from csm_emulator.services.scsd.problems import OperationError, with_error_replies
from csm_emulator.services.scsd.redfish import ROOT, Redfish, bad_status, without_port
from csm_emulator.services.scsd.targets import NO_VALID, HsmError, Target, ask_hsm, verify
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route
from csm_emulator.xnames import XnameType

FACTORY = {"Username": "root", "Password": "initial0"}
ACCOUNTS = ("root",)
EMPTY = "<empty>"
TYPES = ("NodeBMC", "ChassisBMC", "RouterBMC", "CabinetBMC")
_CREDS = struct("main.credsData", {"Username": STRING, "Password": STRING})
_MANY = struct(
    "main.credsPost",
    {"Force": BOOL, "Targets": slice_of(struct("main.credsTarg", {"Xname": STRING, "Creds": _CREDS}))},
)
_SAME = struct("main.globalCredsPost", {"Force": BOOL, "Username": STRING, "Password": STRING, "Targets": STRINGS})
_ONE = struct("main.credsPostSingle", {"Force": BOOL, "Creds": _CREDS})


@dataclass(frozen=True, slots=True)
class _Titles:
    """The titles of failures, which differ between the operations."""

    unread: tuple[int, str]
    state: str
    account: str


_MANY_TITLES = _Titles((400, "Request unmarshal error"), "Target state error", "User account fetch error")
_SAME_TITLES = _Titles(
    (500, "Request unmarshal error"), "Target state validation error", "User account retrieval error"
)
_ONE_TITLES = _Titles(
    (500, "Request data unmarshal error"), "HSM state validation error", "User account retrieval error"
)


class Credentials:
    def __init__(self, context: Context, redfish: Redfish, vault_enabled: Callable[[], bool]) -> None:
        self._context = context
        self._redfish = redfish
        self._vault_enabled = vault_enabled
        controllers = context.machine.parts("ChassisBMC", "NodeBMC", "RouterBMC", "CabinetPDUController")
        self._vault = context.tables.open("scsd.creds", {part.xname: FACTORY for part in controllers})

    def routes(self) -> list[Route]:
        return [
            Route("POST", "/v1/bmc/discreetcreds", with_error_replies(self.set_each)),
            Route("POST", "/v1/bmc/creds/{xname}", with_error_replies(self.set_one)),
            Route("POST", "/v1/bmc/globalcreds", with_error_replies(self.set_same)),
            Route("GET", "/v1/bmc/creds", with_error_replies(self.get)),
        ]

    def set_each(self, call: Call) -> Reply:
        request = _read(call.body, _MANY, _MANY_TITLES)
        creds = {target["Xname"]: target["Creds"] for target in request["Targets"] or ()}
        names = [target["Xname"] for target in request["Targets"] or ()]
        return self._set(self._verified(names, request["Force"], _MANY_TITLES, groups=False), creds, _MANY_TITLES)

    def set_same(self, call: Call) -> Reply:
        request = _read(call.body, _SAME, _SAME_TITLES)
        targets = self._verified(request["Targets"] or (), request["Force"], _SAME_TITLES, groups=True)
        creds = {"Username": request["Username"], "Password": request["Password"]}
        return self._set(targets, {target.name: creds for target in targets}, _SAME_TITLES)

    def set_one(self, call: Call) -> Reply:
        xname = normal(call.args["xname"])
        request = _read(call.body, _ONE, _ONE_TITLES)
        target = self._verified([xname], request["Force"], _ONE_TITLES, groups=False)[0]
        if not target.in_good_state:
            detail = f"ERROR: Target '{target.name}' in incorrect state: {target.state}"
            raise OperationError(422, "Target in bad state", detail)
        self._change({xname: request["Creds"]}, _ONE_TITLES)
        return marshalled({"StatusMsg": "OK"})

    def _verified(self, names: Sequence[str], force: bool, titles: _Titles, *, groups: bool) -> list[Target]:
        try:
            return verify(self._context, names, force=force, groups=groups)
        except HsmError as trouble:
            detail = f"ERROR: Problem verifying target states: {trouble}."
            raise OperationError(500, titles.state, detail) from trouble

    def _set(self, targets: Sequence[Target], creds: Mapping[str, Json], titles: _Titles) -> Reply:
        names = [target.name for target in targets if target.in_good_state]
        if not names:
            raise OperationError(400, "No valid targets", NO_VALID)
        self._change({name: creds[name] for name in names}, titles)
        results = [{"Xname": name, "StatusCode": 200, "StatusMsg": "OK"} for name in names]
        results += [
            {"Xname": target.name, "StatusCode": 422, "StatusMsg": target.error}
            for target in targets
            if not target.in_good_state and not target.group_matched
        ]
        return marshalled({"Targets": results})

    def _change(self, creds: Mapping[str, Json], titles: _Titles) -> None:
        error = next((bad_status(name, ROOT) for name in creds if not self._redfish.answers(name)), "")
        if not error and any(account["Username"] not in ACCOUNTS for account in creds.values()):
            error = "Target(s) had no matching Redfish account."
        if error:
            raise OperationError(500, titles.account, f"ERROR: Problem retrieving user accounts: {error}")
        for name, account in creds.items():
            if self._vault_enabled():
                self._vault[without_port(name)] = dict(account)
        # So that HSM uses the new passwords; its reply does not matter.
        self._context.mesh.ask("smd", "POST", "/hsm/v2/Inventory/Discover", {"xnames": list(creds), "force": True})

    def get(self, call: Call) -> Reply:
        if not self._vault_enabled():
            raise OperationError(410, "Vault not available", "ERROR: Vault access is disabled.")
        xnames = _requested_xnames(call)
        kind = _requested_type(call)
        names = [
            component["ID"]
            for component in self._components(xnames, kind)
            if hms_type(component["ID"]) in CONTROLLERS and component["State"] in ("On", "Ready")
        ]
        return marshalled({"Targets": [self._entry(name) for name in names] or None})

    def _components(self, xnames: Sequence[str], kind: str) -> Json:
        try:
            if not xnames:
                query = "&".join(f"type={requested_type}" for requested_type in ([kind] if kind else TYPES))
                return ask_hsm(self._context, f"/hsm/v2/State/Components?{query}&stateonly=true")["Components"]
            body = {"ComponentIDs": list(xnames), "stateonly": True} | ({"type": [kind]} if kind else {})
            return ask_hsm(self._context, "/hsm/v2/State/Components/Query", body)["Components"]
        except HsmError as trouble:
            detail = "ERROR: problem getting component info from HSM."
            raise OperationError(500, "Can't get HSM component data", detail) from trouble

    def _entry(self, name: str) -> Json:
        credentials = self._vault.get(name, {"Username": "", "Password": ""})
        status, message = (200, "OK") if name in self._vault else (404, "Not Found")
        return {
            "Xname": name,
            "Username": credentials["Username"] or EMPTY,
            "Password": credentials["Password"] or EMPTY,
            "StatusCode": status,
            "StatusMsg": message,
        }


def _read(body: bytes, kind: GoType, titles: _Titles) -> Json:
    try:
        return decode(body, kind)
    except DecodeError as error:
        raise OperationError(*titles.unread, f"ERROR: Problem unmarshalling request: {error}") from error


def _requested_xnames(call: Call) -> list[str]:
    if not call.has("targets"):
        return []
    text = call.first("targets")
    if not text:
        raise OperationError(400, "Invalid query parameter", "ERROR: URL query parameter is empty.")
    invalid = [name for name in text.split(",") if not verified(name)]
    if invalid:
        raise OperationError(500, "Bad XName(s) entered", f"ERROR: Invalid Xnames: {','.join(invalid)}.")
    return [verified(name) for name in text.split(",")]


def _requested_type(call: Call) -> str:
    if not call.has("type"):
        return ""
    title, text = "Invalid query parameter 'type'", call.first("type")
    if "," in text:
        raise OperationError(400, title, "ERROR: URL query parameter 'type' can only be a single value.")
    kind = next((xname_type.value for xname_type in XnameType if xname_type.lower() == text.lower()), "")
    if not kind:
        raise OperationError(400, title, "ERROR: URL query parameter 'type' is invalid component type.")
    return kind
