"""Partitions, and the pools inside of them."""

from __future__ import annotations

from csm_emulator.records import Json
from csm_emulator.services.vnid.jobs import Jobs
from csm_emulator.services.vnid.problems import Refusal, check_name, read
from csm_emulator.services.vnid.table import Book, check_range, link, overlapping
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

_PARTITION = {"partitionName": str, "description": str, "vniFirst": int, "vniLast": int}
_POOL = {"name": str, "vniFirst": int, "vniLast": int, "poolType": str}
NEW_EACH_TIME, ONE_PER_STEP, ONE_PER_JOB = "applications", "job-steps", "jobs"
_TYPES = (NEW_EACH_TIME, ONE_PER_STEP, ONE_PER_JOB)


class Partitions:
    def __init__(self, book: Book, jobs: Jobs) -> None:
        self._book = book
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
        return json_reply({"documentSelfLinks": [link(name) for name in self._book.partitions]})

    def create(self, call: Call) -> Reply:
        said = read(call, _PARTITION, "partitionName description vniFirst vniLast")
        name, first, last = said["partitionName"], said["vniFirst"], said["vniLast"]
        check_name(name, "partition name")
        check_range(first, last)
        if name in self._book.partitions:
            raise Refusal(409, f"Partition {name} already exists")
        other = overlapping((first, last), self._book.partitions.items())
        if other is not None:
            raise Refusal(409, f"VNI range {first}-{last} overlaps partition {other}")
        record = {"description": said["description"], "first": first, "last": last, "next": first}
        self._book.open_partition(name, record)
        return json_reply(_shown(name, record))

    def partition(self, call: Call) -> Reply:
        name = call.args["partition"]
        return json_reply(_shown(name, self._book.partition(name)))

    def delete(self, call: Call) -> Reply:
        name = call.args["partition"]
        self._book.partition(name)
        for job in self._book.names(self._book.jobs, name):
            self._jobs.end_multicast(name, job)
        self._book.close_partition(name)
        return json_reply({})

    def pools(self, call: Call) -> Reply:
        partition = call.args["partition"]
        self._book.partition(partition)
        names = self._book.names(self._book.pools, partition)
        return json_reply({"documentSelfLinks": [link(partition, "pools", name) for name in names]})

    def create_pool(self, call: Call) -> Reply:
        partition = call.args["partition"]
        around = self._book.partition(partition)
        said = read(call, _POOL, "name vniFirst vniLast")
        name, first, last = said["name"], said["vniFirst"], said["vniLast"]
        kind = said.get("poolType", NEW_EACH_TIME)
        check_name(name, "pool name")
        check_range(first, last)
        if kind not in _TYPES:
            raise Refusal(400, f"Invalid poolType {kind!r}")
        if not around["first"] <= first <= last <= around["last"]:
            raise Refusal(400, f"VNI range {first}-{last} is outside partition {partition}")
        self._check_room(partition, name, first, last)
        record = {"first": first, "last": last, "type": kind}
        self._book.pools[f"{partition}/{name}"] = record
        return json_reply(self._shown_pool(partition, name, record))

    def _check_room(self, partition: str, name: str, first: int, last: int) -> None:
        known = [
            (each, self._book.pools[f"{partition}/{each}"]) for each in self._book.names(self._book.pools, partition)
        ]
        if any(each == name for each, _ in known):
            raise Refusal(409, f"Pool {name} already exists")
        other = overlapping((first, last), known)
        if other is not None:
            raise Refusal(409, f"VNI range {first}-{last} overlaps pool {other}")
        if self._book.taken_between(partition, (first, last)):
            raise Refusal(409, f"VNIs in range {first}-{last} are in use")

    def pool(self, call: Call) -> Reply:
        partition, name, record = self._pool(call)
        return json_reply(self._shown_pool(partition, name, record))

    def delete_pool(self, call: Call) -> Reply:
        partition, name, record = self._pool(call)
        if self._book.taken_between(partition, (record["first"], record["last"])):
            raise Refusal(409, f"VNIs in pool {name} are in use")
        del self._book.pools[f"{partition}/{name}"]
        return json_reply({})

    def _pool(self, call: Call) -> tuple[str, str, Json]:
        partition, name = call.args["partition"], call.args["pool"]
        self._book.partition(partition)
        record = self._book.pools.get(f"{partition}/{name}")
        if record is None:
            raise Refusal(404, f"Pool {name} not found in partition {partition}")
        return partition, name, record

    def _shown_pool(self, partition: str, name: str, record: Json) -> Json:
        first, last = record["first"], record["last"]
        return {
            "name": name,
            "vniFirst": first,
            "vniLast": last,
            "unreserved": last - first + 1 - self._book.taken_between(partition, (first, last)),
            "poolType": record["type"],
        }


def _shown(name: str, record: Json) -> Json:
    return {
        "partitionName": name,
        "description": record["description"],
        "vniFirst": record["first"],
        "vniLast": record["last"],
        "vniLimit": record["last"] - record["first"] + 1,
        "vniLink": link(name, "vnis"),
        "documentSelfLink": link(name),
    }
