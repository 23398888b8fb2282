"""Jobs of workload managers: the VNI that the steps of a job share, VNIs of steps, and multicast addresses."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from csm_emulator.context import Context
from csm_emulator.records import Json, Record
from csm_emulator.services.vnid.problems import RequestRejected, check_name, read_fields
from csm_emulator.services.vnid.table import VniTable, link, links_to_vnis
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
DEFAULT_CLASSES = {"best_effort": True, "low_latency": True, "bulk_data": False, "dedicated_access": False}
"""The traffic classes that a job may use by default."""
_COLLECTIVES = "/fabric/collectives/jobs"


class Jobs:
    def __init__(self, context: Context, vni_table: VniTable) -> None:
        self._mesh = context.mesh
        self._public_addresses = context.public_addresses
        self._vni_table = vni_table

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/fabric/vnis/{partition}/jobs", self.jobs),
            Route("POST", "/fabric/vnis/{partition}/jobs", self.create),
            Route("GET", "/fabric/vnis/{partition}/jobs/{job}", self.job),
            Route("DELETE", "/fabric/vnis/{partition}/jobs/{job}", self.delete),
        ]

    def jobs(self, call: Call) -> Reply:
        partition = call.args["partition"]
        self._vni_table.partition(partition)
        names = self._vni_table.names(self._vni_table.jobs, partition)
        return json_reply({"documentSelfLinks": [link(partition, "jobs", name) for name in names]})

    def create(self, call: Call) -> Reply:
        partition = call.args["partition"]
        partition_record = self._vni_table.partition(partition)
        fields = read_fields(call, _JOB, "jobID UID")
        name, count = fields["jobID"], fields.get("vniCount", 1)
        limit = fields.get("vniLimit", partition_record["last"] - partition_record["first"] + 1)
        check_name(name, "job ID")
        _check(fields, count, limit)
        if f"{partition}/{name}" in self._vni_table.jobs:
            raise RequestRejected(409, f"Job {name} already exists in partition {partition}")
        vnis = self._vni_table.free(partition, None, count) if count else []
        record = {
            "uid": fields["UID"],
            "classes": _classes(fields.get("trafficClasses", {})),
            "limit": limit,
            "vnis": vnis,
            "steps": [],
            "multicast": self._multicast(partition, fields),
        }
        for vni in vnis:
            self._vni_table.reserve(vni, _record(partition, name))
        self._vni_table.jobs[f"{partition}/{name}"] = record
        return json_reply(self._document(partition, name))

    def job(self, call: Call) -> Reply:
        partition, name, _ = self._find(call)
        return json_reply(self._document(partition, name))

    def delete(self, call: Call) -> Reply:
        partition, name, record = self._find(call)
        for vni in (*record["vnis"], *record["steps"]):
            self._vni_table.release(vni)
        self.end_multicast(partition, name)
        del self._vni_table.jobs[f"{partition}/{name}"]
        return json_reply({})

    def requested_job(self, partition: str, fields: Record) -> str | None:
        """The job of a request for VNIs, or None; raises ``RequestRejected`` unless it exists and is the user's."""
        name = fields.get("jobID")
        if name is None:
            return None
        record = self._vni_table.jobs.get(f"{partition}/{name}")
        if record is None:
            raise RequestRejected(404, f"Job {name} not found in partition {partition}")
        if fields.get("UID", record["uid"]) != record["uid"]:
            raise RequestRejected(403, f"Job {name} does not belong to UID {fields['UID']}")
        return str(name)

    def check_limit(self, partition: str, name: str | None, more: int) -> None:
        if name is None:
            return
        record = self._vni_table.jobs[f"{partition}/{name}"]
        if len(record["vnis"]) + len(record["steps"]) + more > record["limit"]:
            raise RequestRejected(409, f"Job {name} may not reserve more than {record['limit']} VNIs")

    def add_steps(self, partition: str, name: str | None, vnis: Sequence[int]) -> None:
        if name is not None:
            record = self._vni_table.jobs[f"{partition}/{name}"]
            self._vni_table.jobs[f"{partition}/{name}"] = {**record, "steps": [*record["steps"], *vnis]}

    def remove_vni(self, partition: str, name: str | None, vni: int) -> None:
        record = self._vni_table.jobs.get(f"{partition}/{name}")
        if record is not None:
            remaining = {kind: [job_vni for job_vni in record[kind] if job_vni != vni] for kind in ("vnis", "steps")}
            self._vni_table.jobs[f"{partition}/{name}"] = {**record, **remaining}

    def fields_for_steps(self, partition: str, name: str | None) -> Json:
        """The fields of its job that a step needs."""
        if name is None:
            return {}
        record = self._vni_table.jobs[f"{partition}/{name}"]
        job_vni = {"jobVNI": record["vnis"][0]} if record["vnis"] else {}
        token = (record["multicast"] or {}).get("token")
        return {**job_vni, "trafficClasses": record["classes"], "collectivesToken": token}

    def collectives(self, partition: str, name: str | None) -> Json:
        multicast = (self._vni_table.jobs.get(f"{partition}/{name}") or {}).get("multicast")
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
        """Delete the job in the Fabric Manager; it is no error when it is deleted already."""
        if self._vni_table.jobs[f"{partition}/{name}"]["multicast"]:
            self._mesh.ask("fabric-manager", "DELETE", f"{_COLLECTIVES}/{quote(_session(partition, name), safe='')}")

    def _multicast(self, partition: str, fields: Record) -> Json:
        limit = fields.get("mcastLimit", 0)
        if not limit:
            return None
        body = {"jobID": _session(partition, fields["jobID"]), "mcastLimit": limit}
        reply = self._mesh.ask("fabric-manager", "POST", _COLLECTIVES, body)
        if not reply.ok:
            raise RequestRejected(502, f"The fabric manager refused multicast addresses with status {reply.status}")
        return {"limit": limit, "nodes": fields.get("mcastMinNodes", 0), "token": reply.json()["sessionToken"]}

    def _find(self, call: Call) -> tuple[str, str, Json]:
        partition, name = call.args["partition"], call.args["job"]
        self._vni_table.partition(partition)
        record = self._vni_table.jobs.get(f"{partition}/{name}")
        if record is None:
            raise RequestRejected(404, f"Job {name} not found in partition {partition}")
        return partition, name, record

    def _document(self, partition: str, name: str) -> Json:
        record = self._vni_table.jobs[f"{partition}/{name}"]
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


def _check(fields: Record, count: int, limit: int) -> None:
    if count not in (0, 1):
        raise RequestRejected(400, "vniCount must be 0 or 1")
    if limit < count:
        raise RequestRejected(400, "vniLimit is too small")
    if fields["UID"] < 0:
        raise RequestRejected(400, "UID must not be negative")
    if fields.get("mcastLimit", 0) < 0 or fields.get("mcastMinNodes", 0) < 0:
        raise RequestRejected(400, "mcastLimit and mcastMinNodes must not be negative")


def _classes(classes: Record) -> dict[str, bool]:
    for name, value in classes.items():
        if name not in DEFAULT_CLASSES or not isinstance(value, bool):
            raise RequestRejected(400, f"Invalid traffic class {name}")
    return {**DEFAULT_CLASSES, **classes}


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
