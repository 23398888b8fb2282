"""Events: what the cluster says of its objects. They are kept for an hour, and not without end."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from csm_emulator.context import Context
from csm_emulator.services.kubernetes.kinds.kinds import EVENTS, Json
from csm_emulator.services.kubernetes.reads.ages import moment_of
from csm_emulator.services.kubernetes.storage.objects import Kept, Objects
from csm_emulator.services.kubernetes.storage.table import Store

KEPT_FOR = 3600.0
"""As ``--event-ttl`` of the API server says where nobody says anything else."""
MOST = 1000
_NANO = 10**9
NORMAL, WARNING = "Normal", "Warning"


class Events:
    """A source of objects."""

    def __init__(self, context: Context, store: Store) -> None:
        self._clock = context.clock
        self._kept = Kept(store, EVENTS.place)
        metas = [each["metadata"] for each in store.list(EVENTS.place)]
        self._order = deque(
            (moment_of(meta["creationTimestamp"]), meta["namespace"], meta["name"])
            for meta in sorted(metas, key=lambda meta: int(meta["resourceVersion"]))
        )

    def get(self, namespace: str, name: str) -> Json:
        self._forget()
        return self._kept.get(namespace, name)

    def list(self, namespace: str) -> list[Json]:
        self._forget()
        return self._kept.list(namespace)

    def put(self, value: Json) -> Json:
        meta = value["metadata"]
        if self._kept.get(meta["namespace"], meta["name"]) is None:
            self._order.append((self._clock.now(), meta["namespace"], meta["name"]))
        kept = self._kept.put(value)
        self._forget()
        return kept

    def remove(self, namespace: str, name: str) -> Json:
        return self._kept.remove(namespace, name)

    def _forget(self) -> None:
        oldest = self._clock.now() - KEPT_FOR
        while self._order and (len(self._order) > MOST or self._order[0][0] < oldest):
            _, namespace, name = self._order.popleft()
            if self._kept.get(namespace, name) is not None:
                self._kept.remove(namespace, name)


@dataclass(frozen=True, slots=True)
class Teller:
    """Who says something: a controller, or the kubelet of a node."""

    objects: Objects
    component: str

    def tell(self, about: Json, reason: str, message: str, kind: str = NORMAL, host: str = "") -> None:
        """``about`` is the ``involvedObject``."""
        now = self.objects.now()
        # Names go up with time, as those of Kubernetes' own recorder, and so a list is in the order of what happened.
        tail = int(self.objects.context.clock.now()) * _NANO + self.objects.store.version % _NANO
        source = {"component": self.component, **({"host": host} if host else {})}
        self.objects.create(
            EVENTS,
            {
                "kind": "Event",
                "apiVersion": "v1",
                "metadata": {"name": f"{about['name']}.{tail:x}", "namespace": about["namespace"]},
                "involvedObject": about,
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
