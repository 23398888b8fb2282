"""Partitions, and the pools inside them."""

from __future__ import annotations

from csm_emulator.records import Json
from csm_emulator.services.vnid.jobs import Jobs
from csm_emulator.services.vnid.problems import RequestRejected, check_name, read_fields
from csm_emulator.services.vnid.table import VniTable, check_range, find_overlapping, link
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

_PARTITION = {"partitionName": str, "description": str, "vniFirst": int, "vniLast": int}
_POOL = {"name": str, "vniFirst": int, "vniLast": int, "poolType": str}
NEW_EACH_TIME, ONE_PER_STEP, ONE_PER_JOB = "applications", "job-steps", "jobs"
_TYPES = (NEW_EACH_TIME, ONE_PER_STEP, ONE_PER_JOB)


class Partitions:
    def __init__(self, vni_table: VniTable, jobs: Jobs) -> None:
        self._vni_table = vni_table
        self._jobs = jobs

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/fabric/vnis", self.partitions),
            Route("POST", "/fabric/vnis", self.create),
            Route("GET", "/fabric/vnis/{partition}", self.partition),
            Route("DELETE", "/fabric/vnis/{partition}", self.delete),
            Route("GET", "/fabric/vnis/{partition}/pools", self.pools),
            Route("POST", "/fabric/vnis/{partition}/pools", self.create_pool),
            Route("GET", "/fabric/vnis/{partition}/pools/{pool}", self.pool),
            Route("DELETE", "/fabric/vnis/{partition}/pools/{pool}", self.delete_pool),
        ]

    def partitions(self, _: Call) -> Reply:
        return json_reply({"documentSelfLinks": [link(name) for name in self._vni_table.partitions]})

    def create(self, call: Call) -> Reply:
        fields = read_fields(call, _PARTITION, "partitionName description vniFirst vniLast")
        name, first, last = fields["partitionName"], fields["vniFirst"], fields["vniLast"]
        check_name(name, "partition name")
        check_range(first, last)
        if name in self._vni_table.partitions:
            raise RequestRejected(409, f"Partition {name} already exists")
        overlapping_name = find_overlapping((first, last), self._vni_table.partitions.items())
        if overlapping_name is not None:
            raise RequestRejected(409, f"VNI range {first}-{last} overlaps partition {overlapping_name}")
        record = {"description": fields["description"], "first": first, "last": last, "next": first}
        self._vni_table.open_partition(name, record)
        return json_reply(_document(name, record))

    def partition(self, call: Call) -> Reply:
        name = call.args["partition"]
        return json_reply(_document(name, self._vni_table.partition(name)))

    def delete(self, call: Call) -> Reply:
        name = call.args["partition"]
        self._vni_table.partition(name)
        for job in self._vni_table.names(self._vni_table.jobs, name):
            self._jobs.end_multicast(name, job)
        self._vni_table.close_partition(name)
        return json_reply({})

    def pools(self, call: Call) -> Reply:
        partition = call.args["partition"]
        self._vni_table.partition(partition)
        names = self._vni_table.names(self._vni_table.pools, partition)
        return json_reply({"documentSelfLinks": [link(partition, "pools", name) for name in names]})

    def create_pool(self, call: Call) -> Reply:
        partition = call.args["partition"]
        partition_record = self._vni_table.partition(partition)
        fields = read_fields(call, _POOL, "name vniFirst vniLast")
        name, first, last = fields["name"], fields["vniFirst"], fields["vniLast"]
        kind = fields.get("poolType", NEW_EACH_TIME)
        check_name(name, "pool name")
        check_range(first, last)
        if kind not in _TYPES:
            raise RequestRejected(400, f"Invalid poolType {kind!r}")
        if not partition_record["first"] <= first <= last <= partition_record["last"]:
            raise RequestRejected(400, f"VNI range {first}-{last} is outside partition {partition}")
        self._check_free(partition, name, first, last)
        record = {"first": first, "last": last, "type": kind}
        self._vni_table.pools[f"{partition}/{name}"] = record
        return json_reply(self._pool_document(partition, name, record))

    def _check_free(self, partition: str, name: str, first: int, last: int) -> None:
        pools = [
            (pool_name, self._vni_table.pools[f"{partition}/{pool_name}"])
            for pool_name in self._vni_table.names(self._vni_table.pools, partition)
        ]
        if any(pool_name == name for pool_name, _ in pools):
            raise RequestRejected(409, f"Pool {name} already exists")
        overlapping_name = find_overlapping((first, last), pools)
        if overlapping_name is not None:
            raise RequestRejected(409, f"VNI range {first}-{last} overlaps pool {overlapping_name}")
        if self._vni_table.count_between(partition, (first, last)):
            raise RequestRejected(409, f"VNIs in range {first}-{last} are in use")

    def pool(self, call: Call) -> Reply:
        partition, name, record = self._pool(call)
        return json_reply(self._pool_document(partition, name, record))

    def delete_pool(self, call: Call) -> Reply:
        partition, name, record = self._pool(call)
        if self._vni_table.count_between(partition, (record["first"], record["last"])):
            raise RequestRejected(409, f"VNIs in pool {name} are in use")
        del self._vni_table.pools[f"{partition}/{name}"]
        return json_reply({})

    def _pool(self, call: Call) -> tuple[str, str, Json]:
        partition, name = call.args["partition"], call.args["pool"]
        self._vni_table.partition(partition)
        record = self._vni_table.pools.get(f"{partition}/{name}")
        if record is None:
            raise RequestRejected(404, f"Pool {name} not found in partition {partition}")
        return partition, name, record

    def _pool_document(self, partition: str, name: str, record: Json) -> Json:
        first, last = record["first"], record["last"]
        return {
            "name": name,
            "vniFirst": first,
            "vniLast": last,
            "unreserved": last - first + 1 - self._vni_table.count_between(partition, (first, last)),
            "poolType": record["type"],
        }


def _document(name: str, record: Json) -> Json:
    return {
        "partitionName": name,
        "description": record["description"],
        "vniFirst": record["first"],
        "vniLast": record["last"],
        "vniLimit": record["last"] - record["first"] + 1,
        "vniLink": link(name, "vnis"),
        "documentSelfLink": link(name),
    }
