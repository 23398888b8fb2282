"""The catalogue of buckets and objects; the records name the blobs that hold the bytes."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping

from csm_emulator.services.s3.blobs import BlobStore
from csm_emulator.services.s3.records import BucketRecord, ObjectRecord
from csm_emulator.state.tables import RecordTables


class Catalogue:
    def __init__(
        self,
        tables: RecordTables,
        store: BlobStore,
        buckets: Mapping[str, BucketRecord],
        objects: Mapping[tuple[str, str], ObjectRecord],
    ) -> None:
        self._store = store
        self._buckets = tables.open("s3.buckets", buckets)
        self._objects = tables.open(
            "s3.objects", {_place(*bucket_and_key): record for bucket_and_key, record in objects.items()}
        )
        self._names: dict[str, list[str]] = {name: [] for name in self._buckets}
        for place in self._objects:
            bucket, _, key = place.partition("/")
            self._names[bucket].append(key)
        for names in self._names.values():
            names.sort()

    def buckets(self) -> Iterator[tuple[str, BucketRecord]]:
        return iter(sorted(self._buckets.items()))

    def bucket(self, name: str) -> BucketRecord | None:
        return self._buckets.get(name)

    def set_bucket(self, name: str, record: BucketRecord) -> None:
        self._buckets[name] = record
        self._names.setdefault(name, [])

    def drop_bucket(self, name: str) -> None:
        """Remove an empty bucket."""
        del self._buckets[name], self._names[name]

    def keys(self, bucket: str) -> list[str]:
        """The keys in order; callers must not change the list."""
        return self._names[bucket]

    def get(self, bucket: str, key: str) -> ObjectRecord | None:
        return self._objects.get(_place(bucket, key))

    def put(self, bucket: str, key: str, record: ObjectRecord) -> None:
        """Store the record; the blobs of the previous one are dropped."""
        previous = self.get(bucket, key)
        self._objects[_place(bucket, key)] = record
        if previous is None:
            insort(self._names[bucket], key)
        else:
            kept_blobs = {name for name, _ in record["parts"]}
            self._store.drop(name for name, _ in previous["parts"] if name not in kept_blobs)

    def delete(self, bucket: str, key: str) -> bool:
        record = self.get(bucket, key)
        if record is None:
            return False
        del self._objects[_place(bucket, key)]
        names = self._names[bucket]
        del names[bisect_left(names, key)]
        self._store.drop(name for name, _ in record["parts"])
        return True


def _place(bucket: str, key: str) -> str:
    return f"{bucket}/{key}"
