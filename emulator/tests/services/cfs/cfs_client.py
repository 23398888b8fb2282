"""CFS as a client sees it, and those whom it talks to."""

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


class Recorder:
    """In the place of those who run sessions: it only hears of them."""

    latest: Recorder

    def __init__(self, _: Context, records: CfsRecords) -> None:
        self.records = records
        self.created: list[str] = []
        self.deleted: list[str] = []
        Recorder.latest = self

    def session_created(self, name: str) -> None:
        assert self.records.session(name) is not None
        self.created.append(name)

    def session_deleted(self, name: str) -> None:
        self.deleted.append(name)


class Cfs(Service):
    def __init__(self, site: Site) -> None:
        super().__init__(site, "cfs", "")
        self.runs = Recorder.latest
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
        again = Cfs(reopen(self.site))
        again.branches, again.tenants = self.branches, self.tenants
        return again

    def do(self, method: str, path: str, body: Any = None, tenant: str = "") -> Any:
        """What a good answer says."""
        reply = self.say(method, path, body, tenant)
        assert reply.ok, reply.body
        return reply.json() if reply.body else None

    def say(self, method: str, path: str, body: Any = None, tenant: str = "") -> Reply:
        headers = {**JSON_BODY, **({"cray-tenant-name": tenant} if tenant else {})}
        return self.ask(method, path, body, headers)

    def problem(self, method: str, path: str, body: Any = None, tenant: str = "") -> tuple[int, str, str]:
        reply = self.say(method, path, body, tenant)
        assert reply.media == "application/problem+json", reply
        told = reply.json()
        assert told["status"] == reply.status
        assert told["type"] == "about:blank"
        return reply.status, told["title"], told["detail"]

    def configure(self, name: str, *repositories: str, commit: str = OLD) -> None:
        layers = [{"clone_url": URL.format(each), "playbook": "site.yml", "commit": commit} for each in repositories]
        self.do("PUT", f"/v3/configurations/{name}", {"layers": layers})

    def wish(self, configuration: str, *xnames: str) -> None:
        for xname in xnames:
            self.do("PATCH", f"/v3/components/{xname}", {"desired_config": configuration, "state": []})

    def status(self, xname: str) -> str:
        return str(self.get(f"/v3/components/{xname}")["configuration_status"])

    def nodes(self) -> list[str]:
        return [each["id"] for each in self.get("/v3/components?limit=100000")["components"]]

    def plans(self) -> list[str]:
        """The scheduled actions of CFS."""
        return [kind for _, kind, _ in self.site.scheduler._table.values() if kind.startswith("cfs.")]

    def apply(self, session: str, xnames: list[str], status: str = "applied") -> None:
        """As Ansible would report on all layers of it."""
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
        given = b64decode(call.headers.get("authorization", "").removeprefix("Basic ")).decode()
        if given != f"{VCS_USER}:{self.password}":
            return Reply(401, b"{}")
        _, _, _, _, owner, repo, *rest = call.path.split("/")
        if not any(known[:2] == (owner, repo) for known in self.branches):
            return Reply(404, b"{}")
        if not rest:
            return Reply(200, b'{"default_branch": "main"}')
        commit = self.branches.get((owner, repo, "/".join(rest[1:]))) if rest[0] == "branches" else None
        return Reply(200, json.dumps({"commit": {"id": commit}}).encode()) if commit else Reply(404, b"{}")
