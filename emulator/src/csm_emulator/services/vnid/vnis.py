"""Reservation of VNIs for services, job steps, and other clients."""

from __future__ import annotations

from csm_emulator.records import Json, Record
from csm_emulator.services.vnid.jobs import Jobs
from csm_emulator.services.vnid.partitions import ONE_PER_JOB, ONE_PER_STEP
from csm_emulator.services.vnid.performance import Performance
from csm_emulator.services.vnid.problems import RequestRejected, read_fields
from csm_emulator.services.vnid.table import VniTable, links_to_vnis
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

_REQUEST = {
    "description": str,
    "vniCount": int,
    "isService": bool,
    "vni": int,
    "jobID": str,
    "UID": int,
    "jobStepID": str,
    "pools": list,
}


class Vnis:
    def __init__(self, vni_table: VniTable, jobs: Jobs, performance: Performance) -> None:
        self._vni_table = vni_table
        self._jobs = jobs
        self._performance = performance

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/fabric/vnis/{partition}/vnis", self.vnis),
            Route("POST", "/fabric/vnis/{partition}/vnis", self.reserve),
            Route("GET", "/fabric/vnis/{partition}/vnis/{vni}", self.vni),
            Route("DELETE", "/fabric/vnis/{partition}/vnis/{vni}", self.release),
        ]

    def vnis(self, call: Call) -> Reply:
        partition = call.args["partition"]
        self._vni_table.partition(partition)
        return json_reply({"documentSelfLinks": links_to_vnis(partition, self._vni_table.vnis(partition))})

    def reserve(self, call: Call) -> Reply:
        partition = call.args["partition"]
        self._vni_table.partition(partition)
        fields = read_fields(call, _REQUEST, "vniCount")
        self._check(partition, fields)
        job = self._jobs.requested_job(partition, fields)
        vnis = self._vnis_for(partition, fields)
        new = [vni for vni, is_reserved in vnis if not is_reserved]
        self._jobs.check_limit(partition, job, len(new))
        pools = fields.get("pools") or [None] * len(vnis)
        for (vni, is_reserved), pool in zip(vnis, pools, strict=True):
            if not is_reserved:
                self._vni_table.reserve(vni, _record(partition, fields, pool))
        self._jobs.add_steps(partition, job, new)
        self._performance.record(len(vnis), sum(len(self._vni_table.vnis(name)) for name in self._vni_table.partitions))
        document = {"documentSelfLinks": links_to_vnis(partition, [vni for vni, _ in vnis])}
        return json_reply(document | self._jobs.fields_for_steps(partition, job))

    def vni(self, call: Call) -> Reply:
        partition, vni, record = self._find(call)
        document = {
            "VNI": vni,
            "description": record["description"],
            "isService": record["isService"],
            "jobVNI": record["jobVNI"],
            "jobID": record["jobID"],
        }
        document |= {name: record[name] for name in ("jobStepID", "pool") if record[name] is not None}
        return json_reply(document | self._jobs.collectives(partition, record["jobID"]))

    def release(self, call: Call) -> Reply:
        partition, vni, record = self._find(call)
        self._vni_table.release(vni)
        self._jobs.remove_vni(partition, record["jobID"], vni)
        return json_reply({})

    def _find(self, call: Call) -> tuple[str, int, Json]:
        partition, text = call.args["partition"], call.args["vni"]
        self._vni_table.partition(partition)
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise RequestRejected(400, f"Invalid VNI {text!r}")
        return partition, int(text), self._vni_table.vni(partition, int(text))

    def _check(self, partition: str, fields: Record) -> None:
        count, service = fields["vniCount"], fields.get("isService", False)
        if count < 1:
            raise RequestRejected(400, "vniCount must be at least 1")
        if service and count != 1:
            raise RequestRejected(400, "vniCount must be 1 if isService is true")
        if "vni" in fields and not service:
            raise RequestRejected(400, "vni is only allowed if isService is true")
        pools = fields.get("pools")
        if pools is None:
            return
        if len(pools) != count:
            raise RequestRejected(400, f"pools must have {count} elements")
        for pool in pools:
            if not isinstance(pool, str) or f"{partition}/{pool}" not in self._vni_table.pools:
                raise RequestRejected(400, f"Pool {pool} not found in partition {partition}")

    def _vnis_for(self, partition: str, fields: Record) -> list[tuple[int, bool]]:
        """The requested VNIs, each with whether it was reserved before; raises ``RequestRejected``."""
        if "vni" in fields:
            return [(self._checked_vni(partition, fields["vni"]), False)]
        pools = fields.get("pools")
        if pools is None:
            return [(vni, False) for vni in self._vni_table.free(partition, None, fields["vniCount"])]
        reserved = {pool: self._reserved_vni(partition, pool, fields) for pool in dict.fromkeys(pools)}
        shared = {pool: self._is_shared(partition, pool, fields) for pool in reserved}
        free = {
            pool: self._vni_table.free(partition, pool, 1 if shared[pool] else pools.count(pool))
            for pool, vni in reserved.items()
            if vni is None
        }
        vnis: list[tuple[int, bool]] = []
        for pool in pools:
            vni = reserved[pool]
            if vni is not None:
                vnis.append((vni, True))
                continue
            vnis.append((free[pool].pop(0), False))
            if shared[pool]:
                reserved[pool] = vnis[-1][0]
        return vnis

    def _is_shared(self, partition: str, pool: str, fields: Record) -> bool:
        """Whether a second request of this job or step gets the same VNI of this pool."""
        kind = self._vni_table.pools[f"{partition}/{pool}"]["type"]
        return "jobID" in fields and (kind == ONE_PER_JOB or (kind == ONE_PER_STEP and "jobStepID" in fields))

    def _reserved_vni(self, partition: str, pool: str, fields: Record) -> int | None:
        if not self._is_shared(partition, pool, fields):
            return None
        required = {"pool": pool}
        if self._vni_table.pools[f"{partition}/{pool}"]["type"] == ONE_PER_STEP:
            required["jobStepID"] = fields["jobStepID"]
        return self._vni_table.find(self._vni_table.jobs[f"{partition}/{fields['jobID']}"]["steps"], required)

    def _checked_vni(self, partition: str, vni: int) -> int:
        record = self._vni_table.partition(partition)
        if not record["first"] <= vni <= record["last"]:
            raise RequestRejected(400, f"VNI {vni} is outside partition {partition}")
        if vni in self._vni_table.vnis(partition):
            raise RequestRejected(409, f"VNI {vni} is already reserved")
        return vni


def _record(partition: str, fields: Record, pool: str | None) -> Json:
    return {
        "partition": partition,
        "description": fields.get("description"),
        "isService": fields.get("isService", False),
        "jobVNI": False,
        "jobID": fields.get("jobID"),
        "jobStepID": fields.get("jobStepID"),
        "pool": pool,
    }
