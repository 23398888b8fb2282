"""Sessions: their operations in versions 2 and 3."""

from __future__ import annotations

from csm_emulator.dialects.connexion import Refused, json_reply, no_content, read_body, read_parameters
from csm_emulator.records import Json, Record
from csm_emulator.services.cfs import parameters, schemas
from csm_emulator.services.cfs.components.changes import UncaughtError
from csm_emulator.services.cfs.errors import refuse
from csm_emulator.services.cfs.options.table import Options
from csm_emulator.services.cfs.paging import all_of, page
from csm_emulator.services.cfs.sessions.actions import SessionActions
from csm_emulator.services.cfs.sessions.ara import session_link
from csm_emulator.services.cfs.sessions.filters import InvalidAge, SessionFilter, read_filter
from csm_emulator.services.cfs.sessions.patches import read_patch
from csm_emulator.services.cfs.version_2 import SESSION, from_v2, in_camel_case, to_v2
from csm_emulator.transport.call import Call, Reply

_DEFAULTS = {
    "age": None,
    "min_age": None,
    "max_age": None,
    "status": None,
    "name_contains": None,
    "succeeded": None,
    "tags": None,
    "after_id": "",
}
_V3_NAMES = {in_camel_case(name): name for name in schemas.V3_SESSION["properties"]}


class SessionsApi:
    def __init__(self, options: Options, actions: SessionActions) -> None:
        self._options = options
        self._actions = actions

    def get_all_v2(self, call: Call) -> Reply:
        session_filter = self._read_filter(read_parameters(call, parameters.V2_SESSIONS))
        sessions = all_of(self._actions.select(session_filter), self._options.number("default_page_size"))
        return json_reply([_in_v2(record) for record in sessions])

    def get_all_v3(self, call: Call) -> Reply:
        limit = {"limit": self._options.number("default_page_size")}
        query = {**_DEFAULTS, **limit, **read_parameters(call, parameters.V3_SESSIONS)}
        first, more = page(self._actions.select(self._read_filter(query), query["after_id"]), query["limit"])
        next_page = {**query, "after_id": first[-1]["name"]} if more else None
        return json_reply({"sessions": [self._with_link(record) for record in first], "next": next_page})

    def get_v2(self, call: Call) -> Reply:
        return json_reply(_in_v2(self._actions.get(call.args["session_name"])))

    def get_v3(self, call: Call) -> Reply:
        return json_reply(self._with_link(self._actions.get(call.args["session_name"])))

    def create_v2(self, call: Call) -> Reply:
        body = read_body(call, schemas.V2_SESSION)
        data = {_V3_NAMES[name]: value for name, value in body.items()}
        record = self._actions.create({"ansible_limit": None, "ansible_passthrough": None, **data}, lambda _: False)
        return json_reply(_in_v2(record))

    def create_v3(self, call: Call) -> Reply:
        data = read_body(call, schemas.V3_SESSION)
        record = self._actions.create({"ansible_limit": "", "ansible_passthrough": "", **data}, _is_debug)
        return json_reply(self._with_link(record), 201)

    def patch_v2(self, call: Call) -> Reply:
        """Change a session's status; unlike v3, version 2 allows a new job."""
        fields, artifacts = read_patch(call, lambda data: from_v2(data, SESSION))
        record = self._actions.get(call.args["session_name"])
        return json_reply(_in_v2(self._actions.table.change(record["name"], fields, artifacts)))

    def patch_v3(self, call: Call) -> Reply:
        fields, artifacts = read_patch(call, lambda data: data)
        name = call.args["session_name"]
        job = self._actions.get(name)["status"]["session"].get("job")
        if job and fields.get("job"):
            detail = (
                f"Session {name} could not be patched: status.session.job field cannot be updated after it has been "
                f"set; current value: {job}, patch value: {fields['job']}"
            )
            raise refuse(409, "Session patch conflict.", detail)
        return json_reply(self._actions.table.change(name, fields, artifacts))

    def delete(self, call: Call) -> Reply:
        """Delete a session; both versions use this handler."""
        self._actions.delete(call.args["session_name"])
        return no_content()

    def delete_all_v2(self, call: Call) -> Reply:
        query = {"status": "complete", **read_parameters(call, parameters.V2_SESSIONS_DELETE)}
        try:
            session_filter = read_filter(query, self._actions.clock.now())
        except (Refused, InvalidAge) as error:
            # The real service expects a list here, gets an error response, and fails.
            raise UncaughtError from error
        self._actions.delete_matching(session_filter)
        return no_content()

    def delete_all_v3(self, call: Call) -> Reply:
        query = {"status": "complete", **read_parameters(call, parameters.V3_SESSIONS_DELETE)}
        try:
            session_filter = read_filter(query, self._actions.clock.now())
        except InvalidAge as error:
            raise refuse(400, "Error parsing age field", str(error)) from error
        return json_reply({"session_ids": self._actions.delete_matching(session_filter)})

    def _read_filter(self, query: Json) -> SessionFilter:
        try:
            return read_filter(query, self._actions.clock.now())
        except InvalidAge as error:
            raise UncaughtError from error

    def _with_link(self, record: Record) -> Record:
        return {**record, "logs": session_link(record["name"])} if self._options.flag("include_ara_links") else record


def _in_v2(record: Record) -> Record:
    return to_v2(record, SESSION)


def _is_debug(configuration: str) -> bool:
    return configuration.startswith("debug_")
