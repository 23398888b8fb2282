"""State changes: HMNFD collects those of HSM in a batch, and sends the batch to the subscribers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypedDict

from csm_emulator.clients.hsm import HsmClient
from csm_emulator.context import Context
from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import BOOL, STRING, STRINGS, pointer_to, struct
from csm_emulator.dialects.hms.responses import problem
from csm_emulator.records import Json, Record
from csm_emulator.services.hmnfd.parameters import Params
from csm_emulator.services.hmnfd.subscription import Subscription, subscriber_of, xname_of
from csm_emulator.state.clock import next_tick, rfc3339
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply

PRUNE_INTERVAL = 10
_ATTRIBUTES = ("Role", "SubRole", "State", "SoftwareStatus")
_BATCH_FIELDS = ("State", "Flag", "SoftwareStatus", "Role")
_SENT_FIELDS = ("Components", "Enabled", "Role", "SubRole", "SoftwareStatus", "State", "Timestamp")
"""The fields that subscribers get; not the flag."""
_UNAVAILABLE = ("empty", "off", "halt")
_NODE = re.compile("x.*b[0-9]+n[0-9]+")
_SCN = struct(
    "main.Scn",
    {
        "Components": STRINGS,
        "Enabled": pointer_to(BOOL),
        **dict.fromkeys(("Flag", "Role", "SubRole", "SoftwareStatus", "State", "Timestamp"), STRING),
    },
)


class Batch(TypedDict):
    """State changes that are sent together."""

    scn: Record
    count: int
    """How many were joined."""


class Fanout:
    """The real HMNFD has ``batch``, ``pruned`` and ``timers`` in memory; here they are tables, to survive a restart."""

    def __init__(self, context: Context, params: Params, subscriptions: RecordTable[Subscription]) -> None:
        self._context = context
        self._hsm = HsmClient(context.mesh)
        self._params = params
        self._subscriptions = subscriptions
        self._batch: RecordTable[Batch] = context.tables.open("hmnfd.batch")
        self._pruned: RecordTable[bool] = context.tables.open("hmnfd.pruned")
        self._timers: RecordTable[float] = context.tables.open("hmnfd.timers")
        context.scheduler.register("hmnfd.flush", self._flush_in_time)
        context.scheduler.register("hmnfd.prune", self._prune_in_time)

    @property
    def waiting_to_be_pruned(self) -> int:
        return len(self._pruned)

    def receive(self, call: Call) -> Reply:
        try:
            scn = decode(call.body, _SCN)
        except DecodeError:
            return problem(500, "Internal Server Error", "Error unmarshalling SCN JSON", "/scn")
        batch = self._batch.get("batch")
        if batch is None or not batch["scn"]["Components"]:
            self._store_batch(scn, 1)
        elif _can_join(scn, batch["scn"]):
            self._append_to_batch(scn, batch)
        else:
            self._flush()
            # The real HMNFD decodes the change over the last batch, whose Enabled stays if the change has none.
            enabled = batch["scn"]["Enabled"] if scn["Enabled"] is None else scn["Enabled"]
            self._store_batch({**scn, "Enabled": enabled}, 1)
        return Reply(200)

    def remove_subscriber(self, subscriber: str) -> None:
        """Send it nothing from now on, and remove its subscriptions at the next prune."""
        self._pruned[subscriber] = True
        self._start_timer("prune", PRUNE_INTERVAL)

    def restarted(self) -> None:
        """A restart empties the memory, and removes the subscriptions of nodes that are down in HSM."""
        self._batch.clear()
        self._pruned.clear()
        response = self._hsm.components("type=Node&state=Off&state=Empty&state=Halt&stateonly=true")
        down = {component["ID"] for component in response.value()} if response.ok else set()
        for xname in sorted({xname_of(key) for key in self._subscriptions} & down):
            self.remove_subscriber(xname)

    def _store_batch(self, scn: Json, count: int) -> None:
        self._batch["batch"] = {"scn": {**scn, "Components": scn["Components"] or []}, "count": count}
        self._start_timer("flush", max(1, self._params.number("Scn_cache_delay")))

    def _append_to_batch(self, scn: Json, batch: Batch) -> None:
        components = [*batch["scn"]["Components"], *(scn["Components"] or ())]
        self._store_batch({**batch["scn"], "Components": components}, batch["count"] + 1)
        if batch["count"] + 1 >= self._params.number("Scn_max_cache"):
            self._flush()

    def _start_timer(self, timer: str, every: int) -> None:
        if timer in self._timers:
            return
        self._timers[timer] = next_tick(self._context.clock.now(), every)
        self._context.scheduler.at(self._timers[timer], f"hmnfd.{timer}")

    def _flush_in_time(self) -> None:
        self._timers.pop("flush", None)
        self._flush()

    def _flush(self) -> None:
        batch = self._batch.pop("batch", None)
        if batch is not None and batch["scn"]["Components"]:
            self._send({**batch["scn"], "Timestamp": rfc3339(self._context.clock.now(), 9)})

    def _send(self, scn: Json) -> None:
        components = [name.lower() for name in scn["Components"]]
        if _is_unavailable(scn):
            for name in components:
                self.remove_subscriber(name)
        attributes = ["enbl"] if scn["Enabled"] is not None else []
        attributes += [scn[name].lower() for name in _ATTRIBUTES if scn[name]]
        for key in sorted(self._subscriptions):
            if xname_of(key) not in self._pruned and any(attribute in key for attribute in attributes):
                self._send_to(self._subscriptions[key], scn, components)

    def _send_to(self, subscription: Subscription, scn: Json, components: Sequence[str]) -> None:
        common = _common(subscription["ScnNodes"] or (), components)
        if common and subscription["Url"]:
            body = {**scn, "Components": common}
            self._context.post(
                subscription["Url"], {name: body[name] for name in _SENT_FIELDS if body[name] not in (None, "")}
            )

    def _prune_in_time(self) -> None:
        self._timers.pop("prune", None)
        for key in list(self._subscriptions):
            if xname_of(key) in self._pruned or subscriber_of(key) in self._pruned:
                del self._subscriptions[key]
        self._pruned.clear()


def _can_join(scn: Json, batch_scn: Json) -> bool:
    return all(scn[name] == batch_scn[name] for name in _BATCH_FIELDS) and bool(scn["Enabled"]) == bool(
        batch_scn["Enabled"]
    )


def _is_unavailable(scn: Mapping[str, Json]) -> bool:
    return scn["State"].lower() in _UNAVAILABLE or scn["Enabled"] is False


def _common(subscribed: Sequence[str], components: Sequence[str]) -> list[str]:
    """The components that are subscribed to, each once. The first subscribed name may be ``all`` or ``allnodes``."""
    if subscribed and subscribed[0] == "all":
        return list(components)
    if subscribed and subscribed[0] == "allnodes":
        return [name for name in components if _NODE.fullmatch(name)]
    names = set(subscribed)
    return [name for name in dict.fromkeys(components) if name in names]
