"""Events about objects. They are stored for an hour, and at most ``MOST_EVENTS`` of them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import EVENTS
from csm_emulator.services.kubernetes.reads.ages import moment_of
from csm_emulator.services.kubernetes.storage.object_store import ObjectStore
from csm_emulator.services.kubernetes.storage.objects import Objects, StoreSource

RETENTION = 3600.0
"""Seconds: the default of the API server's ``--event-ttl``."""
MOST_EVENTS = 1000
_NANO = 10**9
NORMAL, WARNING = "Normal", "Warning"


class Events:
    """The source of Event objects."""

    def __init__(self, context: Context, store: ObjectStore) -> None:
        self._clock = context.clock
        self._source = StoreSource(store, EVENTS.storage_key)
        metas = [event["metadata"] for event in store.list(EVENTS.storage_key)]
        self._order = deque(
            (moment_of(meta["creationTimestamp"]), meta["namespace"], meta["name"])
            for meta in sorted(metas, key=lambda meta: int(meta["resourceVersion"]))
        )

    def get(self, namespace: str, name: str) -> Json:
        self._drop_old()
        return self._source.get(namespace, name)

    def list(self, namespace: str) -> list[Json]:
        self._drop_old()
        return self._source.list(namespace)

    def put(self, value: Json) -> Json:
        meta = value["metadata"]
        if self._source.get(meta["namespace"], meta["name"]) is None:
            self._order.append((self._clock.now(), meta["namespace"], meta["name"]))
        result = self._source.put(value)
        self._drop_old()
        return result

    def remove(self, namespace: str, name: str) -> Json:
        return self._source.remove(namespace, name)

    def _drop_old(self) -> None:
        oldest = self._clock.now() - RETENTION
        while self._order and (len(self._order) > MOST_EVENTS or self._order[0][0] < oldest):
            _, namespace, name = self._order.popleft()
            if self._source.get(namespace, name) is not None:
                self._source.remove(namespace, name)


@dataclass(frozen=True, slots=True)
class EventRecorder:
    """Records events of one component: a controller, or the kubelet of a node."""

    objects: Objects
    component: str

    def record(self, involved_object: Json, reason: str, message: str, kind: str = NORMAL, host: str = "") -> None:
        """Record an event about this object."""
        now = self.objects.now()
        # Names increase with time, as with Kubernetes' own recorder, and so a list is in the order of time.
        tail = int(self.objects.context.clock.now()) * _NANO + self.objects.store.version % _NANO
        source = {"component": self.component, **({"host": host} if host else {})}
        self.objects.create(
            EVENTS,
            {
                "kind": "Event",
                "apiVersion": "v1",
                "metadata": {"name": f"{involved_object['name']}.{tail:x}", "namespace": involved_object["namespace"]},
                "involvedObject": involved_object,
                "reason": reason,
                "message": message,
                "source": source,
                "firstTimestamp": now,
                "lastTimestamp": now,
                "count": 1,
                "type": kind,
                "eventTime": None,
                "reportingComponent": self.component,
                "reportingInstance": host,
            },
        )
