"""VNIs of services, of job steps, and of whoever asks."""

from __future__ import annotations

from typing import Any

from csm_emulator.records import Json
from csm_emulator.services.vnid.jobs import Jobs
from csm_emulator.services.vnid.partitions import ONE_PER_JOB, ONE_PER_STEP
from csm_emulator.services.vnid.performance import Performance
from csm_emulator.services.vnid.problems import Refusal, read
from csm_emulator.services.vnid.table import Book, links_to_vnis
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
    def __init__(self, book: Book, jobs: Jobs, performance: Performance) -> None:
        self._book = book
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
        self._book.partition(partition)
        return json_reply({"documentSelfLinks": links_to_vnis(partition, self._book.vnis(partition))})

    def reserve(self, call: Call) -> Reply:
        partition = call.args["partition"]
        self._book.partition(partition)
        said = read(call, _REQUEST, "vniCount")
        self._check(partition, said)
        job = self._jobs.asked(partition, said)
        found = self._found(partition, said)
        new = [vni for vni, known in found if not known]
        self._jobs.check_limit(partition, job, len(new))
        pools = said.get("pools") or [None] * len(found)
        for (vni, known), pool in zip(found, pools, strict=True):
            if not known:
                self._book.reserve(vni, _record(partition, said, pool))
        self._jobs.add_steps(partition, job, new)
        self._performance.note(len(found), sum(len(self._book.vnis(name)) for name in self._book.partitions))
        shown = {"documentSelfLinks": links_to_vnis(partition, [vni for vni, _ in found])}
        return json_reply(shown | self._jobs.shown_to_steps(partition, job))

    def vni(self, call: Call) -> Reply:
        partition, vni, record = self._one(call)
        shown = {
            "VNI": vni,
            "description": record["description"],
            "isService": record["isService"],
            "jobVNI": record["jobVNI"],
            "jobID": record["jobID"],
        }
        shown |= {name: record[name] for name in ("jobStepID", "pool") if record[name] is not None}
        return json_reply(shown | self._jobs.collectives(partition, record["jobID"]))

    def release(self, call: Call) -> Reply:
        partition, vni, record = self._one(call)
        self._book.release(vni)
        self._jobs.forget(partition, record["jobID"], vni)
        return json_reply({})

    def _one(self, call: Call) -> tuple[str, int, Json]:
        partition, text = call.args["partition"], call.args["vni"]
        self._book.partition(partition)
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise Refusal(400, f"Invalid VNI {text!r}")
        return partition, int(text), self._book.vni(partition, int(text))

    def _check(self, partition: str, said: dict[str, Any]) -> None:
        count, service = said["vniCount"], said.get("isService", False)
        if count < 1:
            raise Refusal(400, "vniCount must be at least 1")
        if service and count != 1:
            raise Refusal(400, "vniCount must be 1 if isService is true")
        if "vni" in said and not service:
            raise Refusal(400, "vni is only allowed if isService is true")
        pools = said.get("pools")
        if pools is None:
            return
        if len(pools) != count:
            raise Refusal(400, f"pools must have {count} elements")
        for pool in pools:
            if not isinstance(pool, str) or f"{partition}/{pool}" not in self._book.pools:
                raise Refusal(400, f"Pool {pool} not found in partition {partition}")

    def _found(self, partition: str, said: dict[str, Any]) -> list[tuple[int, bool]]:
        """All that were asked for, or a refusal; whether each was reserved before."""
        if "vni" in said:
            return [(self._exactly(partition, said["vni"]), False)]
        pools = said.get("pools")
        if pools is None:
            return [(vni, False) for vni in self._book.free(partition, None, said["vniCount"])]
        known = {pool: self._shared(partition, pool, said) for pool in dict.fromkeys(pools)}
        shared = {pool: self._is_shared(partition, pool, said) for pool in known}
        free = {
            pool: self._book.free(partition, pool, 1 if shared[pool] else pools.count(pool))
            for pool, vni in known.items()
            if vni is None
        }
        found: list[tuple[int, bool]] = []
        for pool in pools:
            vni = known[pool]
            if vni is not None:
                found.append((vni, True))
                continue
            found.append((free[pool].pop(0), False))
            if shared[pool]:
                known[pool] = found[-1][0]
        return found

    def _is_shared(self, partition: str, pool: str, said: dict[str, Any]) -> bool:
        """Whether what asks gets the same VNI of this pool again."""
        kind = self._book.pools[f"{partition}/{pool}"]["type"]
        return "jobID" in said and (kind == ONE_PER_JOB or (kind == ONE_PER_STEP and "jobStepID" in said))

    def _shared(self, partition: str, pool: str, said: dict[str, Any]) -> int | None:
        if not self._is_shared(partition, pool, said):
            return None
        facts = {"pool": pool}
        if self._book.pools[f"{partition}/{pool}"]["type"] == ONE_PER_STEP:
            facts["jobStepID"] = said["jobStepID"]
        return self._book.find(self._book.jobs[f"{partition}/{said['jobID']}"]["steps"], facts)

    def _exactly(self, partition: str, vni: int) -> int:
        record = self._book.partition(partition)
        if not record["first"] <= vni <= record["last"]:
            raise Refusal(400, f"VNI {vni} is outside partition {partition}")
        if vni in self._book.vnis(partition):
            raise Refusal(409, f"VNI {vni} is already reserved")
        return vni


def _record(partition: str, said: dict[str, Any], pool: str | None) -> Json:
    return {
        "partition": partition,
        "description": said.get("description"),
        "isService": said.get("isService", False),
        "jobVNI": False,
        "jobID": said.get("jobID"),
        "jobStepID": said.get("jobStepID"),
        "pool": pool,
    }
