"""Remote build nodes, which build images instead of the cluster, and their status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from csm_emulator.machine.machine import Machine
from csm_emulator.records import Record
from csm_emulator.seed_data.images import ARCHES
from csm_emulator.services.ims import schemas
from csm_emulator.services.ims.responses import find_record, jsonify, no_content, read_body, restful_json
from csm_emulator.services.ims.tables import Tables
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_PATH = "/v3/remote-build-nodes"


class RemoteNodes:
    def __init__(self, tables: Tables, machine: Machine) -> None:
        self._nodes = tables.remote_build_nodes
        self._jobs = tables.jobs
        self._machine = machine

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", _PATH, lambda _: jsonify(list(self._nodes.values()))),
            Route("POST", _PATH, self._create),
            Route("DELETE", _PATH, self._delete_all),
            Route("GET", f"{_PATH}/status", self._statuses),
            Route(
                "GET",
                f"{_PATH}/status/{{id}}",
                lambda call: jsonify(self._status(find_record(self._nodes, call)["xname"])),
            ),
            Route("GET", f"{_PATH}/{{id}}", lambda call: jsonify(find_record(self._nodes, call))),
            Route("DELETE", f"{_PATH}/{{id}}", self._delete),
        )

    def choose(self, arch: str) -> str:
        """The node with the fewest jobs that can build for this architecture; empty when there is none."""
        able = [
            status
            for status in map(self._status, self._nodes)
            if status["ableToRunJobs"] and status["nodeArch"] == arch
        ]
        best = min(able, key=lambda status: int(status["numCurrentJobs"]), default=None)
        return str(best["xname"]) if best else ""

    def _create(self, call: Call) -> Reply:
        record = schemas.load(schemas.RemoteNode, read_body(call))
        self._nodes[record["xname"]] = record
        return restful_json(record)

    def _delete_all(self, _: Call) -> Reply:
        self._nodes.clear()
        return no_content()

    def _delete(self, call: Call) -> Reply:
        del self._nodes[find_record(self._nodes, call)["xname"]]
        return no_content()

    def _statuses(self, _: Call) -> Reply:
        return jsonify([self._status(xname) for xname in self._nodes])

    def _status(self, xname: str) -> Record:
        """The status that IMS determines over ssh."""
        status: Record = {
            "xname": xname,
            "sshStatus": "Unknown",
            "podmanStatus": "Unknown",
            "nodeArch": "Unknown",
            "numCurrentJobs": -1,
            "ableToRunJobs": False,
        }
        part = self._machine.part(xname)
        if part is None or part.model is None:
            return {**status, "sshStatus": _unreachable("[Errno -2] Name or service not known")}
        if not self._machine.boot.sends_heartbeats(xname):
            address = next((nic.address for nic in self._machine.nics(xname) if nic.address), xname)
            return {**status, "sshStatus": _unreachable(f"[Errno None] Unable to connect to port 22 on {address}")}
        return {
            **status,
            "sshStatus": "SSH connection established.",
            "nodeArch": ARCHES.get(part.model.arch, part.model.arch),
            "podmanStatus": "Podman present at /usr/bin/podman",
            "ableToRunJobs": True,
            "numCurrentJobs": _count_running_jobs(self._jobs.values(), xname),
        }


def _unreachable(error: str) -> str:
    return f"Unable to connect to node. Error: {error}"


def _count_running_jobs(jobs: Iterable[Record], xname: str) -> int:
    """Running jobs on the node; the real service counts the folders that they create there."""
    return sum(job["remote_build_node"] == xname and job["status"] not in ("error", "success") for job in jobs)
