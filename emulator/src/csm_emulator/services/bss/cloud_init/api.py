"""Cloud-init: what a node is told, and tells, by the address that it asks from."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.dialects.go_json.reader import DecodeError, decode_first
from csm_emulator.records import Json
from csm_emulator.services.bss.boot_parameters.records import PHONE_HOME, BootData, shown
from csm_emulator.services.bss.cloud_init.go_yaml import cloud_config
from csm_emulator.services.bss.cloud_init.merge import looked_up, merged
from csm_emulator.services.bss.inventory import Inventory
from csm_emulator.services.bss.last_access import USER_DATA, History
from csm_emulator.services.bss.responses import Panic, encoded, guessed, panicked, problem
from csm_emulator.services.bss.table import BootStore, NotStored
from csm_emulator.transport.call import Call, Reply

GLOBAL = "Global"


class CloudInit:
    def __init__(self, context: Context, store: BootStore, inventory: Inventory, history: History) -> None:
        self._context = context
        self._store = store
        self._inventory = inventory
        self._history = history
        self._instances = context.tables.open("bss.instances")

    def meta_data(self, call: Call) -> Reply:
        everywhere = self._store.first(GLOBAL).cloud("meta-data")
        keys = call.first("key").split(".") if call.has("key") else None
        if keys and keys[0] == GLOBAL:
            return _part({GLOBAL: everywhere}, keys)
        xname = self._inventory.name_at(_source(call))
        data = self._store.for_name(xname or "")[0]
        own = dict(data.cloud("meta-data"))
        if xname is None:
            own["instance-id"] = self._instance("default")
        else:
            own = self._described(xname, own)
        try:
            told = merged(self._role_data(own).cloud("meta-data"), own)
        except Panic:
            return panicked()
        told[GLOBAL] = everywhere
        return _part(told, keys) if keys else guessed(told)

    def user_data(self, call: Call) -> Reply:
        xname = self._inventory.name_at(_source(call))
        data = self._store.for_name(xname or "")[0]
        about = dict(data.cloud("meta-data"))
        if xname is not None:
            about = self._described(xname, about)
        try:
            told = merged(self._role_data(about).cloud("user-data"), data.cloud("user-data"))
        except Panic:
            return panicked()
        if told.get("local-hostname") is None and about.get("local-hostname") is not None:
            told["local-hostname"] = about["local-hostname"]
        self._history.add(xname or "", USER_DATA)
        return Reply(200, cloud_config(told).encode("utf-8", "replace"), "text/yaml")

    def phone_home(self, call: Call) -> Reply:
        try:
            told = decode_first(call.body, PHONE_HOME)
        except DecodeError:
            return problem(400, "Bad Request")
        xname = self._inventory.name_at(_source(call))
        if xname is None:
            return problem(404, "XName not found for IP")
        data = self._store.for_name(xname)[0]
        cloud_init = {"meta-data": None, "user-data": None, **(data.cloud_init or {}), "phone-home": told}
        asked = {"hosts": [xname], "macs": None, "nids": None, "params": "", "kernel": "", "initrd": ""}
        try:
            self._store.update(asked | {"cloud-init": cloud_init})
        except NotStored as none:
            return problem(404, f"Not Found: {none}")
        return encoded(shown(BootData(cloud_init=cloud_init), [xname]))

    def _described(self, xname: str, own: Json) -> Json:
        """With what HSM knows of the node, where nothing else was set."""
        own = own | {"instance-id": self._instance(xname or "default")}
        component = self._inventory.by_name(xname)
        if component is None:
            return own
        facts = {
            "local-hostname": xname,
            "shasta-type": component.get("Role", ""),
            "shasta-role": component.get("SubRole", ""),
        }
        return own | {name: value for name, value in facts.items() if own.get(name) is None}

    def _role_data(self, own: Json) -> BootData:
        role = own.get("shasta-role")
        if role is None:
            return BootData()
        if not isinstance(role, str):
            raise Panic
        return self._store.first(role)

    def _instance(self, prefix: str) -> str:
        """A new one at every request."""
        number = self._instances.get("last", 0) + 1
        self._instances["last"] = number
        return f"{prefix}-{self._context.random.hex(12, 'bss.instance', number)}".lower()


def _source(call: Call) -> str:
    """Envoy adds the address of its caller at the end."""
    forwarded = call.headers.get("x-forwarded-for", "")
    return forwarded.split(",")[-1] if forwarded else call.peer


def _part(told: Json, keys: list[str]) -> Reply:
    try:
        return guessed(looked_up(told, keys))
    except KeyError:
        return problem(404, "Not Found")
