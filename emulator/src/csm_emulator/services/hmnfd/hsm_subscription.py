"""HMNFD's own subscription with HSM: for its own needs, and for all subscriptions of its clients."""

from __future__ import annotations

from collections.abc import Iterable

from csm_emulator.clients.hsm import HsmClient
from csm_emulator.context import Context
from csm_emulator.dialects.hms.responses import marshal
from csm_emulator.records import Json
from csm_emulator.services.hmnfd.parameters import Params
from csm_emulator.state.tables import RecordTable

RETRY_DELAY = 1.0
_FIELD_OF_KEY = {"HWStates": "States", "SWStatus": "SoftwareStatus", "Roles": "Roles", "SubRoles": "SubRoles"}
_OWN_SUBSCRIPTION: Json = {
    "States": ["Empty", "Populated", "Off", "On", "Standby", "Halt", "Ready"],
    "SoftwareStatus": None,
    "Roles": ["compute", "service"],
    "SubRoles": None,
    "Enabled": True,
}


class HsmSubscription:
    def __init__(self, context: Context, params: Params) -> None:
        self._context = context
        self._hsm = HsmClient(context.mesh)
        self._params = params
        self._table: RecordTable[Json] = context.tables.open("hmnfd.hsm")
        context.scheduler.register("hmnfd.subscribe", self._subscribe)
        if context.machine.topology.parts and "begun" not in self._table:
            # A machine without hardware has empty databases, without any subscription.
            self._table["begun"] = True
            context.scheduler.after(0.0, "hmnfd.subscribe", _OWN_SUBSCRIPTION)

    def extend(self, subscription: Json) -> None:
        """Subscribe with HSM to the changes of a new subscription that HSM does not send yet."""
        self._subscribe({name: subscription[name] for name in _OWN_SUBSCRIPTION})

    def restarted(self) -> None:
        self._table.pop("known", None)
        self._subscribe(_OWN_SUBSCRIPTION)

    def status(self) -> str:
        subscription = self._table.get("stored")
        return f"HSM Subscription: {marshal(subscription)}" if subscription else "HSM Subscription key not present"

    def _subscribe(self, subscription: Json) -> None:
        current = self._table.get("known", {"Enabled": False} | {name: [] for name in _FIELD_OF_KEY})
        extended: dict[str, Json] = {
            name: _union(current[name], subscription[field] or ()) for name, field in _FIELD_OF_KEY.items()
        }
        extended["Enabled"] = current["Enabled"] or subscription["Enabled"] is True
        if extended == current:
            return
        if self._send(subscription):
            self._table["known"] = extended
            self._table["stored"] = {name: value for name, value in extended.items() if value}
            return
        # HMNFD takes the lists as subscribed although HSM refused, so only ``Enabled`` causes a retry.
        self._table["known"] = extended | {"Enabled": current["Enabled"]}
        if subscription["Enabled"] is True and not current["Enabled"]:
            self._context.scheduler.after(RETRY_DELAY, "hmnfd.subscribe", subscription)

    def _send(self, subscription: Json) -> bool:
        if self._params.number("Nosm"):
            return True
        number = self._table.get("number", 0) + 1
        self._table["number"] = number
        body = {name: value for name, value in subscription.items() if value is not None and value != []}
        body |= {"Subscriber": f"{self._host()}_{number}", "Url": self._params.text("Scn_in_url")}
        return self._hsm.subscribe(body).status in (200, 202, 204)

    def _host(self) -> str:
        return f"cray-hmnfd-{self._context.random.hex(9, 'hmnfd')}-{self._context.random.hex(5, 'hmnfd', 'pod')}"


def _union(current: Iterable[str], additional: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*current, *(value.lower() for value in additional)]))
