"""``/networks`` and ``/search/networks``."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import ANY, INT64, STRING, STRINGS, struct
from csm_emulator.dialects.hms.responses import marshalled
from csm_emulator.records import Json
from csm_emulator.services.sls import postgres_inet as inet
from csm_emulator.services.sls.postgres_jsonb import has_nul, matches, search_texts
from csm_emulator.services.sls.responses import problem, times
from csm_emulator.services.sls.versions import Versions
from csm_emulator.transport.call import Call, Reply

NETWORK = struct(
    "sls_common.Network",
    {
        "Name": STRING,
        "FullName": STRING,
        "IPRanges": STRINGS,
        "Type": STRING,
        "LastUpdated": INT64,
        "LastUpdatedTime": STRING,
        "ExtraProperties": ANY,
    },
)
_REQUIRED_FIELDS = ("Name", "FullName", "IPRanges", "Type")
_TYPES = frozenset({"slingshot10", "slingshot11", "cassini", "ethernet", "opa", "infiniband", "mixed"})
_PREFIX = "extra_properties."


class UnstorableNetwork(Exception):
    """The database refuses the network."""


class NetworkTable:
    def __init__(self, context: Context, versions: Versions) -> None:
        self._versions = versions
        self._table = context.tables.open("sls.networks", context.machine.topology.sls.get("Networks") or {})

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def names(self) -> list[str]:
        return list(self._table)

    def row(self, name: str) -> Json:
        return self._table[name]

    def record(self, name: str) -> Json:
        row = self._table[name]
        record = {"Name": name} | {field: row.get(field, "") for field in _REQUIRED_FIELDS[1:]}
        record |= times(row.get("at", self._versions.begin))
        extra = row.get("ExtraProperties")
        return record if extra is None else record | {"ExtraProperties": extra}

    def put(self, network: Json) -> None:
        """Raises ``UnstorableNetwork``."""
        row = self.validated_row(network)
        self._table[network["Name"]] = row | {"at": self._versions.change()}

    def delete(self, name: str) -> None:
        del self._table[name]
        self._versions.change()

    def replace(self, networks: list[Json]) -> None:
        """Replace all networks in one change; raises ``UnstorableNetwork`` and then changes nothing."""
        rows = {network["Name"]: self.validated_row(network) for network in networks}
        if len(rows) != len(networks):
            self.fail()
            raise UnstorableNetwork
        at = self._versions.change()
        for name in [name for name in self._table if name not in rows]:
            del self._table[name]
        for name, row in rows.items():
            self._table[name] = row | {"at": at}

    def fail(self) -> None:
        self._versions.fail()

    def validated_row(self, network: Json) -> Json:
        """The row to store; raises ``UnstorableNetwork``."""
        row = {field: network[field] for field in ("FullName", "Type", "ExtraProperties")}
        if "\0" in network["Name"]:
            raise UnstorableNetwork
        if network["IPRanges"] is None or has_nul(row):
            self.fail()
            raise UnstorableNetwork
        return row | {"IPRanges": [inet.normalized(cidr) for cidr in network["IPRanges"]]}


class Networks:
    def __init__(self, table: NetworkTable) -> None:
        self._table = table

    def list_all(self, _: Call) -> Reply:
        return marshalled([self._table.record(name) for name in self._table.names()] or None)

    def post(self, call: Call) -> Reply:
        try:
            network = decode(call.body, NETWORK)
        except DecodeError:
            return problem(call, 400, "Failed to unmarshal body")
        if error := network_error(network):
            return problem(call, 400, error)
        try:
            # SLS reports missing fields before a duplicate name.
            self._table.validated_row(network)
            if network["Name"] in self._table:
                self._table.fail()
                return problem(call, 409, "A network with that name already exists in the database")
            self._table.put(network)
        except UnstorableNetwork:
            return problem(call, 500, "Failed to insert network into DB")
        return marshalled(_reply_record(network), 201)

    def get(self, call: Call) -> Reply:
        name = call.args["network"]
        if "\0" in name:
            return problem(call, 500, "Failed to get network from DB")
        if name not in self._table:
            return problem(call, 404, "Network not found in DB")
        return marshalled(self._table.record(name))

    def put(self, call: Call) -> Reply:
        try:
            network = decode(call.body, NETWORK)
        except DecodeError:
            return problem(call, 400, "Failed to unmarshal body")
        network["Name"] = call.args["network"]
        if error := network_error(network):
            return problem(call, 400, error)
        try:
            self._table.put(network)
        except UnstorableNetwork:
            return problem(call, 500, "Failed to update network in DB")
        return marshalled(_reply_record(network))

    def patch(self, _: Call) -> Reply:
        """Not implemented in SLS either."""
        return Reply(501)

    def delete(self, call: Call) -> Reply:
        name = call.args["network"]
        if "\0" in name:
            return problem(call, 500, "Failed to delete network from DB")
        if name not in self._table:
            self._table.fail()
            return problem(call, 404, "Network not found in DB")
        self._table.delete(name)
        return Reply(200)

    def search(self, call: Call) -> Reply:
        properties: dict[str, str | list[str]] = {}
        for key in dict.fromkeys(key for key, _ in call.query if key.startswith(_PREFIX)):
            if key == _PREFIX:
                return problem(
                    call, 500, "Failed to search hardware in DB. ExtraProperties search does not include field."
                )
            values = call.all(key)
            properties[key.removeprefix(_PREFIX)] = values[0] if len(values) == 1 else values
        names = self._matching(call, properties)
        if names is None:
            return problem(call, 500, "Failed to search network from DB")
        return (
            marshalled([self._table.record(name) for name in names])
            if names
            else problem(call, 404, "Network not found in DB")
        )

    def _matching(self, call: Call, properties: dict[str, str | list[str]]) -> list[str] | None:
        """The names of matching networks; None for an invalid search, which the database refuses."""
        name, full, kind, address = (call.first(parameter) for parameter in ("name", "full_name", "type", "ip_address"))
        searched = inet.parse_search(address) if address else None
        conditions = (name, full, kind, address)
        if (
            (not any(conditions) and not properties)
            or " " in name
            or "\0" in "".join([*conditions, *search_texts(properties)])
        ):
            return None
        if (kind and kind.lower() not in _TYPES) or (address and searched is None):
            return None
        rows = [(parameter, self._table.row(parameter)) for parameter in self._table.names()]
        return [
            parameter
            for parameter, row in rows
            if (not name or parameter == name)
            and (not full or row.get("FullName", "") == full)
            and (not kind or row["Type"] == kind)
            and (searched is None or any(inet.contains(cidr, searched) for cidr in row["IPRanges"]))
            and matches(row.get("ExtraProperties"), properties)
        ]


def network_error(network: Json) -> str:
    """SLS's error message; empty when the network is valid."""
    if network["Type"].lower() not in _TYPES:
        return "invalid network type"
    if not network["Name"] or " " in network["Name"]:
        return "invalid network name"
    bad_cidr = next((cidr for cidr in network["IPRanges"] or () if not inet.is_cidr(cidr)), None)
    return "" if bad_cidr is None else f"invalid IP Range: {bad_cidr}"


def _reply_record(network: Json) -> Json:
    """The reply to a POST or PUT: the network as it was sent, with fields that are not stored."""
    # Go omits an empty text or number, but ExtraProperties, an interface, only when it is nil.
    return {
        field: value
        for field, value in network.items()
        if field in _REQUIRED_FIELDS or (value is not None if field == "ExtraProperties" else value not in (0, ""))
    }
