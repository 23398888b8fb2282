"""Cloud-init data of a node, which BSS identifies by its source address, and ``/phone-home``."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.dialects.go_json.reader import DecodeError, decode_first
from csm_emulator.records import Json
from csm_emulator.services.bss.boot_parameters.records import PHONE_HOME, BootData, entry_record
from csm_emulator.services.bss.cloud_init.go_yaml import cloud_config
from csm_emulator.services.bss.cloud_init.merge import lookup, merge
from csm_emulator.services.bss.inventory import Inventory
from csm_emulator.services.bss.last_access import USER_DATA, LastAccess
from csm_emulator.services.bss.responses import Panic, encoded, panic_reply, problem, sniffed
from csm_emulator.services.bss.table import BootStore, NoSuchEntry
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply

GLOBAL = "Global"


class CloudInit:
    def __init__(self, context: Context, store: BootStore, inventory: Inventory, history: LastAccess) -> None:
        self._context = context
        self._store = store
        self._inventory = inventory
        self._history = history
        self._instances: RecordTable[int] = context.tables.open("bss.instances")

    def meta_data(self, call: Call) -> Reply:
        global_data = self._store.first(GLOBAL).cloud("meta-data")
        keys = call.first("key").split(".") if call.has("key") else None
        if keys and keys[0] == GLOBAL:
            return _part_reply({GLOBAL: global_data}, keys)
        xname = self._inventory.name_at(_source(call))
        data = self._store.for_name(xname or "")[0]
        node_data = dict(data.cloud("meta-data"))
        if xname is None:
            node_data["instance-id"] = self._new_instance_id("default")
        else:
            node_data = self._with_node_facts(xname, node_data)
        try:
            document = merge(self._role_data(node_data).cloud("meta-data"), node_data)
        except Panic:
            return panic_reply()
        document[GLOBAL] = global_data
        return _part_reply(document, keys) if keys else sniffed(document)

    def user_data(self, call: Call) -> Reply:
        xname = self._inventory.name_at(_source(call))
        data = self._store.for_name(xname or "")[0]
        meta_data = dict(data.cloud("meta-data"))
        if xname is not None:
            meta_data = self._with_node_facts(xname, meta_data)
        try:
            document = merge(self._role_data(meta_data).cloud("user-data"), data.cloud("user-data"))
        except Panic:
            return panic_reply()
        if document.get("local-hostname") is None and meta_data.get("local-hostname") is not None:
            document["local-hostname"] = meta_data["local-hostname"]
        self._history.add(xname or "", USER_DATA)
        return Reply(200, cloud_config(document).encode("utf-8", "replace"), "text/yaml")

    def phone_home(self, call: Call) -> Reply:
        try:
            posted = decode_first(call.body, PHONE_HOME)
        except DecodeError:
            return problem(400, "Bad Request")
        xname = self._inventory.name_at(_source(call))
        if xname is None:
            return problem(404, "XName not found for IP")
        data = self._store.for_name(xname)[0]
        cloud_init = {"meta-data": None, "user-data": None, **(data.cloud_init or {}), "phone-home": posted}
        selection = {"hosts": [xname], "macs": None, "nids": None, "params": "", "kernel": "", "initrd": ""}
        try:
            self._store.update(selection | {"cloud-init": cloud_init})
        except NoSuchEntry as error:
            return problem(404, f"Not Found: {error}")
        return encoded(entry_record(BootData(cloud_init=cloud_init), [xname]))

    def _with_node_facts(self, xname: str, node_data: Json) -> Json:
        """The meta-data, completed with HSM's name, role and sub-role of the node."""
        node_data = node_data | {"instance-id": self._new_instance_id(xname or "default")}
        component = self._inventory.by_name(xname)
        if component is None:
            return node_data
        facts = {
            "local-hostname": xname,
            "shasta-type": component.get("Role", ""),
            "shasta-role": component.get("SubRole", ""),
        }
        return node_data | {name: value for name, value in facts.items() if node_data.get(name) is None}

    def _role_data(self, node_data: Json) -> BootData:
        role = node_data.get("shasta-role")
        if role is None:
            return BootData()
        if not isinstance(role, str):
            raise Panic
        return self._store.first(role)

    def _new_instance_id(self, prefix: str) -> str:
        """A new instance id; every request gets another one."""
        number = self._instances.get("last", 0) + 1
        self._instances["last"] = number
        return f"{prefix}-{self._context.random.hex(12, 'bss.instance', number)}".lower()


def _source(call: Call) -> str:
    """The address of the caller, which Envoy appends to X-Forwarded-For."""
    forwarded = call.headers.get("x-forwarded-for", "")
    return forwarded.split(",")[-1] if forwarded else call.peer


def _part_reply(document: Json, keys: list[str]) -> Reply:
    try:
        return sniffed(lookup(document, keys))
    except KeyError:
        return problem(404, "Not Found")
