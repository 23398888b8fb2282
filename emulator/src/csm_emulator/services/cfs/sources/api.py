"""Endpoints of sources, which are repositories with their own credentials; version 3 only."""

from __future__ import annotations

from urllib.parse import unquote

from csm_emulator.context import Context
from csm_emulator.dialects.connexion import Refused, json_reply, no_content, read_body, read_parameters
from csm_emulator.records import Record
from csm_emulator.services.cfs import parameters, schemas
from csm_emulator.services.cfs.components.changes import UncaughtError, merge
from csm_emulator.services.cfs.configurations.table import Configurations, layers_and_inventory
from csm_emulator.services.cfs.errors import check_key, refuse
from csm_emulator.services.cfs.options.table import Options
from csm_emulator.services.cfs.paging import page
from csm_emulator.services.cfs.sources.table import Sources
from csm_emulator.services.cfs.timestamps import stamp
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply


class SourcesApi:
    def __init__(self, context: Context, options: Options, table: Sources, configurations: Configurations) -> None:
        self._context = context
        self._options = options
        self._table = table
        self._configurations = configurations
        self._counters: RecordTable[int] = context.tables.open("cfs.source-counter")

    def get_all(self, call: Call) -> Reply:
        defaults = {"in_use": None, "limit": self._options.number("default_page_size"), "after_id": ""}
        query = {**defaults, **read_parameters(call, (*parameters.PAGE, *parameters.IN_USE))}
        used = self._in_use() if query["in_use"] is not None else set()
        names = [name for name in self._table.names() if name > query["after_id"]]
        if query["in_use"] is not None:
            names = [name for name in names if (name in used) == query["in_use"]]
        first, more = page(names, query["limit"])
        next_page = {**query, "after_id": first[-1]} if more else None
        return json_reply({"sources": [self._table.get(name) for name in first], "next": next_page})

    def get(self, call: Call) -> Reply:
        name = _name(call)
        return json_reply(self._get(name, "Source not found"))

    def post(self, call: Call) -> Reply:
        data = read_body(call, schemas.SOURCE_CREATE)
        credentials = {"authentication_method": "password", **data["credentials"]}
        name = data.get("name") or data["clone_url"]
        self._check_free(name)
        record = self._with_timestamp({**data, "name": name, "credentials": self._with_secret(credentials)})
        self._table.put(name, record)
        return json_reply(record, 201)

    def restore(self, call: Call) -> Reply:
        """Create a source with the name of an existing secret; the service does not check that Vault has it."""
        data = read_body(call, schemas.SOURCE_RESTORE)
        name = _name(call)
        self._check_free(name)
        record = self._with_timestamp({**data, "name": name})
        self._table.put(name, record)
        return json_reply(record, 201)

    def patch(self, call: Call) -> Reply:
        data = read_body(call, schemas.SOURCE_UPDATE)
        name = _name(call)
        current = self._get(name, "Source not found.")
        _check_password(data.get("credentials"))
        record = merge(current, self._with_timestamp(data))
        if record.get("credentials"):
            record = {**record, "credentials": self._with_secret(record["credentials"])}
        self._table.put(name, record)
        return json_reply(record)

    def delete(self, call: Call) -> Reply:
        name = _name(call)
        if name in self._in_use():
            raise refuse(400, "Source is in use.", f"Source {name} is referenced by some configurations")
        record = self._get(name, "Source not found")
        self._table.delete(name)
        self._table.delete_secret(record.get("credentials", {}).get("secret_name", ""))
        return no_content()

    def _get(self, name: str, title: str) -> Record:
        record = self._table.get(name)
        if record is None:
            raise refuse(404, title, f"Source {name} could not be found")
        return record

    def _check_free(self, name: str) -> None:
        check_key(name)
        if name in self._table:
            raise refuse(409, "Conflicting source name", f"A source with the name {name} already exists")

    def _with_secret(self, credentials: Record) -> Record:
        """Store username and password in Vault; the record holds only the secret's name."""
        secret = credentials.get("secret_name") or self._new_secret_name()
        if "authentication_method" not in credentials:
            raise UncaughtError
        if credentials.get("username") and credentials.get("password"):
            self._table.store_secret(secret, credentials["username"], credentials["password"])
        return {"authentication_method": credentials["authentication_method"], "secret_name": secret}

    def _new_secret_name(self) -> str:
        number = self._counters["last"] = self._counters.get("last", 0) + 1
        return f"cfs-source-credentials-{self._context.random.uuid('cfs.source', number)}"

    def _in_use(self) -> set[str]:
        parts = (part for record in self._configurations.all() for part in layers_and_inventory(record))
        return {part.get("source", "") for part in parts} | {self._options.text("additional_inventory_source")}

    def _with_timestamp(self, data: Record) -> Record:
        return {**data, "last_updated": stamp(self._context.clock.now())}


def _name(call: Call) -> str:
    """The source's name in the path; clients encode a name that is a URL twice."""
    return unquote(call.args["source_id"])


def _check_password(credentials: Record | None) -> None:
    if credentials and not (credentials.get("username") and credentials.get("password")):
        raise _incomplete()


def _incomplete() -> Refused:
    detail = "Both username and password must be provided for password authentication credentials"
    return refuse(400, "Invalid credentials", detail)
