"""``/components``: the actual, desired and staged state of nodes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

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
from csm_emulator.records import Json, Record
from csm_emulator.services.bos.components.auto_fields import AutoFields
from csm_emulator.services.bos.components.records import DID_POWER_ON, STABLE, merge_patch, public_record, status_of
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

MAX_PATCH_LENGTH = 32 << 20
RecordFilter = Callable[[Record], bool]


class Components:
    def __init__(self, store: ComponentStore, auto: AutoFields, tenants: Tenants, discover: Callable[[], None]) -> None:
        self._store = store
        self._auto = auto
        self._tenants = tenants
        self._discover = discover
        """Called before every read, so that nodes that discovery would have added by now are present."""

    def routes(self) -> Sequence[Route]:
        path, item = "/v2/components", "/v2/components/{component_id}"
        return (
            Route("GET", path, self._list),
            Route("PUT", path, self._put_all),
            Route("PATCH", path, self._patch_all),
            Route("GET", item, self._get),
            Route("PUT", item, self._put),
            Route("PATCH", item, self._patch),
            Route("DELETE", item, self._delete),
        )

    # All components

    def _list(self, call: Call) -> Reply:
        parameters = read_parameters(call, _FILTERS)
        self._discover()
        start_after = parameters.get("start_after_id")
        names = [name for name in self._candidates(call, parameters) if start_after is None or name > start_after]
        matches, page_size = _filter(parameters), parameters.get("page_size", 0)
        records: list[Record] = []
        for name in names:
            record = self._store.get(name)
            if matches(record):
                records.append(public_record(record))
                if len(records) == page_size:
                    break
        return json_reply(records)

    def _candidates(self, call: Call, parameters: Json) -> Iterable[str]:
        """Names of the components that the filters may match, sorted; an index is used when a filter has one."""
        tenant_nodes = self._tenants.members_for(call)
        if "ids" in parameters:
            names: Iterable[str] = sorted({name for name in parameters["ids"].split(",") if name in self._store})
        elif parameters.get("session"):
            names = self._store.names_in_session(parameters["session"])
        elif parameters.get("staged_session"):
            names = self._store.names_staged_for(parameters["staged_session"])
        else:
            names = self._store.names()
        return names if tenant_nodes is None else [name for name in names if name in tenant_nodes]

    def _put_all(self, call: Call) -> Reply:
        read_parameters(call, (HEADER,))
        records = {record["id"]: record for record in read_body(call, COMPONENTS)}
        return json_reply(self._store.put_new(records))

    def _patch_all(self, call: Call) -> Reply:
        parameters = read_parameters(call, _BULK)
        data = read_body(call, COMPONENTS_PATCH)
        self._discover()
        skip = bool(parameters.get("skip_bad_ids"))
        if isinstance(data, list):
            patches = {patch["id"]: patch for patch in data}
            names = self._accessible(call, list(patches), skip=skip)
            return json_reply(self._store.patch({name: patches[name] for name in names}))
        filters, patch = data["filters"], data["patch"]
        if filters.get("ids"):
            names = list(dict.fromkeys(self._accessible(call, filters["ids"].split(","), skip=skip)))
            _check_length(names, patch)
            return json_reply(self._store.patch_alike(names, patch))
        tenant_nodes = self._tenants.members_for(call)
        names = [
            name
            for name in self._store.names_in_session(filters["session"])
            if tenant_nodes is None or name in tenant_nodes
        ]
        _check_length(names, patch)
        return json_reply([public_record(record) for record in self._store.patch_alike(names, patch)])

    def _accessible(self, call: Call, names: list[str], *, skip: bool) -> list[str]:
        """Names that exist and belong to the tenant; another name raises ``Refused`` (404) unless ``skip`` is set."""
        tenant_nodes = self._tenants.members_for(call)
        bad = [name for name in names if tenant_nodes is not None and name not in tenant_nodes]
        bad = bad or [name for name in names if name not in self._store]
        if bad and not skip:
            raise Refused(missing("Component", bad[0]))
        return [name for name in names if name in self._store and (tenant_nodes is None or name in tenant_nodes)]

    # One component

    def _get(self, call: Call) -> Reply:
        return json_reply(public_record(self._component(call)))

    def _put(self, call: Call) -> Reply:
        name = str(read_parameters(call, _ONE)["component_id"])
        record = {**read_body(call, COMPONENT), "id": name}
        return json_reply(self._store.put_new({name: record})[0])

    def _patch(self, call: Call) -> Reply:
        read_parameters(call, _ONE)
        patch = read_body(call, COMPONENT)
        record = self._component(call)
        if "actual_state" in patch and not _may_report(record):
            return problem(
                409,
                "Actual state can not be updated.",
                "BOS is currently changing the state of the node, and the actual state can not be accurately recorded",
            )
        return json_reply(self._store.put(record["id"], merge_patch(record, self._auto.with_auto_fields(patch))))

    def _delete(self, call: Call) -> Reply:
        self._store.delete(self._component(call)["id"])
        return no_content()

    def _component(self, call: Call) -> Record:
        name = str(read_parameters(call, _ONE)["component_id"])
        tenant_nodes = self._tenants.members_for(call)
        self._discover()
        try:
            if tenant_nodes is None or name in tenant_nodes:
                return self._store.get(name)
        except NoSuchComponent:
            pass
        raise Refused(missing("Component", name))


def _check_length(names: Sequence[str], patch: Json) -> None:
    """Raises ``Refused`` (413) when one patch, written to every component, would exceed ``MAX_PATCH_LENGTH``."""
    if len(names) * len(json.dumps(patch)) > MAX_PATCH_LENGTH:
        detail = f"The patch writes more than {MAX_PATCH_LENGTH} characters to all components together"
        raise Refused(problem(413, "Payload Too Large", detail))


def _filter(parameters: Json) -> RecordFilter:
    """``enabled=false`` alone filters nothing: the real service filters only if at least one parameter is truthy."""
    enabled, phase, status = parameters.get("enabled"), parameters.get("phase"), parameters.get("status")
    session, staged = parameters.get("session"), parameters.get("staged_session")
    if not any((enabled, session, staged, phase, status)):
        return lambda _: True
    statuses = status.split(",") if status else None

    def matches(record: Record) -> bool:
        return (
            (enabled is None or record.get("enabled") == enabled)
            and (not session or record.get("session") == session)
            and (not staged or record.get("staged_state", {}).get("session") == staged)
            and (not phase or record.get("status", {}).get("phase", "") == phase)
            and (statuses is None or status_of(record) in statuses)
        )

    return matches


def _may_report(record: Record) -> bool:
    """False while BOS is changing the node: a report of what runs now would be taken for the state after the change."""
    try:
        if not record["enabled"] or status_of(record) == STABLE:
            return True
        return bool(record["last_action"]["action"] == DID_POWER_ON)
    except KeyError:
        # The real service fails with 500 when a component was put without these fields.
        raise Refused(internal_error()) from None
