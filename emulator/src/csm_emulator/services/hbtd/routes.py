"""The routes of HBTD."""

from __future__ import annotations

import re

from csm_emulator.context import Context
from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import STRINGS, Struct, struct
from csm_emulator.dialects.gorilla_mux import Mux, settle
from csm_emulator.dialects.hms.names import hms_type, normal
from csm_emulator.dialects.hms.responses import SNIFFED, encoded, marshalled, problem
from csm_emulator.records import Json
from csm_emulator.services.hbtd.decoding import strings, wrong_field
from csm_emulator.services.hbtd.heartbeats import Heartbeats
from csm_emulator.services.hbtd.parameters import Params, parse_uint
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import EmulatedService, Route

HEARTBEAT = "/hmi/v1/heartbeat"
_FULL = strings("hbjson_full_v1", ("Component", "Hostname", "NID", "Status", "Timestamp"))
_SHORT = strings("hbjson_v1", ("Status", "Timestamp"))
_STATES = struct("main.hbStatesReq", {"XNames": STRINGS})


def create_service(context: Context) -> EmulatedService:
    params = Params(context.tables)
    beats = Heartbeats(context, params)
    hbtd = Hbtd(context, beats)
    # In HBTD's own order: whether a wrong method is 404 or 405 depends on it.
    routes = [
        Route("POST", "/hmi/v1/heartbeat", hbtd.receive),
        Route("POST", "/hmi/v1/heartbeat/{xname}", hbtd.receive_for),
        Route("GET", "/hmi/v1/params", params.get),
        Route("PATCH", "/hmi/v1/params", params.patch),
        Route("GET", "/hmi/v1/health", hbtd.health),
        Route("GET", "/hmi/v1/liveness", _alive),
        Route("GET", "/hmi/v1/readiness", _alive),
        Route("POST", "/hmi/v1/hbstates", hbtd.states),
        Route("GET", "/hmi/v1/hbstate/{xname}", hbtd.state),
    ]
    mux = Mux(routes)
    return EmulatedService(
        "hbtd", [("/apis/hbtd", "")], settle(routes), mux.not_found, mux.wrong_method, restarted=beats.restarted
    )


class Hbtd:
    def __init__(self, context: Context, beats: Heartbeats) -> None:
        self._context = context
        self._beats = beats

    def receive(self, call: Call) -> Reply:
        body_or_error = _decoded_body(call.body, _FULL)
        if isinstance(body_or_error, Reply):
            return body_or_error
        if not hms_type(body_or_error["Component"]):
            return _invalid("Invalid Component Name")
        if not _is_int(body_or_error["NID"]):
            return _invalid("Invalid NID")
        self._beats.receive(body_or_error["Component"], body_or_error["Timestamp"], body_or_error["Status"])
        return Reply()

    def receive_for(self, call: Call) -> Reply:
        """Any name in the path is accepted; HBTD does not check it."""
        body_or_error = _decoded_body(call.body, _SHORT)
        if isinstance(body_or_error, Reply):
            return body_or_error
        self._beats.receive(call.args["xname"], body_or_error["Timestamp"], body_or_error["Status"])
        return Reply()

    def states(self, call: Call) -> Reply:
        try:
            names = decode(call.body, _STATES)["XNames"]
        except DecodeError:
            return problem(400, "Invalid Request", "Error unmarshalling inbound request", "/hmi/v1/hbstates")
        states = [self._heartbeat_state(name) for name in names or ()]
        return marshalled({"HBStates": states or None})

    def state(self, call: Call) -> Reply:
        return marshalled(self._heartbeat_state(normal(call.args["xname"])))

    def health(self, _: Call) -> Reply:
        ready = self._context.mesh.ask("smd", "GET", "/hsm/v2/service/ready").status == 200
        health = {
            "KvStore": "Initialization key present: HBTD_OK",
            "MsgBus": "Connected and OPEN",
            "HsmStatus": "Ready" if ready else "Not ready",
        }
        # HBTD sets the Content-Type after the header was sent, so Go's guess stays.
        return encoded(health, media=SNIFFED)

    def _heartbeat_state(self, xname: str) -> Json:
        return {"XName": xname, "Heartbeating": self._beats.beats(xname)}


def _decoded_body(body: bytes, kind: Struct) -> Json | Reply:
    try:
        body_fields = decode(body, kind)
    except DecodeError:
        field = wrong_field(body, kind.fields)
        return _invalid(f"Invalid data type in {field} field" if field else "Invalid JSON data type")
    missing = next((name for name in kind.fields if not body_fields[name]), None)
    return _invalid(f"Missing {missing} field") if missing else body_fields


def _invalid(detail: str) -> Reply:
    return problem(400, "Invalid Request", detail, HEARTBEAT)


def _is_int(text: str) -> bool:
    """Whether ``strconv.ParseInt`` reads it, with base 0."""
    sign, digits = re.fullmatch("([+-]?)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    try:
        return parse_uint(digits, 64) <= (1 << 63) - (sign != "-")
    except ValueError:
        return False


def _alive(_: Call) -> Reply:
    return Reply(204)
