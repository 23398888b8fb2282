"""``/sessions``: requested operations and their progress."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from csm_emulator.dialects.connexion import (
    Parameter,
    Refused,
    bad_request,
    internal_error,
    json_reply,
    no_content,
    problem,
    read_body,
    read_parameters,
)
from csm_emulator.dialects.python_times import span
from csm_emulator.records import Record
from csm_emulator.services.bos.context import Bos
from csm_emulator.services.bos.errors import missing
from csm_emulator.services.bos.schemas import AGE, NAME, SESSION_CREATE, SESSION_STATUS, SESSION_UPDATE
from csm_emulator.services.bos.sessions.boot_sets import BootSets, Verdict
from csm_emulator.services.bos.sessions.table import COMPLETE, PENDING
from csm_emulator.services.bos.tenants import HEADER, tenant_of
from csm_emulator.services.bos.timestamps import stamp
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_FILTERS = (Parameter("min_age", AGE), Parameter("max_age", AGE), Parameter("status", SESSION_STATUS), HEADER)
_ONE = (Parameter("session_id", NAME, "path", required=True), HEADER)
_NID = re.compile(r"^[&!]*nid")


class Sessions:
    def __init__(self, bos: Bos, boot_sets: BootSets) -> None:
        self._bos = bos
        self._store = bos.sessions
        self._boot_sets = boot_sets
        self._numbers: RecordTable[int] = bos.context.tables.open("bos.session-numbers")

    def routes(self) -> Sequence[Route]:
        path, item = "/v2/sessions", "/v2/sessions/{session_id}"
        return (
            Route("POST", path, self._create),
            Route("GET", path, self._list),
            Route("DELETE", path, self._delete_all),
            Route("GET", item, lambda call: json_reply(self._session(call))),
            Route("PATCH", item, self._patch),
            Route("DELETE", item, self._delete),
            Route("GET", f"{item}/status", self._get_status),
            Route("POST", f"{item}/status", lambda call: json_reply(self._save_status(self._session(call)))),
        )

    def _create(self, call: Call) -> Reply:
        read_parameters(call, (HEADER,))
        body: Record = read_body(call, SESSION_CREATE)
        tenant = self._bos.tenants.must_exist(call)
        self._check_limit(body.get("limit") or "")
        self._check_template(body, tenant)
        session = self._new(body, tenant)
        if self._store.get(session["name"], tenant) is not None:
            owner = f" for tenant '{tenant}'" if tenant else ""
            detail = f"Session '{session['name']}' already exists{owner}"
            return problem(409, "The resource to be created already exists", detail)
        return json_reply(self._store.put(session), 201)

    def _check_limit(self, limit: str) -> None:
        if not limit and self._bos.options.flag("session_limit_required"):
            detail = "session_limit_required option is set, but this session has no limit specified"
            raise Refused(bad_request(detail))
        if self._bos.options.flag("reject_nids") and any(_NID.match(item) for item in limit.split(",")):
            raise Refused(bad_request(f"reject_nids: session limit appears to contain NIDs: {limit}"))

    def _check_template(self, body: Record, tenant: str) -> None:
        name = body["template_name"]
        template = self._bos.templates.get(name, tenant)
        if template is None:
            raise Refused(bad_request(f"Session Template Name invalid: {name}"))
        verdict, message = self._boot_sets.validate(template, body["operation"], name)
        if verdict is Verdict.ERROR:
            raise Refused(bad_request(f"Session template fails check: {message}"))

    def _new(self, body: Record, tenant: str) -> Record:
        status = {"status": PENDING, "start_time": stamp(self._bos.now), "end_time": None, "error": None}
        return {
            "name": body.get("name") or self._new_name(),
            "tenant": tenant or None,
            "operation": body["operation"],
            "template_name": body["template_name"],
            "limit": body.get("limit") or "",
            "stage": body.get("stage", False),
            "components": "",
            "include_disabled": body.get("include_disabled", False),
            "status": status,
        }

    def _new_name(self) -> str:
        number = int(self._numbers.get("last", 0)) + 1
        self._numbers["last"] = number
        return self._bos.context.random.uuid("bos.session", number)

    def _list(self, call: Call) -> Reply:
        """An age that is out of range gives 500: the real service handles that error only for DELETE."""
        return json_reply(self._select(call, lambda _: internal_error()))

    def _delete_all(self, call: Call) -> Reply:
        """Without a tenant, all sessions match but only those without a tenant are deleted."""
        tenant = tenant_of(call)
        for session in self._select(call, lambda error: bad_request(f"Error parsing age field: {error}")):
            self._store.delete(session["name"], tenant)
        return no_content()

    def _select(self, call: Call, refuse: Callable[[ValueError], Reply]) -> list[Record]:
        parameters = read_parameters(call, _FILTERS)
        ages = {name: span(parameters[name]).total_seconds() for name in ("min_age", "max_age") if parameters.get(name)}
        try:
            return self._store.select(self._bos.now, tenant_of(call), parameters.get("status", ""), **ages)
        except ValueError as error:
            raise Refused(refuse(error)) from None

    def _patch(self, call: Call) -> Reply:
        read_parameters(call, _ONE)
        patch = read_body(call, SESSION_UPDATE)
        return json_reply(self._store.patch(self._session(call), patch))

    def _delete(self, call: Call) -> Reply:
        session = self._session(call)
        self._store.delete(session["name"], session.get("tenant"))
        return no_content()

    def _get_status(self, call: Call) -> Reply:
        session = self._session(call)
        if session["status"].get("status") == COMPLETE:
            saved = self._store.statuses.get(session["name"], session.get("tenant"))
            if saved is not None:
                return json_reply(saved)
        return json_reply(self._current_status(session))

    def _save_status(self, session: Record) -> Record:
        return self._store.save_status(session, self._current_status(session))

    def _current_status(self, session: Record) -> Record:
        """The status as of now; 500 when the start is not a valid time or the tenant no longer exists."""
        try:
            return self._bos.session_status.of(session)
        except Exception as error:
            raise Refused(internal_error()) from error

    def _session(self, call: Call) -> Record:
        name, tenant = str(read_parameters(call, _ONE)["session_id"]), tenant_of(call)
        session = self._store.get(name, tenant)
        if session is None:
            raise Refused(missing("Session", name, tenant))
        return session
