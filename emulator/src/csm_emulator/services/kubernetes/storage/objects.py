"""All objects, from all sources, and the listeners for their changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import NAMESPACES, PODS, Kind
from csm_emulator.services.kubernetes.kinds.registry import Registry
from csm_emulator.services.kubernetes.storage.object_store import ObjectStore
from csm_emulator.state.clock import rfc3339

Listener = Callable[[Kind, Json, Json], None]
"""(kind, previous, current): ``previous`` is None for a new object, ``current`` for a removed one."""


class Source(Protocol):
    """The storage of the objects of one kind."""

    def get(self, namespace: str, name: str) -> Json: ...

    def list(self, namespace: str) -> list[Json]: ...

    def put(self, value: Json) -> Json: ...

    def remove(self, namespace: str, name: str) -> Json: ...


class StoreSource:
    """Objects in the store, as of most kinds."""

    def __init__(self, store: ObjectStore, storage_key: str) -> None:
        self._store = store
        self._storage_key = storage_key

    def get(self, namespace: str, name: str) -> Json:
        return self._store.get(self._storage_key, namespace, name)

    def list(self, namespace: str) -> list[Json]:
        return self._store.list(self._storage_key, namespace)

    def put(self, value: Json) -> Json:
        return self._store.put(self._storage_key, value)

    def remove(self, namespace: str, name: str) -> Json:
        return self._store.remove(self._storage_key, namespace, name)


class Objects:
    def __init__(self, context: Context, store: ObjectStore, registry: Registry) -> None:
        self.context = context
        self.store = store
        self.registry = registry
        self.special: dict[str, Source] = {}
        """By storage key: the sources of kinds that are not in the store."""
        self.listeners: list[Listener] = []
        self.refresh: Callable[[], None] = lambda: None
        """Called before each request: creates the scheduled Jobs that are due."""

    def source(self, kind: Kind) -> Source:
        return self.special.get(kind.storage_key) or StoreSource(self.store, kind.storage_key)

    def get(self, kind: Kind, namespace: str, name: str) -> Json:
        return self.source(kind).get(namespace, name)

    def list(self, kind: Kind, namespace: str = "") -> list[Json]:
        return self.source(kind).list(namespace)

    def put(self, kind: Kind, value: Json) -> Json:
        """Store the object and return it; a deleted object without finalizers is removed."""
        meta = value["metadata"]
        source = self.source(kind)
        previous = source.get(meta.get("namespace", ""), meta["name"])
        result = source.put(value)
        self._notify(kind, previous, result)
        current = source.get(meta.get("namespace", ""), meta["name"])
        if current is None:
            return result
        if self._is_done(kind, current["metadata"]):
            self.remove(kind, meta.get("namespace", ""), meta["name"])
        return current

    def _is_done(self, kind: Kind, meta: Json) -> bool:
        """Whether a deleted object can be removed; pods wait for their containers, namespaces until they are empty."""
        waits = meta.get("finalizers") or kind in (NAMESPACES, PODS)
        return bool(meta.get("deletionTimestamp")) and not waits

    def create(self, kind: Kind, value: Json) -> Json:
        """Create an object for the cluster itself; an existing one is returned unchanged."""
        meta = value["metadata"]
        existing = self.get(kind, meta.get("namespace", ""), meta["name"])
        return existing if existing is not None else self.put(kind, self.new(kind, value))

    def new(self, kind: Kind, value: Json) -> Json:
        """The object with the metadata that every new object gets."""
        meta = value["metadata"]
        identity = {
            "name": meta["name"],
            **({"namespace": meta["namespace"]} if meta.get("namespace") else {}),
            "uid": self.store.new_uid(kind.storage_key, meta["name"]),
            "creationTimestamp": self.now(),
        }
        generation = {"generation": 1} if "spec" in value else {}
        return {**value, "metadata": {**meta, **identity, **generation}}

    def remove(self, kind: Kind, namespace: str, name: str) -> Json:
        source = self.source(kind)
        previous = source.get(namespace, name)
        removed = source.remove(namespace, name)
        self._notify(kind, previous, None)
        return removed

    def namespace(self, name: str) -> Json:
        return self.store.get(NAMESPACES.storage_key, "", name)

    def now(self) -> str:
        return rfc3339(self.context.clock.now(), 0)

    def _notify(self, kind: Kind, previous: Json, current: Json) -> None:
        for listener in self.listeners:
            listener(kind, previous, current)
