"""``GET /bootscript``."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.seed_data.secrets import s3_keys
from csm_emulator.services.bss.boot_parameters.records import BootData
from csm_emulator.services.bss.boot_script.ipxe import (
    SERVER,
    BootingNode,
    ScriptInputs,
    ScriptUnavailable,
    boot_script,
    retry_script,
)
from csm_emulator.services.bss.boot_script.presigned_urls import fetch_url
from csm_emulator.services.bss.inventory import Inventory
from csm_emulator.services.bss.last_access import BOOTSCRIPT, LastAccess
from csm_emulator.services.bss.responses import Panic, panic_reply, parse_int, problem
from csm_emulator.services.bss.table import BootStore
from csm_emulator.transport.call import Call, Reply

MEDIA = "text/plain; charset=UTF-8"
_UNKNOWN_NODE: Json = {"ID": "", "MAC": None, "EndpointEnabled": False}


class BootScript:
    def __init__(self, context: Context, store: BootStore, inventory: Inventory, history: LastAccess) -> None:
        self._context = context
        self._store = store
        self._inventory = inventory
        self._history = history
        keys = s3_keys(context.random)
        self._inputs = ScriptInputs(
            lambda address: fetch_url(address, keys, int(context.clock.now())), self._join_token
        )

    def get(self, call: Call) -> Reply:
        query = _ScriptQuery(call, int(self._context.clock.now()))
        if not (query.mac or query.name or query.nid >= 0):
            return problem(400, "Need a mac=, name=, or nid= parameter")
        data, component, label = self._boot_data(query)
        try:
            script, retrieving = self._script(query, data, component or _UNKNOWN_NODE, label)
        except ScriptUnavailable as error:
            return problem(404, str(error))
        except Panic:
            return panic_reply()
        if not retrieving:
            self._history.add((component or _UNKNOWN_NODE)["ID"], BOOTSCRIPT)
        return Reply(200, f"{script}\n".encode("utf-8", "replace"), MEDIA)

    def _boot_data(self, query: _ScriptQuery) -> tuple[BootData, Json | None, str]:
        if query.mac:
            data, component = self._store.for_mac(query.mac)
            label = f"MAC {query.mac}"
        elif query.name:
            data, component = self._store.for_name(query.name)
            label = query.name
        else:
            data, component = self._store.for_nid(query.nid)
            label = f"NID {query.nid}"
        if component is not None and component["ID"] != label:
            label += f" ({component['ID']})"
        return data, component, label

    def _script(self, query: _ScriptQuery, data: BootData, component: Json, label: str) -> tuple[str, bool]:
        """The script, and whether it only makes the node retry while BSS reads HSM."""
        if component["ID"] and component["EndpointEnabled"] and data.kernel.path:
            return self._script_for_known(query, data, component, label)
        label = f"Unknown {label}" + (f" architecture {query.arch}" if query.arch else "")
        try:
            return self._script_for_unknown(query, component, label)
        except ScriptUnavailable:
            if not component["ID"]:
                raise
            return self._script_for_known(query, data, component, label)

    def _script_for_unknown(self, query: _ScriptQuery, component: Json, label: str) -> tuple[str, bool]:
        """The script for unknown nodes of an architecture; without an architecture, one that sends it along."""
        mac = query.mac or next((mac for mac in component["MAC"] or () if mac), "")
        name = query.name or component["ID"]
        node_query = f"?mac={mac}" if mac else (f"?name={name}" if name else f"?nid={query.nid}")
        chain = f"chain {SERVER}/boot/v1/bootscript{node_query}&arch=${{buildarch}}&ts={query.stamp}"
        if self._inventory.refresh_if_changed(force=not query.arch):
            return retry_script(chain), True
        data = self._store.first(f"Unknown-{query.arch}")
        return boot_script(data, BootingNode(), chain, label, self._inputs), False

    def _script_for_known(self, query: _ScriptQuery, data: BootData, component: Json, label: str) -> tuple[str, bool]:
        mac = query.mac or (component["MAC"][0] if component["MAC"] else "")
        node_query = f"?mac={mac}" if mac else f"?name={component['ID']}"
        chain = f"chain {SERVER}/boot/v1/bootscript{node_query}&retry={query.retry + 1}"
        if self._inventory.refresh_if_changed():
            return retry_script(chain), True
        node = BootingNode(component["ID"], str(component.get("NID", "")), data.token)
        return boot_script(data, node, chain, label, self._inputs), False

    def _join_token(self, xname: str) -> str:
        """A new token for each call. The emulator has no SPIRE, so the token is random."""
        return self._context.random.uuid("spire.join-token", xname, self._context.clock.now())


class _ScriptQuery:
    """The query of a request: repeated values are concatenated, and an invalid number counts as missing."""

    def __init__(self, call: Call, now: int) -> None:
        values: dict[str, str] = {}
        for name, value in call.query:
            values[name] = values.get(name, "") + value
        self.mac, self.name, self.arch = (values.get(name, "") for name in ("mac", "name", "arch"))
        self.nid = _number(values.get("nid", ""), -1)
        self.retry = _number(values.get("retry", ""), 0)
        self.stamp = _number(values.get("ts", ""), now)


def _number(text: str, default: int) -> int:
    number = parse_int(text)
    return default if number is None else number
