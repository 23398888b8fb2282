"""``/hosts``, ``/dumpstate``, ``/scn`` (notifications of HSM) and ``/service``."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.records import Json
from csm_emulator.services.bss.boot_parameters.api import Parameters
from csm_emulator.services.bss.boot_parameters.records import STATE_CHANGE
from csm_emulator.services.bss.inventory import Inventory
from csm_emulator.services.bss.responses import JSON, encoded, parse_int, problem, sniffed
from csm_emulator.transport.call import Call, Reply

VERSION = "1.37.0"
# (field, value, words: a path with one of them gets the field)
_STATUS_FIELDS = (
    ("bss-version", VERSION, ("VERSION", "ALL")),
    ("bss-status", "running", ("STATUS", "ALL")),
    ("bss-status-hsm", "connected", ("HSM", "ALL")),
    ("bss-status-etcd", "connected", ("ETCD", "ALL")),
)


class Service:
    def __init__(self, context: Context, inventory: Inventory, parameters: Parameters) -> None:
        self._context = context
        self._inventory = inventory
        self._parameters = parameters

    def hosts(self, call: Call) -> Reply:
        names, macs, nids = (",".join(call.all(name)) for name in ("name", "mac", "nid"))
        if not (names or macs or nids):
            return encoded(self._inventory.nodes.components)
        hosts: list[Json] = []
        for texts, find, word in (
            (names, self._inventory.by_name, "host name"),
            (macs, self._inventory.by_mac, "MAC address"),
            (nids, self._by_nid, "NID"),
        ):
            for text in texts.split(",") if texts else ():
                if word == "NID" and parse_int(text) is None:
                    return problem(400, f"Bad Request - Invalid nid '{text}'")
                component = find(text)
                if component is None:
                    return problem(404, f"Not Found - Unknown {word} '{text}'")
                hosts.append(component)
        return encoded(hosts)

    def _by_nid(self, text: str) -> Json | None:
        return self._inventory.by_nid(parse_int(text) or 0)

    def refresh(self, _: Call) -> Reply:
        self._inventory.refreshed(int(self._context.clock.now()))
        return Reply(204, b"", JSON, [("Cache-Control", "no-cache")])

    def dump(self, _: Call) -> Reply:
        params = self._parameters.list_all(with_cloud=False)
        return encoded({"Components": self._inventory.nodes.components, "Params": params or None})

    def state_changed(self, call: Call) -> Reply:
        try:
            decode(call.body, STATE_CHANGE)
        except DecodeError:
            return Reply(400)
        self._inventory.note_change()
        return Reply(200)

    def status(self, call: Call) -> Reply:
        path = call.path.upper()
        return sniffed({name: value for name, value, words in _STATUS_FIELDS if any(word in path for word in words)})
