"""The stored objects, as in etcd, and the one version counter for all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import Kind
from csm_emulator.services.kubernetes.storage.history import Change, History
from csm_emulator.state.tables import RecordTable

FIRST_VERSION = 100_000
"""The resource version on the first day: a cluster is never new when clients use it."""


def key_of(storage_key: str, namespace: str, name: str) -> str:
    return f"{storage_key}/{namespace}/{name}"


class ObjectStore:
    def __init__(self, context: Context, seeds: Iterable[tuple[Kind, Json]]) -> None:
        self._context = context
        seeded = {
            key_of(kind.storage_key, seed["metadata"].get("namespace", ""), seed["metadata"]["name"]): seed
            for kind, seed in seeds
        }
        self._table = context.tables.open("kubernetes.objects", seeded)
        self._numbers: RecordTable[int] = context.tables.open("kubernetes.numbers")
        self._keys: defaultdict[str, set[str]] = defaultdict(set)
        self._owned: defaultdict[str, set[str]] = defaultdict(set)
        self.history = History(self.version)
        for key, value in self._table.items():
            self._index(key, value)

    @property
    def version(self) -> int:
        return int(self._numbers.get("version", FIRST_VERSION))

    def first_day(self) -> bool:
        """True at the first call in the life of a machine, False afterwards."""
        first = "begun" not in self._numbers
        self._numbers["begun"] = True
        return first

    def next_version(self) -> int:
        self._numbers["version"] = self.version + 1
        return self.version

    def new_uid(self, *key: object) -> str:
        self._numbers["uid"] = self._numbers.get("uid", 0) + 1
        return self._context.random.uuid("kubernetes.uid", self._numbers["uid"], *key)

    def get(self, storage_key: str, namespace: str, name: str) -> Json:
        """The object; None when it does not exist."""
        return self._table.get(key_of(storage_key, namespace, name))

    def list(self, storage_key: str, namespace: str = "") -> list[Json]:
        """The objects in the order of etcd, of one namespace or of all."""
        start = f"{storage_key}/{namespace}/" if namespace else ""
        return [self._table[key] for key in sorted(self._keys[storage_key]) if key.startswith(start)]

    def owned(self, uid: str) -> Sequence[tuple[str, Json]]:
        """(storage_key, object) of the objects with this owner."""
        return [(key.rsplit("/", 2)[0], self._table[key]) for key in sorted(self._owned[uid])]

    def put(self, storage_key: str, value: Json) -> Json:
        """Store the object and return it with its new version."""
        meta = value["metadata"]
        key = key_of(storage_key, meta.get("namespace", ""), meta["name"])
        previous = self._table.get(key)
        versioned = with_version(value, self.next_version())
        if previous is not None:
            self._unindex(key, previous)
        self._table[key] = versioned
        self._index(key, versioned)
        self.note(storage_key, "ADDED" if previous is None else "MODIFIED", versioned, previous)
        return versioned

    def remove(self, storage_key: str, namespace: str, name: str) -> Json:
        key = key_of(storage_key, namespace, name)
        previous = self._table.pop(key)
        self._unindex(key, previous)
        removed = with_version(previous, self.next_version())
        self.note(storage_key, "DELETED", removed, previous)
        return removed

    def note(self, storage_key: str, kind: str, value: Json, previous: Json) -> None:
        """Add a change to the history, for watchers; also for kinds that are not in this store."""
        self.history.add(Change(int(value["metadata"]["resourceVersion"]), storage_key, kind, value, previous))

    def _index(self, key: str, value: Json) -> None:
        self._keys[key.rsplit("/", 2)[0]].add(key)
        for owner in value["metadata"].get("ownerReferences") or ():
            self._owned[owner["uid"]].add(key)

    def _unindex(self, key: str, value: Json) -> None:
        self._keys[key.rsplit("/", 2)[0]].discard(key)
        for owner in value["metadata"].get("ownerReferences") or ():
            self._owned[owner["uid"]].discard(key)
            if not self._owned[owner["uid"]]:
                del self._owned[owner["uid"]]


def with_version(value: Json, version: int) -> Json:
    return {**value, "metadata": {**value["metadata"], "resourceVersion": str(version)}}
