"""The operations on NetworkProtocol settings: of many controllers, and of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from csm_emulator.context import Context
from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import BOOL, STRINGS, struct
from csm_emulator.dialects.hms.names import normal
from csm_emulator.dialects.hms.responses import marshalled
from csm_emulator.machine.machine import Machine
from csm_emulator.records import Json
from csm_emulator.services.scsd import network_protocol
from csm_emulator.services.scsd.network_protocol import FACTORY, NAMES, PARAMS
from csm_emulator.services.scsd.problems import OperationError, architecture_error, hsm_error, with_error_replies
from csm_emulator.services.scsd.redfish import CRAY, Redfish
from csm_emulator.services.scsd.targets import HsmError, NoValidTargets, Target, find_mountain, verify
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_DUMP = struct("main.dumpCfgPost", {"Force": BOOL, "Targets": STRINGS, "Params": STRINGS})
_LOAD = struct("main.loadCfgPost", {"Force": BOOL, "Targets": STRINGS, "Params": PARAMS})
_ONE = struct("main.cfgSingle", {"Force": BOOL, "Params": PARAMS})


class _FactorySettings(Mapping[str, Json]):
    """The factory settings of every Cray controller of the machine."""

    def __init__(self, machine: Machine, redfish: Redfish) -> None:
        controllers = machine.parts("ChassisBMC", "NodeBMC", "RouterBMC")
        self._names = dict.fromkeys(part.xname for part in controllers if redfish.vendor(part.xname) == CRAY)

    def __getitem__(self, name: str) -> Json:
        if name not in self._names:
            raise KeyError(name)
        return FACTORY

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Configuration:
    def __init__(self, context: Context, redfish: Redfish) -> None:
        self._context = context
        self._redfish = redfish
        self._table = context.tables.open("scsd.bmc", _FactorySettings(context.machine, redfish))

    def routes(self) -> list[Route]:
        return [
            Route("POST", "/v1/bmc/dumpcfg", with_error_replies(self.dump)),
            Route("POST", "/v1/bmc/loadcfg", with_error_replies(self.load)),
            Route("GET", "/v1/bmc/cfg/{xname}", with_error_replies(self.get_one)),
            Route("POST", "/v1/bmc/cfg/{xname}", with_error_replies(self.set_one)),
        ]

    def dump(self, call: Call) -> Reply:
        try:
            request = decode(call.body, _DUMP)
        except DecodeError as error:
            detail = f"ERROR: Problem unmarshalling request body: {error}\n"
            raise OperationError(500, "Unmarshal error", detail) from error
        if not request["Targets"]:
            raise OperationError(400, "Bad request", "ERROR: No targets in request.\n")
        if not request["Params"]:
            raise OperationError(400, "Missing parameters in request", "ERROR: No parameters in request.\n")
        targets = self._targets(request["Targets"], request["Force"], "HSM verification failed")
        try:
            return marshalled({"Targets": network_protocol.fetch(self._table, targets, request["Params"])})
        except NoValidTargets as error:
            raise OperationError(500, "NWP data fetch", f"ERROR: Problem getting NWP data: {error}\n") from error

    def load(self, call: Call) -> Reply:
        try:
            request = decode(call.body, _LOAD)
        except DecodeError as error:
            detail = f"ERROR: problem unmarshalling request body: {error}\n"
            raise OperationError(500, "Request data unmarshall error", detail) from error
        targets = self._targets(request["Targets"] or (), request["Force"], "Indeterminate target state")
        try:
            return marshalled({"Targets": network_protocol.load(self._table, targets, request["Params"])})
        except NoValidTargets as error:
            raise OperationError(500, "NWP data", f"ERROR: problem loading NWP data: {error}\n") from error

    def get_one(self, call: Call) -> Reply:
        text = call.first("params") or call.first("Params") or " ".join(NAMES)
        if text.lower() == "force":
            text = "Force " + " ".join(NAMES)
        names, force = text.split(" "), "force" in text.lower()
        allowed = {"force", *(name.lower() for name in NAMES)}
        unknown = next((name for name in names if name.lower() not in allowed), None)
        if unknown is not None:
            raise OperationError(400, "Unknown query parameter", f"ERROR: unknown parameter: '{unknown}'")
        result = self._fetch_one(call.args["xname"], names, force=force)
        if result["StatusCode"] != 200:
            detail = f"ERROR: Bad status fetching NWP data for '{result['Xname']}': {result['StatusCode']}"
            raise OperationError(500, "NWP data fetch status error", detail)
        return marshalled({"Force": force, "Params": result["Params"]})

    def _fetch_one(self, xname: str, names: Sequence[str], *, force: bool) -> Json:
        try:
            targets = verify(self._context, [xname], force=force, groups=False)
        except HsmError as trouble:
            detail = f"ERROR: Problem verifying target with HSM: {trouble}\n"
            raise OperationError(500, "HSM verification error", detail) from trouble
        self._find_mountain(targets)
        try:
            return network_protocol.fetch(self._table, targets, names)[0]
        except NoValidTargets as error:
            raise OperationError(500, "NWP data", f"ERROR: Problem fetching NWP data: {error}\n") from error

    def set_one(self, call: Call) -> Reply:
        try:
            request = decode(call.body, _ONE)
        except DecodeError as error:
            detail = f"ERROR: Problem unmarshalling NWP data: {error}\n"
            raise OperationError(400, "NWP unmarshal error", detail) from error
        targets = self._targets([normal(call.args["xname"])], request["Force"], "Indeterminate target state")
        try:
            result = network_protocol.load(self._table, targets, request["Params"])[0]
        except NoValidTargets as error:
            raise OperationError(500, "NWP data", f"ERROR: Problem setting NWP data: {error}\n") from error
        return marshalled({"StatusMsg": result["StatusMsg"]}, result["StatusCode"])

    def _targets(self, names: Sequence[str], force: bool, title: str) -> list[Target]:
        try:
            targets = verify(self._context, names, force=force, groups=True)
        except HsmError as trouble:
            raise hsm_error(title, trouble) from trouble
        self._find_mountain(targets)
        return targets

    def _find_mountain(self, targets: Sequence[Target]) -> None:
        try:
            find_mountain(self._redfish, targets)
        except NoValidTargets as error:
            raise architecture_error(error) from error
