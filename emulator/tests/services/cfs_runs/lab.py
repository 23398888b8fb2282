"""A machine whose sessions run, with repositories that the tests fill."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from csm_emulator.cluster.pods import Pod
from csm_emulator.site import Site
from service_client import MOMENT, Service, reopen
from services.vcs.gitea_client import Gitea

NODE, OTHER, THIRD, OFF = "x1000c0s0b0n0", "x1000c0s0b0n1", "x1000c0s1b0n0", "x1000c0s0b1n0"
"""Nodes of the topology tiny; the first three are up."""
URL = "https://api-gw-service-nmn.local/vcs/cray/{}.git"
JSON_BODY = {"content-type": "application/json"}
PLAYBOOK = "- hosts: Compute\n  tasks:\n    - name: Make it\n      file: {path: /x}\n    - shell: echo done\n"


class Lab:
    def __init__(self, site: Site) -> None:
        self.site = site
        self.cfs = Service(site, "cfs", "/v3")
        self.ims = Service(site, "ims", "/v3")
        self.git = Gitea(site)

    def reopened(self) -> Lab:
        return Lab(reopen(self.site))

    def repository(self, name: str, files: Mapping[str, str]) -> str:
        """Creates a repository with these files; the last commit."""
        self.git.ask("POST", "/orgs/cray/repos", {"name": name, "auto_init": True})
        commit = ""
        for path, text in files.items():
            content = base64.b64encode(text.encode()).decode()
            reply = self.git.ask(
                "POST", f"/repos/cray/{name}/contents/{path}", {"content": content, "message": f"Add {path}"}
            )
            assert reply.ok, reply.body
            commit = reply.json()["commit"]["sha"]
        return commit

    def layer(self, name: str, playbook: str = PLAYBOOK, more: Mapping[str, str] | None = None) -> dict[str, str]:
        commit = self.repository(name, {"site.yml": playbook, **(more or {})})
        return {"name": name, "clone_url": URL.format(name), "commit": commit, "playbook": "site.yml"}

    def configure(self, name: str, *layers: Mapping[str, Any], **fields: Any) -> None:
        self.do("PUT", f"/configurations/{name}", {"layers": layers, **fields})

    def do(self, method: str, path: str, body: Any = None) -> Any:
        reply = self.cfs.ask(method, path, body, JSON_BODY)
        assert reply.ok, reply.body
        return reply.json() if reply.body else None

    def start(self, name: str, configuration: str, *hosts: str, **body: Any) -> None:
        limit = {"ansible_limit": ",".join(hosts)} if hosts else {}
        self.do("POST", "/sessions", {"name": name, "configuration_name": configuration, **limit, **body})

    def status(self, name: str) -> dict[str, Any]:
        session_status: dict[str, Any] = self.cfs.get(f"/sessions/{name}")["status"]["session"]
        return session_status

    def finish(self, name: str, most: float = 1800.0) -> str:
        """The result of the session; ``running`` when it does not end in time."""
        for _ in range(int(most / 30)):
            self.site.step(30)
            if self.status(name)["status"] == "complete":
                return str(self.status(name)["succeeded"])
        return str(self.status(name)["status"])

    def run(self, name: str, configuration: str, *hosts: str, **body: Any) -> str:
        self.start(name, configuration, *hosts, **body)
        return self.finish(name)

    def pods(self, session: str) -> list[Pod]:
        all_pods = self.site.context.cluster.pods("services")
        return [pod for pod in all_pods if pod.labels.get("cfsession") == session]

    def log(self, session: str, container: str = "ansible") -> list[str]:
        (pod,) = self.pods(session)
        return [line for _, line in self.site.context.cluster.log("services", pod.name, container)]

    def text(self, session: str, container: str = "ansible") -> str:
        return "\n".join(self.log(session, container))

    def all_logs(self, session: str) -> dict[str, list[tuple[float, str]]]:
        (pod,) = self.pods(session)
        read = self.site.context.cluster.log
        return {one.name: read("services", pod.name, one.name) for one in pod.containers}

    def states(self, xname: str) -> list[tuple[str, str]]:
        """Repository and status of each layer that a component has."""
        component = self.cfs.get(f"/components/{xname}?state_details=true")
        return [(entry["clone_url"].rpartition("/")[2][:-4], entry["status"]) for entry in component.get("state", [])]

    def errors(self, xname: str) -> int:
        return int(self.cfs.get(f"/components/{xname}")["error_count"])

    def until_layer(self, session: str, place: int = 0) -> None:
        """Steps until Ansible runs this layer."""
        for _ in range(1000):
            self.site.step(1)
            if self.pods(session) and self.text(session).count("Running site.yml") > place:
                return
        raise AssertionError(f"{session} never came to layer {place}")

    @property
    def now(self) -> float:
        return self.site.clock.now() - MOMENT
