"""``GET /bootscript``."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.seed_data.secrets import s3_keys
from csm_emulator.services.bss.boot_parameters.records import BootData
from csm_emulator.services.bss.boot_script.ipxe import (
    SERVER,
    Booted,
    ExternalServers,
    NoScript,
    waiting,
    written,
)
from csm_emulator.services.bss.boot_script.presigned_urls import resolved
from csm_emulator.services.bss.inventory import Inventory
from csm_emulator.services.bss.last_access import BOOTSCRIPT, History
from csm_emulator.services.bss.responses import Panic, panicked, problem, whole
from csm_emulator.services.bss.table import BootStore
from csm_emulator.transport.call import Call, Reply

MEDIA = "text/plain; charset=UTF-8"
_NOBODY: Json = {"ID": "", "MAC": None, "EndpointEnabled": False}


class BootScript:
    def __init__(self, context: Context, store: BootStore, inventory: Inventory, history: History) -> None:
        self._context = context
        self._store = store
        self._inventory = inventory
        self._history = history
        keys = s3_keys(context.random)
        self._outside = ExternalServers(
            lambda address: resolved(address, keys, int(context.clock.now())), self._join_token
        )

    def get(self, call: Call) -> Reply:
        asked = _Asked(call, int(self._context.clock.now()))
        if not (asked.mac or asked.name or asked.nid >= 0):
            return problem(400, "Need a mac=, name=, or nid= parameter")
        data, component, about = self._found(asked)
        try:
            script, late = self._script(asked, data, component or _NOBODY, about)
        except NoScript as none:
            return problem(404, str(none))
        except Panic:
            return panicked()
        if not late:
            self._history.add((component or _NOBODY)["ID"], BOOTSCRIPT)
        return Reply(200, f"{script}\n".encode("utf-8", "replace"), MEDIA)

    def _found(self, asked: _Asked) -> tuple[BootData, Json | None, str]:
        if asked.mac:
            data, component = self._store.for_mac(asked.mac)
            about = f"MAC {asked.mac}"
        elif asked.name:
            data, component = self._store.for_name(asked.name)
            about = asked.name
        else:
            data, component = self._store.for_nid(asked.nid)
            about = f"NID {asked.nid}"
        if component is not None and component["ID"] != about:
            about += f" ({component['ID']})"
        return data, component, about

    def _script(self, asked: _Asked, data: BootData, component: Json, about: str) -> tuple[str, bool]:
        """The script, and whether it only says to come again while HSM is asked."""
        if component["ID"] and component["EndpointEnabled"] and data.kernel.path:
            return self._known(asked, data, component, about)
        about = f"Unknown {about}" + (f" architecture {asked.arch}" if asked.arch else "")
        try:
            return self._unknown(asked, component, about)
        except NoScript:
            if not component["ID"]:
                raise
            return self._known(asked, data, component, about)

    def _unknown(self, asked: _Asked, component: Json, about: str) -> tuple[str, bool]:
        """Boots whatever is set for nodes that are not known yet, once the node has told its architecture."""
        mac = asked.mac or next((mac for mac in component["MAC"] or () if mac), "")
        name = asked.name or component["ID"]
        who = f"?mac={mac}" if mac else (f"?name={name}" if name else f"?nid={asked.nid}")
        chain = f"chain {SERVER}/boot/v1/bootscript{who}&arch=${{buildarch}}&ts={asked.stamp}"
        if self._inventory.retrieving(force=not asked.arch):
            return waiting(chain), True
        data = self._store.first(f"Unknown-{asked.arch}")
        return written(data, Booted(), chain, about, self._outside), False

    def _known(self, asked: _Asked, data: BootData, component: Json, about: str) -> tuple[str, bool]:
        mac = asked.mac or (component["MAC"][0] if component["MAC"] else "")
        who = f"?mac={mac}" if mac else f"?name={component['ID']}"
        chain = f"chain {SERVER}/boot/v1/bootscript{who}&retry={asked.retry + 1}"
        if self._inventory.retrieving():
            return waiting(chain), True
        booted = Booted(component["ID"], str(component.get("NID", "")), data.token)
        return written(data, booted, chain, about, self._outside), False

    def _join_token(self, xname: str) -> str:
        """SPIRE's token service makes a new one each time. There is none here: its answer is made up."""
        return self._context.random.uuid("spire.join-token", xname, self._context.clock.now())


class _Asked:
    """The query of a request: what is said twice is put together, and a number that is none counts as not said."""

    def __init__(self, call: Call, now: int) -> None:
        said: dict[str, str] = {}
        for name, value in call.query:
            said[name] = said.get(name, "") + value
        self.mac, self.name, self.arch = (said.get(name, "") for name in ("mac", "name", "arch"))
        self.nid = _number(said.get("nid", ""), -1)
        self.retry = _number(said.get("retry", ""), 0)
        self.stamp = _number(said.get("ts", ""), now)


def _number(text: str, otherwise: int) -> int:
    number = whole(text)
    return otherwise if number is None else number
