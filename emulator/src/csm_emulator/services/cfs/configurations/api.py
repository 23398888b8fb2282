"""Configurations: their operations in versions 2 and 3."""

from __future__ import annotations

from csm_emulator.dialects.connexion import json_reply, no_content, read_body, read_parameters
from csm_emulator.records import Record
from csm_emulator.services.cfs import parameters, schemas
from csm_emulator.services.cfs.configurations.actions import ConfigurationActions, check_revision, parts
from csm_emulator.services.cfs.configurations.table import Configurations
from csm_emulator.services.cfs.options.table import Options
from csm_emulator.services.cfs.paging import all_of, page
from csm_emulator.services.cfs.tenants import Tenants, check_owner, immutable
from csm_emulator.services.cfs.version_2 import CONFIGURATION, from_v2, to_v2
from csm_emulator.transport.call import Call, Reply


class ConfigurationsApi:
    def __init__(
        self, options: Options, table: Configurations, actions: ConfigurationActions, tenants: Tenants
    ) -> None:
        self._options = options
        self._table = table
        self._actions = actions
        self._tenants = tenants

    def get_all_v2(self, call: Call) -> Reply:
        query = read_parameters(call, parameters.IN_USE)
        configurations = all_of(self._select(query.get("in_use"), "", ""), self._options.number("default_page_size"))
        return json_reply([_in_v2(record) for record in configurations])

    def get_all_v3(self, call: Call) -> Reply:
        defaults = {"in_use": None, "limit": self._options.number("default_page_size"), "after_id": ""}
        query = {**defaults, **read_parameters(call, (*parameters.PAGE, *parameters.IN_USE))}
        tenant = self._tenants.of(call)
        first, more = page(self._select(query["in_use"], query["after_id"], tenant), query["limit"])
        next_page = {**query, "after_id": first[-1]["name"]} if more else None
        return json_reply({"configurations": first, "next": next_page})

    def get_v2(self, call: Call) -> Reply:
        return json_reply(_in_v2(self._actions.get(call.args["configuration_id"])))

    def get_v3(self, call: Call) -> Reply:
        tenant, name = self._tenant_and_name(call)
        record = self._actions.get(name)
        check_owner(tenant, record)
        return json_reply(record)

    def put_v2(self, call: Call) -> Reply:
        data = from_v2(read_body(call, schemas.V2_CONFIGURATION), CONFIGURATION)
        for part in parts(data):
            check_revision(part, "Error handling error branches")
        return json_reply(_in_v2(self._actions.put(call.args["configuration_id"], data)))

    def put_v3(self, call: Call) -> Reply:
        data = read_body(call, schemas.V3_CONFIGURATION)
        query = read_parameters(call, parameters.DROP_BRANCHES)
        tenant, name = self._tenant_and_name(call)
        if tenant:
            data = self._with_owner(name, data, tenant)
        self._actions.check_locations(data)
        return json_reply(self._actions.put(name, data, bool(query.get("drop_branches"))))

    def patch_v2(self, call: Call) -> Reply:
        return json_reply(_in_v2(self._actions.update(call.args["configuration_id"])))

    def patch_v3(self, call: Call) -> Reply:
        tenant, name = self._tenant_and_name(call)
        return json_reply(self._actions.update(name, tenant))

    def delete_v2(self, call: Call) -> Reply:
        self._actions.delete(call.args["configuration_id"])
        return no_content()

    def delete_v3(self, call: Call) -> Reply:
        tenant, name = self._tenant_and_name(call)
        self._actions.delete(name, tenant)
        return no_content()

    def _tenant_and_name(self, call: Call) -> tuple[str, str]:
        name = str(read_parameters(call, parameters.CONFIGURATION_NAME)["configuration_id"])
        return self._tenants.of(call), name

    def _with_owner(self, name: str, data: Record, tenant: str) -> Record:
        existing = self._table.get(name)
        if existing is not None:
            check_owner(tenant, existing)
        if data.get("tenant_name") not in ("", None, tenant):
            raise immutable()
        return {**data, "tenant_name": tenant}

    def _select(self, in_use: bool | None, start_after: str, tenant: str) -> list[Record]:
        # The real service reads usage from a field that components no longer have, so no configuration is ever in use.
        if in_use:
            return []
        records = [self._actions.get(name) for name in self._table.names() if name > start_after]
        return [record for record in records if not tenant or record.get("tenant_name", "") == tenant]


def _in_v2(record: Record) -> Record:
    return to_v2(record, CONFIGURATION)
