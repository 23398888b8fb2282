"""``/Inventory/EthernetInterfaces``: the MAC and IP addresses of components."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from csm_emulator.dialects.go_json.types import STRING, pointer_to, slice_of, struct
from csm_emulator.dialects.hms.names import hms_type, verified
from csm_emulator.records import Json, Record
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.enums import TYPE, spelled
from csm_emulator.services.smd.errors import with_body
from csm_emulator.services.smd.postgres_text import LONGEST_XNAME, InvalidTime, parse_time, storable
from csm_emulator.services.smd.query_parameters import values
from csm_emulator.services.smd.responses import created, json_reply, message, problem
from csm_emulator.state.clock import rfc3339
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

BASE = "/hsm/v2/Inventory/EthernetInterfaces"
ADDRESS = struct("sm.IPAddressMapping", {"IPAddress": STRING, "Network": STRING})
FULL = struct(
    "sm.CompEthInterfaceV2",
    {
        "ID": STRING,
        "Description": STRING,
        "MACAddress": STRING,
        "LastUpdate": STRING,
        "ComponentID": STRING,
        "Type": STRING,
        "IPAddresses": slice_of(ADDRESS),
    },
)
PATCH = struct(
    "sm.CompEthInterfaceV2Patch",
    {
        "Description": pointer_to(STRING),
        "ComponentID": pointer_to(STRING),
        "IPAddresses": pointer_to(slice_of(ADDRESS)),
    },
)
ADDRESS_PATCH = struct("sm.IPAddressMappingPatch", {"Network": pointer_to(STRING)})
# SMD's reply to a PATCH of an unknown interface.
EMPTY_RECORD = {
    "ID": "",
    "Description": "",
    "MACAddress": "",
    "LastUpdate": "",
    "ComponentID": "",
    "Type": "",
    "IPAddresses": None,
}
_CRASH = "SMD ends the connection here without an answer: runtime error"


class Interfaces:
    def __init__(self, hsm: Hsm) -> None:
        self._hsm = hsm
        self._table: RecordTable[Record] = hsm.inventory.interfaces
        self._owners = hsm.inventory.owners

    def list(self, call: Call) -> Reply:
        try:
            tests = list(_tests(call))
        except InvalidTime as error:
            return problem(400, f"bad query param: {error}")
        except ValueError as error:
            return problem(400, str(error))
        if values(call, "ipaddress") and values(call, "network"):
            # SMD joins the addresses twice under one name, and PostgreSQL refuses.
            return problem(500, "failed to query DB.")
        records = (self._table[name] for name in self._candidates(call) if name in self._table)
        return json_reply([record for record in records if all(test(record) for test in tests)])

    def _candidates(self, call: Call) -> Iterable[str]:
        """Ids that include all matches: BSS looks up one of tens of thousands whenever a node boots."""
        names = [mac.replace(":", "") for mac in values(call, "macaddress")] or values(call, "id")
        if names:
            return dict.fromkeys(name.lower() for name in names)
        addresses = values(call, "ipaddress")
        if addresses and "" not in addresses:
            return self._hsm.inventory.by_address.candidates(addresses)
        xnames = values(call, "componentid")
        return [
            name for xname in dict.fromkeys(xnames) for name in self._owners.interfaces_of(verified(xname))
        ] or self._table

    def create(self, _: Call, body: Json) -> Reply:
        try:
            mac = _mac(body["MACAddress"])
            record = self._record(body, mac)
        except ValueError as error:
            return problem(400, str(error))
        if not storable(body["Description"]) or len(record["ComponentID"]) > LONGEST_XNAME:
            return problem(500, "operation 'POST' failed during store.")
        if record["ID"] in self._table:
            conflict = (
                "operation would conflict with an existing component ethernet interface that has the same MAC address."
            )
            return problem(409, conflict)
        self._table[record["ID"]] = record
        self._owners.clear()
        return created(f"{BASE}/{record['ID']}")

    def _record(self, body: Json, mac: str) -> Json:
        addresses = [_address(address) for address in body["IPAddresses"] or ()]
        xname = verified(body["ComponentID"])
        if body["ComponentID"] and not xname:
            raise ValueError("Invalid CompEthInterface component ID")
        return {
            "ID": mac.replace(":", ""),
            "Description": body["Description"],
            "MACAddress": mac,
            "LastUpdate": self._now(),
            "ComponentID": xname,
            "Type": hms_type(xname),
            "IPAddresses": addresses,
        }

    def delete_all(self, _: Call) -> Reply:
        count = len(self._table)
        self._table.clear()
        self._owners.clear()
        return message(f"deleted {count} entries") if count else problem(404, "no entries to delete")

    def read(self, call: Call) -> Reply:
        return self._read(call.args["id"].lower(), lambda record: record)

    def delete(self, call: Call) -> Reply:
        if not storable(call.args["id"]):
            return problem(500, "DB query failed.")
        if self._table.pop(call.args["id"].lower(), None) is None:
            return problem(404, "no such component ethernet interface.")
        self._owners.clear()
        return message("deleted 1 entry")

    def change(self, call: Call, body: Json) -> Reply:
        if all(value is None for value in body.values()):
            return problem(400, "Request must have at least one patch field.")
        if body["ComponentID"] is not None and not verified(body["ComponentID"]):
            return problem(400, "bad query param: Argument was not a valid xname ID")
        if not storable(body["Description"]):
            return problem(500, "failed to query DB.")
        record = self._table.get(call.args["id"])
        if record is None:
            return json_reply(EMPTY_RECORD)
        return json_reply(self._put(_patched(record, body), body["IPAddresses"] is not None))

    def addresses(self, call: Call) -> Reply:
        return self._read(call.args["id"], lambda record: record["IPAddresses"])

    def add_address(self, call: Call, body: Json) -> Reply:
        name = call.args["id"]
        if not body["IPAddress"]:
            return problem(400, "Invalid CompEthInterface IP Address")
        record = self._table.get(name)
        if record is None:
            return problem(500, "operation 'POST' failed during store.")
        if any(address["IPAddress"] == body["IPAddress"] for address in record["IPAddresses"]):
            return problem(409, "operation would conflict with an existing IP Address on the same ethernet interface.")
        self._put({**record, "IPAddresses": [*record["IPAddresses"], _address(body)]}, True)
        return created(f"{BASE}/{name}/IPAddresses/{body['IPAddress']}")

    def change_address(self, call: Call, body: Json) -> Reply:
        record = self._table.get(call.args["id"], EMPTY_RECORD)
        if body["Network"] is None:
            # Without a network SMD removes all addresses, then reads the first one.
            if record is not EMPTY_RECORD:
                self._put({**record, "IPAddresses": []}, True)
            return problem(500, _CRASH)
        addresses = record["IPAddresses"] or ()
        changed = {"IPAddress": call.args["ipaddr"], "Network": body["Network"]}
        if all(address["IPAddress"] != changed["IPAddress"] for address in addresses):
            return problem(404, "no such IP address in component ethernet interface.")
        mapped = [
            _address(changed) if address["IPAddress"] == changed["IPAddress"] else address for address in addresses
        ]
        self._put({**record, "IPAddresses": mapped}, True)
        return json_reply(_address(changed))

    def delete_address(self, call: Call) -> Reply:
        record = self._table.get(call.args["id"], EMPTY_RECORD)
        addresses = record["IPAddresses"] or ()
        remaining = [address for address in addresses if address["IPAddress"] != call.args["ipaddr"]]
        if len(remaining) == len(addresses):
            return problem(404, "component ethernet interface has no such ip address.")
        self._put({**record, "IPAddresses": remaining}, True)
        return message("deleted 1 entry")

    def _read(self, name: str, show: Callable[[Json], Json]) -> Reply:
        record = self._table.get(name)
        if record is None:
            return problem(404, f"No such component ethernet interface: {name}")
        return json_reply(show(record))

    def _put(self, record: Json, addresses_changed: bool) -> Json:
        if addresses_changed:
            record = {**record, "LastUpdate": self._now()}
        self._table[record["ID"]] = record
        self._owners.clear()
        return record

    def _now(self) -> str:
        return rfc3339(self._hsm.context.clock.now())


def _patched(record: Json, body: Json) -> Json:
    changed = dict(record)
    if body["Description"] is not None:
        changed["Description"] = body["Description"]
    if body["ComponentID"] is not None:
        changed["ComponentID"] = verified(body["ComponentID"])
        changed["Type"] = hms_type(changed["ComponentID"])
    if body["IPAddresses"] is not None:
        changed["IPAddresses"] = [_on_wire(address) for address in body["IPAddresses"]]
    return changed


def _on_wire(address: Json) -> Json:
    return {name: address[name] for name in ("IPAddress", "Network") if name == "IPAddress" or address[name]}


def _address(address: Json) -> Json:
    if not address["IPAddress"]:
        raise ValueError("Invalid CompEthInterface IP Address")
    return _on_wire(address)


def _mac(text: str) -> str:
    """The MAC as SMD reads it: twelve hexadecimal digits, with any of the usual separators; raises ``ValueError``."""
    text_digits = text.lower()
    for separator in "-:.":
        text_digits = text_digits.replace(separator, "", 5)
    text_digits = text_digits.strip()
    if len(text_digits.encode()) != 12:
        raise ValueError("MAC string has invalid length")
    sign, digits = (text_digits[0], text_digits[1:]) if text_digits[0] in "+-" else ("", text_digits)
    if not all(digit in "0123456789abcdef" for digit in digits):
        raise ValueError(f'strconv.ParseInt: parsing "{text_digits}": invalid syntax')
    plain = f"{'-' if sign == '-' else ''}{digits.lstrip('0') or '0'}".rjust(12, "0") if sign else digits
    return ":".join(plain[index : index + 2] for index in range(0, 12, 2))


def _tests(call: Call) -> Iterator[Callable[[Json], bool]]:
    for name, key, label in (("id", "ID", "ID"), ("macaddress", "MACAddress", "MAC address")):
        texts = values(call, name)
        if "" in texts:
            raise ValueError(f"Invalid component ethernet interface {label}.")
        if texts:
            yield _field_test(key, [text.lower() for text in texts])
    for name, key in (("ipaddress", "IPAddress"), ("network", "Network")):
        if texts := values(call, name):
            yield _address_test(key, texts)
    if xnames := values(call, "componentid"):
        if any(text and not verified(text) for text in xnames):
            raise ValueError("Invalid CompID.")
        yield _field_test("ComponentID", [verified(text) for text in xnames])
    if types := values(call, "type"):
        if not all(spelled(TYPE, text) for text in types):
            raise ValueError("Invalid HMS type.")
        yield _field_test("Type", [spelled(TYPE, text) for text in types])
    yield from _times(call)


def _times(call: Call) -> Iterator[Callable[[Json], bool]]:
    for name, sign in (("newerthan", 1), ("olderthan", -1)):
        text = (values(call, name) or [""])[0]
        if text:
            yield _time_test(parse_time(text), sign)


def _time_test(limit: float, sign: int) -> Callable[[Json], bool]:
    return lambda record: (parse_time(record["LastUpdate"]) - limit) * sign > 0


def _field_test(key: str, texts: Sequence[str]) -> Callable[[Json], bool]:
    return lambda record: record[key] in texts


def _address_test(key: str, texts: Sequence[str]) -> Callable[[Json], bool]:
    no_address: Json = {}
    return lambda record: any(address.get(key, "") in texts for address in record["IPAddresses"] or [no_address])


def routes(hsm: Hsm) -> Sequence[Route]:
    interfaces = Interfaces(hsm)
    one, addresses, address = f"{BASE}/{{id}}", f"{BASE}/{{id}}/IPAddresses", f"{BASE}/{{id}}/IPAddresses/{{ipaddr}}"
    return (
        Route("GET", BASE, interfaces.list),
        Route("POST", BASE, with_body(FULL, interfaces.create)),
        Route("DELETE", BASE, interfaces.delete_all),
        Route("GET", one, interfaces.read),
        Route("DELETE", one, interfaces.delete),
        Route("PATCH", one, with_body(PATCH, interfaces.change)),
        Route("GET", addresses, interfaces.addresses),
        Route("POST", addresses, with_body(ADDRESS, interfaces.add_address)),
        Route("PATCH", address, with_body(ADDRESS_PATCH, interfaces.change_address)),
        Route("DELETE", address, interfaces.delete_address),
    )
