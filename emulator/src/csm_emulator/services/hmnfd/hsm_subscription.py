"""HMNFD's own subscription with HSM: for what it needs itself, and for what anybody asked of it."""

from __future__ import annotations

from collections.abc import Iterable

from csm_emulator.context import Context
from csm_emulator.dialects.hms.responses import marshal
from csm_emulator.records import Json
from csm_emulator.services.hmnfd.parameters import Params

AGAIN = 1.0
_NAMES = {"HWStates": "States", "SWStatus": "SoftwareStatus", "Roles": "Roles", "SubRoles": "SubRoles"}
_OWN: Json = {
    "States": ["Empty", "Populated", "Off", "On", "Standby", "Halt", "Ready"],
    "SoftwareStatus": None,
    "Roles": ["compute", "service"],
    "SubRoles": None,
    "Enabled": True,
}


class HsmSubscription:
    def __init__(self, context: Context, params: Params) -> None:
        self._context = context
        self._params = params
        self._table = context.tables.open("hmnfd.hsm")
        context.scheduler.register("hmnfd.subscribe", self._subscribe)
        if context.machine.topology.parts and "begun" not in self._table:
            # A machine without hardware is a set of empty databases: there nobody has subscribed yet.
            self._table["begun"] = True
            context.scheduler.after(0.0, "hmnfd.subscribe", _OWN)

    def wants(self, wanted: Json) -> None:
        """Somebody subscribed here: what HSM does not tell yet, it shall tell."""
        self._subscribe({name: wanted[name] for name in _OWN})

    def restarted(self) -> None:
        self._table.pop("known", None)
        self._subscribe(_OWN)

    def status(self) -> str:
        known = self._table.get("stored")
        return f"HSM Subscription: {marshal(known)}" if known else "HSM Subscription key not present"

    def _subscribe(self, wanted: Json) -> None:
        known = self._table.get("known", {"Enabled": False} | {name: [] for name in _NAMES})
        after: dict[str, Json] = {name: _union(known[name], wanted[field] or ()) for name, field in _NAMES.items()}
        after["Enabled"] = known["Enabled"] or wanted["Enabled"] is True
        if after == known:
            return
        if self._send(wanted):
            self._table["known"] = after
            self._table["stored"] = {name: value for name, value in after.items() if value}
            return
        # The lists count as subscribed although HSM refused, so that only ``Enabled`` brings it to try again.
        self._table["known"] = after | {"Enabled": known["Enabled"]}
        if wanted["Enabled"] is True and not known["Enabled"]:
            self._context.scheduler.after(AGAIN, "hmnfd.subscribe", wanted)

    def _send(self, wanted: Json) -> bool:
        if self._params.number("Nosm"):
            return True
        number = self._table.get("number", 0) + 1
        self._table["number"] = number
        body = {name: value for name, value in wanted.items() if value is not None and value != []}
        body |= {"Subscriber": f"{self._host()}_{number}", "Url": self._params.text("Scn_in_url")}
        return self._context.mesh.ask("smd", "POST", "/hsm/v2/Subscriptions/SCN", body).status in (200, 202, 204)

    def _host(self) -> str:
        return f"cray-hmnfd-{self._context.random.hex(9, 'hmnfd')}-{self._context.random.hex(5, 'hmnfd', 'pod')}"


def _union(known: Iterable[str], more: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*known, *(value.lower() for value in more)]))
