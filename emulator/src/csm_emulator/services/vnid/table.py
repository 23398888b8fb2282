"""The table of reserved VNIs. Ranges of partitions never overlap, so that a VNI has one owner in the fabric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import quote

from csm_emulator.records import Json, Record
from csm_emulator.services.vnid.problems import RequestRejected
from csm_emulator.state.tables import RecordTable, RecordTables

LOWEST, HIGHEST = 1, 65_535
"""VNIs have 16 bits, and 0 is not one."""
Range = tuple[int, int]


class VniTable:
    def __init__(self, tables: RecordTables) -> None:
        self.partitions: RecordTable[Record] = tables.open("vnid.partitions")
        """Name → description, first, last, and ``next``, where the next search begins."""
        self.pools: RecordTable[Record] = tables.open("vnid.pools")
        self.jobs: RecordTable[Record] = tables.open("vnid.jobs")
        """Pools and jobs by ``<partition>/<name>``; no name has a slash."""
        self._vnis: RecordTable[Record] = tables.open("vnid.vnis")
        self._vnis_of_partition: dict[str, dict[int, None]] = {name: {} for name in self.partitions}
        """Partition → its reserved VNIs, in the order of reservation."""
        for vni, record in self._vnis.items():
            self._vnis_of_partition[record["partition"]][int(vni)] = None

    def partition(self, name: str) -> Json:
        if name not in self.partitions:
            raise RequestRejected(404, f"Partition {name} not found")
        return self.partitions[name]

    def open_partition(self, name: str, record: Json) -> None:
        self.partitions[name] = record
        self._vnis_of_partition[name] = {}

    def close_partition(self, name: str) -> None:
        self.clear(name)
        for table in (self.pools, self.jobs):
            for key in [key for key in table if key.startswith(f"{name}/")]:
                del table[key]
        del self.partitions[name]
        del self._vnis_of_partition[name]

    def clear(self, partition: str) -> None:
        """Release all VNIs of the partition."""
        for vni in list(self._vnis_of_partition[partition]):
            self.release(vni)

    def names(self, table: RecordTable[Record], partition: str) -> list[str]:
        """The names of the pools or jobs of a partition."""
        return [key.removeprefix(f"{partition}/") for key in table if key.startswith(f"{partition}/")]

    def vnis(self, partition: str) -> list[int]:
        return list(self._vnis_of_partition[partition])

    def vni(self, partition: str, vni: int) -> Json:
        if vni not in self._vnis_of_partition[partition]:
            raise RequestRejected(404, f"VNI {vni} not found in partition {partition}")
        return self._vnis[str(vni)]

    def count_between(self, partition: str, span: Range) -> int:
        low, high = span
        return sum(low <= vni <= high for vni in self._vnis_of_partition[partition])

    def find(self, vnis: Iterable[int], facts: Mapping[str, Json]) -> int | None:
        """The first of them that was reserved with these fields."""
        return next((vni for vni in vnis if facts.items() <= self._vnis[str(vni)].items()), None)

    def free(self, partition: str, pool: str | None, count: int) -> list[int]:
        """``count`` free VNIs, searched from the last reserved one on, so that a released VNI is reused late.

        VNIs of pools are only for requests that name the pool.
        """
        record = self.partitions[partition]
        reserved, pools = self._vnis_of_partition[partition], self._pool_ranges(partition)
        low, high = (record["first"], record["last"]) if pool is None else pools[pool]
        other_ranges = [span for name, span in pools.items() if name != pool]
        start = max(record["next"], low) if record["next"] <= high else low
        vnis: list[int] = []
        for vni in (*range(start, high + 1), *range(low, start)):
            if vni not in reserved and not any(first <= vni <= last for first, last in other_ranges):
                vnis.append(vni)
                if len(vnis) == count:
                    return vnis
        where = f"partition {partition}" if pool is None else f"pool {pool}"
        raise RequestRejected(409, f"Not enough VNIs available in {where}")

    def reserve(self, vni: int, record: Json) -> None:
        partition = record["partition"]
        self._vnis[str(vni)] = record
        self._vnis_of_partition[partition][vni] = None
        self.partitions[partition] = {**self.partitions[partition], "next": vni + 1}

    def release(self, vni: int) -> None:
        partition = self._vnis.pop(str(vni))["partition"]
        del self._vnis_of_partition[partition][vni]

    def _pool_ranges(self, partition: str) -> dict[str, Range]:
        names = self.names(self.pools, partition)
        records = {name: self.pools[f"{partition}/{name}"] for name in names}
        return {name: (record["first"], record["last"]) for name, record in records.items()}


def check_range(first: int, last: int) -> None:
    if not LOWEST <= first <= last <= HIGHEST:
        raise RequestRejected(400, f"Invalid VNI range {first}-{last}")


def find_overlapping(span: Range, records: Iterable[tuple[str, Json]]) -> str | None:
    """The name of a record whose range overlaps this one; None without one."""
    low, high = span
    return next((name for name, record in records if record["first"] <= high and low <= record["last"]), None)


def link(partition: str, *steps: str) -> str:
    return "/".join(("/fabric/vnis", *(quote(step, safe="") for step in (partition, *steps))))


def links_to_vnis(partition: str, vnis: Iterable[int]) -> list[str]:
    return [link(partition, "vnis", str(vni)) for vni in vnis]
