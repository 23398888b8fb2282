"""All objects, wherever they are kept, and who hears when one changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from csm_emulator.context import Context
from csm_emulator.services.kubernetes.kinds.kinds import NAMESPACES, PODS, Json, Kind
from csm_emulator.services.kubernetes.kinds.registry import Registry
from csm_emulator.services.kubernetes.storage.table import Store
from csm_emulator.state.clock import rfc3339

Listener = Callable[[Kind, Json, Json], None]
"""(kind, before, after): None before it was made, None after it went."""


class Source(Protocol):
    """Where objects of one kind are."""

    def get(self, namespace: str, name: str) -> Json: ...

    def list(self, namespace: str) -> list[Json]: ...

    def put(self, value: Json) -> Json: ...

    def remove(self, namespace: str, name: str) -> Json: ...


class Kept:
    """In the store, as nearly all are."""

    def __init__(self, store: Store, place: str) -> None:
        self._store = store
        self._place = place

    def get(self, namespace: str, name: str) -> Json:
        return self._store.get(self._place, namespace, name)

    def list(self, namespace: str) -> list[Json]:
        return self._store.list(self._place, namespace)

    def put(self, value: Json) -> Json:
        return self._store.put(self._place, value)

    def remove(self, namespace: str, name: str) -> Json:
        return self._store.remove(self._place, namespace, name)


class Objects:
    def __init__(self, context: Context, store: Store, registry: Registry) -> None:
        self.context = context
        self.store = store
        self.registry = registry
        self.special: dict[str, Source] = {}
        """By place, for kinds that are kept elsewhere."""
        self.listeners: list[Listener] = []
        self.refresh: Callable[[], None] = lambda: None
        """Called before a client sees anything: what happens by schedule is made up for."""

    def source(self, kind: Kind) -> Source:
        return self.special.get(kind.place) or Kept(self.store, kind.place)

    def get(self, kind: Kind, namespace: str, name: str) -> Json:
        return self.source(kind).get(namespace, name)

    def list(self, kind: Kind, namespace: str = "") -> list[Json]:
        return self.source(kind).list(namespace)

    def put(self, kind: Kind, value: Json) -> Json:
        """What is kept. An object that is being deleted and has no finalizers any more goes."""
        meta = value["metadata"]
        source = self.source(kind)
        before = source.get(meta.get("namespace", ""), meta["name"])
        kept = source.put(value)
        self._tell(kind, before, kept)
        there = source.get(meta.get("namespace", ""), meta["name"])
        if there is None:
            return kept
        if self._is_done(kind, there["metadata"]):
            self.remove(kind, meta.get("namespace", ""), meta["name"])
        return there

    def _is_done(self, kind: Kind, meta: Json) -> bool:
        """Pods go when their containers have ended, namespaces when they are empty."""
        held = meta.get("finalizers") or kind in (NAMESPACES, PODS)
        return bool(meta.get("deletionTimestamp")) and not held

    def create(self, kind: Kind, value: Json) -> Json:
        """For what the cluster itself makes: name, namespace and content are given; nothing when it is there."""
        meta = value["metadata"]
        there = self.get(kind, meta.get("namespace", ""), meta["name"])
        return there if there is not None else self.put(kind, self.new(kind, value))

    def new(self, kind: Kind, value: Json) -> Json:
        """With everything that every object has."""
        meta = value["metadata"]
        made = {
            "name": meta["name"],
            **({"namespace": meta["namespace"]} if meta.get("namespace") else {}),
            "uid": self.store.new_uid(kind.place, meta["name"]),
            "creationTimestamp": self.now(),
        }
        counted = {"generation": 1} if "spec" in value else {}
        return {**value, "metadata": {**meta, **made, **counted}}

    def remove(self, kind: Kind, namespace: str, name: str) -> Json:
        source = self.source(kind)
        before = source.get(namespace, name)
        gone = source.remove(namespace, name)
        self._tell(kind, before, None)
        return gone

    def namespace(self, name: str) -> Json:
        return self.store.get(NAMESPACES.place, "", name)

    def now(self) -> str:
        return rfc3339(self.context.clock.now(), 0)

    def _tell(self, kind: Kind, before: Json, after: Json) -> None:
        for listener in self.listeners:
            listener(kind, before, after)
