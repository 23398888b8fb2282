"""Components, version 3."""

from __future__ import annotations

from csm_emulator.dialects.connexion import json_reply, no_content, read_body, read_parameters
from csm_emulator.records import Record
from csm_emulator.services.cfs import parameters, schemas
from csm_emulator.services.cfs.components.actions import ComponentActions
from csm_emulator.services.cfs.components.changes import UncaughtError
from csm_emulator.services.cfs.components.filters import read_query
from csm_emulator.services.cfs.components.table import BROKEN, Components
from csm_emulator.services.cfs.errors import UNPARSABLE, refuse
from csm_emulator.services.cfs.options.table import Options
from csm_emulator.services.cfs.paging import page
from csm_emulator.services.cfs.sessions.ara import host_link
from csm_emulator.transport.call import Call, Reply

_DEFAULTS = {
    "ids": "",
    "status": "",
    "enabled": None,
    "config_name": "",
    "state_details": False,
    "config_details": False,
    "tags": "",
    "after_id": "",
}


class ComponentsV3:
    def __init__(self, options: Options, table: Components, actions: ComponentActions) -> None:
        self._options = options
        self._table = table
        self._actions = actions

    def get_all(self, call: Call) -> Reply:
        query = {
            **_DEFAULTS,
            "limit": self._options.number("default_page_size"),
            **read_parameters(call, parameters.V3_COMPONENTS),
        }
        components = self._actions.select(read_query(query), query["after_id"])
        first, more = page(components, query["limit"])
        records = [self._public_record(key, record, query) for key, record in first]
        next_page = {**query, "after_id": records[-1]["id"]} if more else None
        return json_reply({"components": records, "next": next_page})

    def get(self, call: Call) -> Reply:
        query = {**_DEFAULTS, **read_parameters(call, parameters.V3_COMPONENT)}
        key = call.args["component_id"]
        record = self._actions.get(key)
        if self._table.status(key) == BROKEN:
            raise UncaughtError
        return json_reply(self._public_record(key, record, query))

    def put_all(self, call: Call) -> Reply:
        data = read_body(call, schemas.V3_COMPONENTS)
        keys = [name_of(record) for record in data]
        for key, record in zip(keys, data, strict=True):
            self._actions.put(key, record)
        return json_reply({"component_ids": keys})

    def patch_all(self, call: Call) -> Reply:
        data = read_body(call, schemas.V3_COMPONENTS_PATCH)
        if isinstance(data, list):
            components = self._actions.patch_each(data)
        else:
            components = self._actions.patch_matching(read_query(data["filters"]), data["patch"])
        return json_reply({"component_ids": [key for key, _ in components]})

    def put(self, call: Call) -> Reply:
        key = call.args["component_id"]
        return json_reply(self._actions.put(key, {**read_body(call, schemas.V3_COMPONENT), "id": key}))

    def patch(self, call: Call) -> Reply:
        return json_reply(self._actions.patch(call.args["component_id"], read_body(call, schemas.V3_COMPONENT)))

    def delete(self, call: Call) -> Reply:
        """Delete a component; version 2 uses this handler too."""
        self._actions.delete(call.args["component_id"])
        return no_content()

    def _public_record(self, key: str, record: Record, query: Record) -> Record:
        public = {**record, "configuration_status": self._table.status(key)}
        if query["config_details"] and "desired_config" in record:
            public["desired_state"] = self._table.desired_layers(record)
        try:
            if self._options.flag("include_ara_links"):
                public["logs"] = host_link(record["id"])
            if not query["state_details"]:
                del public["state"]
        except KeyError as missing:
            raise UncaughtError from missing
        return public


def name_of(record: Record) -> str:
    if "id" not in record:
        raise refuse(400, UNPARSABLE, "'id'")
    return str(record["id"])
