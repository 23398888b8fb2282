"""The container ``inventory``: which hosts there are, for targets dynamic, spec and repo."""

from __future__ import annotations

import json
from typing import Any

from csm_emulator.clients.hsm import HsmClient
from csm_emulator.services.cfs.ansible.hosts import terms
from csm_emulator.services.cfs.ansible.jinja.unknown import plain
from csm_emulator.services.cfs.ansible.playbooks.layer_files import Paused
from csm_emulator.services.cfs.jobs.inventory.files import FILE, inventory_files
from csm_emulator.services.cfs.jobs.inventory.host_files import Found, read_hosts
from csm_emulator.services.cfs.jobs.inventory.hsm_groups import HsmGroups, HsmUnavailable
from csm_emulator.services.cfs.jobs.job_context import Bench, Run
from csm_emulator.services.cfs.jobs.log_lines import VERSION, line
from csm_emulator.services.cfs.jobs.repositories import Library, NoCommit, NoRepository, Silent
from csm_emulator.state.scheduler import NotYet

CONTAINER = "inventory"
_LOGGER = "cray.cfs.inventory"
_HSM_TRIES = 10
_MOST_ASKED = 500
"""More hosts than this are not asked for one by one."""


class Inventories:
    def __init__(self, bench: Bench, library: Library) -> None:
        self._bench = bench
        self._library = library
        self._hsm = HsmGroups(HsmClient(bench.context.mesh))
        bench.context.cluster.volumes.append(lambda pod, container: inventory_files(bench.of_pod(pod), container))
        bench.answer("containers", self._begin)
        bench.answer("inventory", self._generate)
        bench.answer("inventory-failed", self.failed)

    def _begin(self, run: Run) -> None:
        """All the containers of the pod begin together; the others wait for this one."""
        image = run["target"]["definition"] == "image"
        self._bench.begin(run, "istio-proxy", CONTAINER, "ansible", *(["teardown"] if image else []))
        self._bench.say(run, CONTAINER, ["Waiting for Sidecar", "Sidecar available"])
        if image:
            self._bench.next(run, 0.0, "teardown-waits")
        self._bench.say(run, "ansible", ["Waiting for Inventory"])
        self.log(run, f"Starting CFS Inventory version={VERSION}, namespace=services")
        self.log(run, f"Inventory target={run['target']['definition']} for cfsession={run['name']}")
        step = "image-inventory" if image else "inventory"
        self._bench.next(run, self._bench.chance(1.0, 3.0, run["job"], "inventory"), step, 1)

    def _generate(self, run: Run, attempt: int) -> None:
        try:
            files = self.from_files(run)
            groups = self._groups(run, attempt)
        except HsmUnavailable:
            self._bench.next(run, min(0.5 * 2**attempt, 120.0), "inventory", attempt + 1)
        except Silent:
            self._bench.next(run, 5.0, "inventory", attempt)
        else:
            if groups is not None:
                self.done(run, groups, files)

    def _groups(self, run: Run, attempt: int) -> dict[str, list[str]] | None:
        """None when there is no inventory, and the container has failed."""
        definition = run["target"]["definition"]
        if definition == "dynamic":
            return self._dynamic(run, attempt)
        if definition == "spec":
            groups = spec_groups(run)
            shown: dict[str, dict[str, dict[str, Any]]] = {
                name: {"hosts": {host: {} for host in members}} for name, members in groups.items()
            }
            self.log(run, f"Inventory generated: {json.dumps(shown, indent=2)} ", name=f"{_LOGGER}.spec")
            return groups
        self.log(
            run,
            "Verifying inventory directory '/inventory/hosts' exists for 'repo' inventory target.",
            name=f"{_LOGGER}.repo",
        )
        if not run["hosts"]:
            problem = "[Errno 2] No such file or directory: '/inventory/hosts'"
            self.log(run, f"An unknown exception occurred: {problem}", "ERROR")
            self._bench.next(run, 0.2, "inventory-failed")
            return None
        return {}

    def _dynamic(self, run: Run, attempt: int) -> dict[str, list[str]]:
        named = terms(run["ansible"].get("limit") or "")
        exact = 0 < len(named) <= _MOST_ASKED and all(self._bench.context.machine.part(name) for name in named)
        logger = f"{_LOGGER}.dynamic"
        try:
            groups, refused = self._hsm.only(named) if exact else self._hsm.everybody()
        except HsmUnavailable as error:
            if attempt <= _HSM_TRIES:
                raise
            for kind in ("groups", "partitions", "component"):
                message = f"Encountered an unknown exception getting {kind} data: {error}"
                self.log(run, message, "ERROR", logger)
            groups, refused = {}, []
        for name in refused:
            message = f"Encountered an invalid Ansible group name. Ignoring HSM group {name}"
            self.log(run, message, "WARNING", logger)
        self.log(run, f"Dynamic inventory found a total of {len(groups)} groups", name=logger)
        return groups

    def from_files(self, run: Run) -> Found:
        """What the repository of additional inventory says; raises ``Silent`` and ``NotYet``."""
        if not run["hosts"]:
            return Found()
        try:
            return read_hosts(self._library.open(run["hosts"]))
        except Paused as paused:
            raise NotYet from paused
        except (NoRepository, NoCommit):
            # It was cloned and has gone from VCS since; the container has its copy, this machine started anew has not.
            return Found()

    def done(
        self, run: Run, groups: dict[str, list[str]], files: Found, host_vars: dict[str, dict[str, Any]] | None = None
    ) -> None:
        if run["target"]["definition"] != "repo":
            self.log(run, f"Writing out the inventory to {FILE}")
        together = {
            "groups": {**files.flattened(), **groups},
            "host_vars": {**files.host_vars, **(host_vars or {})},
            "group_vars": files.group_vars,
        }
        self._bench.end(run, CONTAINER, 0)
        changed = self._bench.put(run, inventory=plain(together), generated=list(groups))
        self._bench.next(changed, self._bench.chance(0.5, 3.0, run["job"], "ansible"), "ansible")

    def failed(self, run: Run) -> None:
        self._bench.end(run, CONTAINER, 1)
        self._bench.say(run, "ansible", ["Inventory generation failed. Exiting"])
        self._bench.next(run, self._bench.chance(0.2, 3.0, run["job"], "inventory failed"), "ansible-ends", 1)

    def log(self, run: Run, message: str, level: str = "INFO", name: str = _LOGGER) -> None:
        moment, text = line(self._bench.context.clock.now(), name, message, level)
        self._bench.say(run, CONTAINER, [(moment, piece) for piece in text.split("\n")])


def spec_groups(run: Run) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for group in run["target"].get("groups") or ():
        groups.setdefault(group["name"], []).extend(group["members"])
    return groups
