"""SCSD's parameters, health and version."""

from __future__ import annotations

from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import BOOL, INT, STRING, pointer_to, struct
from csm_emulator.dialects.hms.responses import marshalled
from csm_emulator.records import Json
from csm_emulator.services.scsd.problems import OperationError, with_error_replies
from csm_emulator.state.tables import RecordTables
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

VERSION = "1.23.0"
LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "PANIC")
DEFAULTS: Json = {
    "LogLevel": "INFO",
    "LocalMode": True,
    "KafkaURL": "",
    "SmdURL": "http://cray-smd/hsm/v2",
    "HTTPListenPort": ":25309",
    "HTTPRetries": 5,
    "HTTPTimeout": 15,
    "UUID": "0",
    "VaultEnable": True,
}
_KINDS = {str: STRING, bool: BOOL, int: INT}
_BODY = struct("main.opParams", {name: pointer_to(_KINDS[type(value)]) for name, value in DEFAULTS.items()})


class Service:
    """The real SCSD has its parameters in memory only; here they survive a restart of the emulator."""

    def __init__(self, tables: RecordTables) -> None:
        self._table = tables.open("scsd.params", DEFAULTS)

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/v1/params", self.params),
            Route("PATCH", "/v1/params", with_error_replies(self.set_params)),
        ]

    def health_routes(self) -> list[Route]:
        return [
            Route("GET", "/v1/health", self.health),
            Route("GET", "/v1/liveness", _alive),
            Route("GET", "/v1/readiness", _alive),
            Route("GET", "/v1/version", _version),
        ]

    def vault_enabled(self) -> bool:
        return bool(self._table["VaultEnable"])

    def restarted(self) -> None:
        self._table.update(DEFAULTS)

    def params(self, _: Call) -> Reply:
        return marshalled(dict(self._table))

    def set_params(self, call: Call) -> Reply:
        """Change parameters; fields that cannot be changed are ignored."""
        try:
            request = decode(call.body, _BODY)
        except DecodeError as error:
            detail = f"ERROR: Problem unmarshalling request body: {error}"
            raise OperationError(500, "Request data unmarshal error", detail) from error
        if request["LogLevel"] not in (None, "xxx"):
            self._table["LogLevel"] = request["LogLevel"] if request["LogLevel"] in LEVELS else "ERROR"
        for name in ("HTTPRetries", "HTTPTimeout", "VaultEnable"):
            if request[name] not in (None, -1):
                self._table[name] = request[name]
        return marshalled(dict(self._table))

    def health(self, _: Call) -> Reply:
        vault = "Connected" if self.vault_enabled() else "Disabled"
        return marshalled({"TaskRunnerStatus": "Running", "TaskRunnerMode": "Local", "VaultStatus": vault})


def _alive(_: Call) -> Reply:
    return Reply(204)


def _version(_: Call) -> Reply:
    return marshalled({"Version": VERSION})
