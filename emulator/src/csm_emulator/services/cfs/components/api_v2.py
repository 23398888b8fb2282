"""Components, version 2."""

from __future__ import annotations

from collections.abc import Mapping

from csm_emulator.dialects.connexion import json_reply, read_body, read_parameters
from csm_emulator.records import Json, Record
from csm_emulator.services.cfs import parameters, schemas
from csm_emulator.services.cfs.components.actions import ComponentActions
from csm_emulator.services.cfs.components.api_v3 import name_of
from csm_emulator.services.cfs.components.changes import UncaughtError, as_v2_layer, as_v3_layer
from csm_emulator.services.cfs.components.filters import read_query
from csm_emulator.services.cfs.components.table import BROKEN, Components
from csm_emulator.services.cfs.errors import UNPARSABLE, refuse
from csm_emulator.services.cfs.options.table import Options
from csm_emulator.services.cfs.paging import all_of
from csm_emulator.services.cfs.version_2 import COMPONENT, from_v2, to_v2
from csm_emulator.transport.call import Call, Reply


class ComponentsV2:
    def __init__(self, options: Options, table: Components, actions: ComponentActions) -> None:
        self._options = options
        self._table = table
        self._actions = actions

    def get_all(self, call: Call) -> Reply:
        query = read_parameters(call, parameters.V2_COMPONENTS)
        selected = self._actions.select(read_query(query, "configName"))
        components = all_of(selected, self._options.number("default_page_size"))
        return json_reply([self._public_record(key, record, query) for key, record in components])

    def get(self, call: Call) -> Reply:
        query = read_parameters(call, parameters.V2_COMPONENT)
        key = call.args["component_id"]
        record = self._actions.get(key)
        if self._table.status(key) == BROKEN:
            raise UncaughtError
        return json_reply(self._public_record(key, record, query))

    def put_all(self, call: Call) -> Reply:
        data = read_body(call, schemas.V2_COMPONENTS)
        keys = [name_of(record) for record in data]
        pairs = zip(keys, data, strict=True)
        return json_reply([_in_v2(self._actions.put(key, _complete_in_v3(record))) for key, record in pairs])

    def patch_all(self, call: Call) -> Reply:
        data = read_body(call, schemas.V2_COMPONENTS_PATCH)
        if isinstance(data, list):
            return json_reply([_in_v2(record) for _, record in self._actions.patch_each(_all_in_v3(data))])
        query = read_query(data["filters"], "configName")
        return json_reply([_in_v2(record) for _, record in self._actions.patch_matching(query, _in_v3(data["patch"]))])

    def put(self, call: Call) -> Reply:
        """The path names the component that is written; the response shows the body's id."""
        data = _complete_in_v3(read_body(call, schemas.V2_COMPONENT))
        return json_reply(_in_v2(self._actions.put(call.args["component_id"], data)))

    def patch(self, call: Call) -> Reply:
        data = _in_v3(read_body(call, schemas.V2_COMPONENT))
        return json_reply(_in_v2(self._actions.patch(call.args["component_id"], data)))

    def _public_record(self, key: str, record: Record, query: Mapping[str, Json]) -> Record:
        public = {**record, "configuration_status": self._table.status(key)}
        if query.get("configDetails") and "desired_config" in record:
            public["desired_state"] = self._table.desired_layers(record)
        return _in_v2(public)


def _in_v2(record: Record) -> Record:
    if "state" not in record:
        raise UncaughtError
    return to_v2({**record, "state": [as_v2_layer(layer) for layer in record["state"]]}, COMPONENT)


def _in_v3(data: Record) -> Record:
    record = from_v2(data, COMPONENT)
    if "state" in record:
        record["state"] = [as_v3_layer(layer) for layer in record["state"]]
    return record


def _complete_in_v3(data: Record) -> Record:
    if "state" not in data:
        raise UncaughtError
    return _in_v3(data)


def _all_in_v3(data: list[Record]) -> list[Record]:
    try:
        return [_in_v3(patch) for patch in data]
    except UncaughtError as error:
        raise refuse(400, UNPARSABLE, str(error.__cause__)) from error
