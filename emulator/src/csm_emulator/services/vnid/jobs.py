"""Jobs of workload managers: a VNI between the steps of a job, VNIs of its steps, and multicast addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.vnid.problems import Refusal, check_name, read
from csm_emulator.services.vnid.table import Book, link, links_to_vnis
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

_JOB = {
    "jobID": str,
    "UID": int,
    "trafficClasses": dict,
    "vniLimit": int,
    "vniCount": int,
    "mcastLimit": int,
    "mcastMinNodes": int,
}
CLASSES = {"best_effort": True, "low_latency": True, "bulk_data": False, "dedicated_access": False}
"""What a job may use when nothing is said."""
_COLLECTIVES = "/fabric/collectives/jobs"


class Jobs:
    def __init__(self, context: Context, book: Book) -> None:
        self._mesh = context.mesh
        self._public_addresses = context.public_addresses
        self._book = book

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/fabric/vnis/{partition}/jobs", self.jobs),
            Route("POST", "/fabric/vnis/{partition}/jobs", self.create),
            Route("GET", "/fabric/vnis/{partition}/jobs/{job}", self.job),
            Route("DELETE", "/fabric/vnis/{partition}/jobs/{job}", self.delete),
        ]

    def jobs(self, call: Call) -> Reply:
        partition = call.args["partition"]
        self._book.partition(partition)
        names = self._book.names(self._book.jobs, partition)
        return json_reply({"documentSelfLinks": [link(partition, "jobs", name) for name in names]})

    def create(self, call: Call) -> Reply:
        partition = call.args["partition"]
        around = self._book.partition(partition)
        said = read(call, _JOB, "jobID UID")
        name, count = said["jobID"], said.get("vniCount", 1)
        limit = said.get("vniLimit", around["last"] - around["first"] + 1)
        check_name(name, "job ID")
        _check(said, count, limit)
        if f"{partition}/{name}" in self._book.jobs:
            raise Refusal(409, f"Job {name} already exists in partition {partition}")
        vnis = self._book.free(partition, None, count) if count else []
        record = {
            "uid": said["UID"],
            "classes": _classes(said.get("trafficClasses", {})),
            "limit": limit,
            "vnis": vnis,
            "steps": [],
            "multicast": self._multicast(partition, said),
        }
        for vni in vnis:
            self._book.reserve(vni, _record(partition, name))
        self._book.jobs[f"{partition}/{name}"] = record
        return json_reply(self._shown(partition, name))

    def job(self, call: Call) -> Reply:
        partition, name, _ = self._one(call)
        return json_reply(self._shown(partition, name))

    def delete(self, call: Call) -> Reply:
        partition, name, record = self._one(call)
        for vni in (*record["vnis"], *record["steps"]):
            self._book.release(vni)
        self.end_multicast(partition, name)
        del self._book.jobs[f"{partition}/{name}"]
        return json_reply({})

    def asked(self, partition: str, said: dict[str, Any]) -> str | None:
        """The job that VNIs are wanted for, if it is there and the user's."""
        name = said.get("jobID")
        if name is None:
            return None
        record = self._book.jobs.get(f"{partition}/{name}")
        if record is None:
            raise Refusal(404, f"Job {name} not found in partition {partition}")
        if said.get("UID", record["uid"]) != record["uid"]:
            raise Refusal(403, f"Job {name} does not belong to UID {said['UID']}")
        return str(name)

    def check_limit(self, partition: str, name: str | None, more: int) -> None:
        if name is None:
            return
        record = self._book.jobs[f"{partition}/{name}"]
        if len(record["vnis"]) + len(record["steps"]) + more > record["limit"]:
            raise Refusal(409, f"Job {name} may not reserve more than {record['limit']} VNIs")

    def add_steps(self, partition: str, name: str | None, vnis: Sequence[int]) -> None:
        if name is not None:
            record = self._book.jobs[f"{partition}/{name}"]
            self._book.jobs[f"{partition}/{name}"] = {**record, "steps": [*record["steps"], *vnis]}

    def forget(self, partition: str, name: str | None, vni: int) -> None:
        record = self._book.jobs.get(f"{partition}/{name}")
        if record is not None:
            left = {kind: [each for each in record[kind] if each != vni] for kind in ("vnis", "steps")}
            self._book.jobs[f"{partition}/{name}"] = {**record, **left}

    def shown_to_steps(self, partition: str, name: str | None) -> Json:
        """What a step has to know of its job."""
        if name is None:
            return {}
        record = self._book.jobs[f"{partition}/{name}"]
        between = {"jobVNI": record["vnis"][0]} if record["vnis"] else {}
        token = (record["multicast"] or {}).get("token")
        return {**between, "trafficClasses": record["classes"], "collectivesToken": token}

    def collectives(self, partition: str, name: str | None) -> Json:
        multicast = (self._book.jobs.get(f"{partition}/{name}") or {}).get("multicast")
        if not multicast:
            return {}
        gateway = self._public_addresses.addresses.get("gateway", "https://api-gw-service-nmn.local")
        return {
            "mcastLimit": multicast["limit"],
            "mcastMinNodes": multicast["nodes"],
            "fabricMgrURL": f"{gateway}/apis/fabric-manager/fabric/collectives/multicasts",
            "collectivesToken": multicast["token"],
        }

    def end_multicast(self, partition: str, name: str) -> None:
        """What the fabric manager has forgotten already is no trouble."""
        if self._book.jobs[f"{partition}/{name}"]["multicast"]:
            self._mesh.ask("fabric-manager", "DELETE", f"{_COLLECTIVES}/{quote(_session(partition, name), safe='')}")

    def _multicast(self, partition: str, said: dict[str, Any]) -> Json:
        limit = said.get("mcastLimit", 0)
        if not limit:
            return None
        wanted = {"jobID": _session(partition, said["jobID"]), "mcastLimit": limit}
        reply = self._mesh.ask("fabric-manager", "POST", _COLLECTIVES, wanted)
        if not reply.ok:
            raise Refusal(502, f"The fabric manager refused multicast addresses with status {reply.status}")
        return {"limit": limit, "nodes": said.get("mcastMinNodes", 0), "token": reply.json()["sessionToken"]}

    def _one(self, call: Call) -> tuple[str, str, Json]:
        partition, name = call.args["partition"], call.args["job"]
        self._book.partition(partition)
        record = self._book.jobs.get(f"{partition}/{name}")
        if record is None:
            raise Refusal(404, f"Job {name} not found in partition {partition}")
        return partition, name, record

    def _shown(self, partition: str, name: str) -> Json:
        record = self._book.jobs[f"{partition}/{name}"]
        return {
            "jobID": name,
            "UID": record["uid"],
            "trafficClasses": record["classes"],
            "vniLimit": record["limit"],
            "VNIs": links_to_vnis(partition, record["vnis"]),
            "jobStepVNIs": links_to_vnis(partition, record["steps"]),
            **self.collectives(partition, name),
        }


def _session(partition: str, job: str) -> str:
    return f"{partition}-{job}"


def _check(said: dict[str, Any], count: int, limit: int) -> None:
    if count not in (0, 1):
        raise Refusal(400, "vniCount must be 0 or 1")
    if limit < count:
        raise Refusal(400, "vniLimit is too small")
    if said["UID"] < 0:
        raise Refusal(400, "UID must not be negative")
    if said.get("mcastLimit", 0) < 0 or said.get("mcastMinNodes", 0) < 0:
        raise Refusal(400, "mcastLimit and mcastMinNodes must not be negative")


def _classes(said: dict[str, Any]) -> dict[str, bool]:
    for name, value in said.items():
        if name not in CLASSES or not isinstance(value, bool):
            raise Refusal(400, f"Invalid traffic class {name}")
    return {**CLASSES, **said}


def _record(partition: str, job: str) -> Json:
    return {
        "partition": partition,
        "description": None,
        "isService": False,
        "jobVNI": True,
        "jobID": job,
        "jobStepID": None,
        "pool": None,
    }
