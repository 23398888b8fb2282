"""``/components``: what is known of nodes, and what is wanted of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from csm_emulator.dialects.connexion import (
    Parameter,
    Refused,
    internal_error,
    json_reply,
    no_content,
    problem,
    read_body,
    read_parameters,
)
from csm_emulator.records import Record
from csm_emulator.services.bos.components.auto_fields import AutoFields
from csm_emulator.services.bos.components.records import DID_POWER_ON, STABLE, merged, shown, status_of
from csm_emulator.services.bos.components.table import ComponentStore, NoSuchComponent
from csm_emulator.services.bos.errors import missing
from csm_emulator.services.bos.schemas import (
    COMPONENT,
    COMPONENT_ID,
    COMPONENTS,
    COMPONENTS_PATCH,
    FLAG,
    NAME,
    PHASE,
)
from csm_emulator.services.bos.tenants import HEADER, Tenants
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_FILTERS = (
    Parameter("ids", COMPONENT_ID),
    Parameter("session", NAME),
    Parameter("staged_session", NAME),
    Parameter("enabled", FLAG),
    Parameter("phase", PHASE),
    Parameter("status", {"type": "string", "maxLength": 512}),
    Parameter("start_after_id", COMPONENT_ID),
    Parameter("page_size", {"type": "integer", "minimum": 0, "maximum": 1048576}),
    HEADER,
)
_ONE = (Parameter("component_id", COMPONENT_ID, "path", required=True), HEADER)
_BULK = (Parameter("skip_bad_ids", FLAG), HEADER)

MOST = 32 << 20
Fits = Callable[[Record], bool]


class Components:
    def __init__(self, store: ComponentStore, auto: AutoFields, tenants: Tenants, discover: Callable[[], None]) -> None:
        self._store = store
        self._auto = auto
        self._tenants = tenants
        self._discover = discover
        """Called before anything is read: what discovery would have found by now is found."""

    def routes(self) -> Sequence[Route]:
        path, one = "/v2/components", "/v2/components/{component_id}"
        return (
            Route("GET", path, self._list),
            Route("PUT", path, self._put_all),
            Route("PATCH", path, self._patch_all),
            Route("GET", one, self._get),
            Route("PUT", one, self._put),
            Route("PATCH", one, self._patch),
            Route("DELETE", one, self._delete),
        )

    # Many

    def _list(self, call: Call) -> Reply:
        given = read_parameters(call, _FILTERS)
        self._discover()
        after = given.get("start_after_id")
        names = [name for name in self._named(call, given) if after is None or name > after]
        fits, most = _filter(given), given.get("page_size", 0)
        found: list[Record] = []
        for name in names:
            record = self._store.get(name)
            if fits(record):
                found.append(shown(record))
                if len(found) == most:
                    break
        return json_reply(found)

    def _named(self, call: Call, given: Any) -> Iterable[str]:
        """In the order of their names; an index is asked where there is one."""
        theirs = self._tenants.members_for(call)
        if "ids" in given:
            names: Iterable[str] = sorted({name for name in given["ids"].split(",") if name in self._store})
        elif given.get("session"):
            names = self._store.of_session(given["session"])
        elif given.get("staged_session"):
            names = self._store.staged_for(given["staged_session"])
        else:
            names = self._store.names()
        return names if theirs is None else [name for name in names if name in theirs]

    def _put_all(self, call: Call) -> Reply:
        read_parameters(call, (HEADER,))
        records = {record["id"]: record for record in read_body(call, COMPONENTS)}
        return json_reply(self._store.put_new(records))

    def _patch_all(self, call: Call) -> Reply:
        given = read_parameters(call, _BULK)
        data = read_body(call, COMPONENTS_PATCH)
        self._discover()
        skip = bool(given.get("skip_bad_ids"))
        if isinstance(data, list):
            patches = {patch["id"]: patch for patch in data}
            names = self._reachable(call, list(patches), skip=skip)
            return json_reply(self._store.patch({name: patches[name] for name in names}))
        filters, patch = data["filters"], data["patch"]
        if filters.get("ids"):
            names = list(dict.fromkeys(self._reachable(call, filters["ids"].split(","), skip=skip)))
            _bound(names, patch)
            return json_reply(self._store.patch_alike(names, patch))
        theirs = self._tenants.members_for(call)
        names = [name for name in self._store.of_session(filters["session"]) if theirs is None or name in theirs]
        _bound(names, patch)
        return json_reply([shown(record) for record in self._store.patch_alike(names, patch)])

    def _reachable(self, call: Call, names: list[str], *, skip: bool) -> list[str]:
        """Those that are there and belong to the tenant; unless bad ones are skipped, all have to be such."""
        theirs = self._tenants.members_for(call)
        bad = [name for name in names if theirs is not None and name not in theirs]
        bad = bad or [name for name in names if name not in self._store]
        if bad and not skip:
            raise Refused(missing("Component", bad[0]))
        return [name for name in names if name in self._store and (theirs is None or name in theirs)]

    # One

    def _get(self, call: Call) -> Reply:
        return json_reply(shown(self._found(call)))

    def _put(self, call: Call) -> Reply:
        name = str(read_parameters(call, _ONE)["component_id"])
        record = {**read_body(call, COMPONENT), "id": name}
        return json_reply(self._store.put_new({name: record})[0])

    def _patch(self, call: Call) -> Reply:
        read_parameters(call, _ONE)
        patch = read_body(call, COMPONENT)
        record = self._found(call)
        if "actual_state" in patch and not _may_report(record):
            return problem(
                409,
                "Actual state can not be updated.",
                "BOS is currently changing the state of the node, and the actual state can not be accurately recorded",
            )
        return json_reply(self._store.put(record["id"], merged(record, self._auto.added(patch))))

    def _delete(self, call: Call) -> Reply:
        self._store.delete(self._found(call)["id"])
        return no_content()

    def _found(self, call: Call) -> Record:
        name = str(read_parameters(call, _ONE)["component_id"])
        theirs = self._tenants.members_for(call)
        self._discover()
        try:
            if theirs is None or name in theirs:
                return self._store.get(name)
        except NoSuchComponent:
            pass
        raise Refused(missing("Component", name))


def _bound(names: Sequence[str], patch: Any) -> None:
    """A patch said once is kept and told for each component; raises ``Refused``."""
    if len(names) * len(json.dumps(patch)) > MOST:
        detail = f"The patch makes more than {MOST} characters for all components together"
        raise Refused(problem(413, "Payload Too Large", detail))


def _filter(given: Any) -> Fits:
    """``enabled=false`` alone filters nothing: the real one looks for any filter that is true."""
    enabled, phase, status = given.get("enabled"), given.get("phase"), given.get("status")
    session, staged = given.get("session"), given.get("staged_session")
    if not any((enabled, session, staged, phase, status)):
        return lambda _: True
    statuses = status.split(",") if status else None

    def fits(record: Record) -> bool:
        return (
            (enabled is None or record.get("enabled") == enabled)
            and (not session or record.get("session") == session)
            and (not staged or record.get("staged_state", {}).get("session") == staged)
            and (not phase or record.get("status", {}).get("phase", "") == phase)
            and (statuses is None or status_of(record) in statuses)
        )

    return fits


def _may_report(record: Record) -> bool:
    """Not while BOS is about to change the node: what runs now would be taken for what runs then."""
    try:
        if not record["enabled"] or status_of(record) == STABLE:
            return True
        return bool(record["last_action"]["action"] == DID_POWER_ON)
    except KeyError:
        # The real one does not expect a component that was put with less than it needs.
        raise Refused(internal_error()) from None
