"""CFS as a client sees it, and stubs of the services that it asks."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

from csm_emulator.context import Context
from csm_emulator.seed_data.secrets import VCS_USER, vcs_password
from csm_emulator.services.cfs.records import CfsRecords
from csm_emulator.site import Site
from csm_emulator.transport.call import Call, Reply
from service_client import Service, reopen

NODE, OTHER = "x1000c0s0b0n0", "x1000c0s0b1n0"
URL = "https://api-gw-service-nmn.local/vcs/cray/{}.git"
OLD, NEW = "a" * 40, "b" * 40
JSON_BODY = {"content-type": "application/json"}


class RunnerRecorder:
    """Takes the place of the session runner, and records the calls."""

    latest: RunnerRecorder

    def __init__(self, _: Context, records: CfsRecords) -> None:
        self.records = records
        self.created: list[str] = []
        self.deleted: list[str] = []
        RunnerRecorder.latest = self

    def session_created(self, name: str) -> None:
        assert self.records.session(name) is not None
        self.created.append(name)

    def session_deleted(self, name: str) -> None:
        self.deleted.append(name)


class Cfs(Service):
    def __init__(self, site: Site) -> None:
        super().__init__(site, "cfs", "")
        self.runs = RunnerRecorder.latest
        self.branches = {("cray", "one", "main"): OLD, ("cray", "two", "main"): OLD}
        self.tenants = {"vcluster-blue", "vcluster-red"}
        self.password = vcs_password(site.random)
        self.asked: list[tuple[str, str]] = []
        self.instead: dict[str, Reply] = {}
        site.mesh._ask = self._mesh

    @property
    def records(self) -> CfsRecords:
        return self.runs.records

    def reopened(self) -> Cfs:
        reopened_cfs = Cfs(reopen(self.site))
        reopened_cfs.branches, reopened_cfs.tenants = self.branches, self.tenants
        return reopened_cfs

    def do(self, method: str, path: str, body: Any = None, tenant: str = "") -> Any:
        """The body of the reply, which must be a success."""
        reply = self.say(method, path, body, tenant)
        assert reply.ok, reply.body
        return reply.json() if reply.body else None

    def say(self, method: str, path: str, body: Any = None, tenant: str = "") -> Reply:
        headers = {**JSON_BODY, **({"cray-tenant-name": tenant} if tenant else {})}
        return self.ask(method, path, body, headers)

    def problem(self, method: str, path: str, body: Any = None, tenant: str = "") -> tuple[int, str, str]:
        reply = self.say(method, path, body, tenant)
        assert reply.media == "application/problem+json", reply
        document = reply.json()
        assert document["status"] == reply.status
        assert document["type"] == "about:blank"
        return reply.status, document["title"], document["detail"]

    def configure(self, name: str, *repositories: str, commit: str = OLD) -> None:
        layers = [
            {"clone_url": URL.format(repository), "playbook": "site.yml", "commit": commit}
            for repository in repositories
        ]
        self.do("PUT", f"/v3/configurations/{name}", {"layers": layers})

    def set_desired(self, configuration: str, *xnames: str) -> None:
        for xname in xnames:
            self.do("PATCH", f"/v3/components/{xname}", {"desired_config": configuration, "state": []})

    def status(self, xname: str) -> str:
        return str(self.get(f"/v3/components/{xname}")["configuration_status"])

    def nodes(self) -> list[str]:
        return [component["id"] for component in self.get("/v3/components?limit=100000")["components"]]

    def plans(self) -> list[str]:
        """The actions that CFS has scheduled."""
        return [kind for _, kind, _ in self.site.scheduler._table.values() if kind.startswith("cfs.")]

    def apply(self, session: str, xnames: list[str], status: str = "applied") -> None:
        """Reports all layers of the session for these components, as Ansible would."""
        record = self.records.session(session)
        assert record is not None
        for layer in self.records.layers(record):
            self.records.append_state(xnames, layer, status, session)

    def end(self, session: str, succeeded: str = "true") -> None:
        self.records.change_session(session, status="complete", succeeded=succeeded)

    def _mesh(self, service: str, call: Call) -> Reply:
        self.asked.append((service, call.path))
        if service in self.instead:
            return self.instead[service]
        if service == "vcs":
            return self._vcs(call)
        if service == "tapms":
            return Reply(200, b"{}") if call.path.rpartition("/")[2] in self.tenants else Reply(404, b'"none"')
        return self.site.ask(service, call)

    def _vcs(self, call: Call) -> Reply:
        credentials = b64decode(call.headers.get("authorization", "").removeprefix("Basic ")).decode()
        if credentials != f"{VCS_USER}:{self.password}":
            return Reply(401, b"{}")
        _, _, _, _, owner, repo, *file_path = call.path.split("/")
        if not any(branch[:2] == (owner, repo) for branch in self.branches):
            return Reply(404, b"{}")
        if not file_path:
            return Reply(200, b'{"default_branch": "main"}')
        commit = self.branches.get((owner, repo, "/".join(file_path[1:]))) if file_path[0] == "branches" else None
        return Reply(200, json.dumps({"commit": {"id": commit}}).encode()) if commit else Reply(404, b"{}")
