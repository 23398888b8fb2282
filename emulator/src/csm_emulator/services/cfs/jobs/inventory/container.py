"""The container ``inventory``: it generates the inventory for the targets dynamic, spec and repo."""

from __future__ import annotations

import json

from csm_emulator.clients.hsm import HsmClient
from csm_emulator.records import Record
from csm_emulator.services.cfs.ansible.hosts import terms
from csm_emulator.services.cfs.ansible.playbooks.layer_files import ReadingPaused
from csm_emulator.services.cfs.ansible.values import plain
from csm_emulator.services.cfs.jobs.inventory.files import FILE, inventory_files
from csm_emulator.services.cfs.jobs.inventory.host_files import FileInventory, read_hosts
from csm_emulator.services.cfs.jobs.inventory.hsm_groups import HsmGroups, HsmUnavailable
from csm_emulator.services.cfs.jobs.job_context import JobContext, Run
from csm_emulator.services.cfs.jobs.log_lines import VERSION, line
from csm_emulator.services.cfs.jobs.repositories import (
    CommitNotFound,
    RepositoryCache,
    RepositoryNotFound,
    VcsUnavailable,
)
from csm_emulator.state.scheduler import ActionNotReady

CONTAINER = "inventory"
_LOGGER = "cray.cfs.inventory"
_HSM_TRIES = 10
_MAX_NAMES = 500
"""Largest number of hosts that HSM is asked about by name; beyond it the whole machine is requested."""


class InventoryContainer:
    def __init__(self, job_context: JobContext, repositories: RepositoryCache) -> None:
        self._job_context = job_context
        self._repositories = repositories
        self._hsm = HsmGroups(HsmClient(job_context.context.mesh))
        job_context.context.cluster.volumes.append(
            lambda pod, container: inventory_files(job_context.run_of_pod(pod), container)
        )
        job_context.on_step("containers", self._begin)
        job_context.on_step("inventory", self._generate)
        job_context.on_step("inventory-failed", self.failed)

    def _begin(self, run: Run) -> None:
        """All containers of the pod start together; the others wait for this one."""
        image = run["target"]["definition"] == "image"
        self._job_context.begin(run, "istio-proxy", CONTAINER, "ansible", *(["teardown"] if image else []))
        self._job_context.say(run, CONTAINER, ["Waiting for Sidecar", "Sidecar available"])
        if image:
            self._job_context.schedule(run, 0.0, "teardown-waits")
        self._job_context.say(run, "ansible", ["Waiting for Inventory"])
        self.log(run, f"Starting CFS Inventory version={VERSION}, namespace=services")
        self.log(run, f"Inventory target={run['target']['definition']} for cfsession={run['name']}")
        step = "image-inventory" if image else "inventory"
        self._job_context.schedule(run, self._job_context.random_seconds(1.0, 3.0, run["job"], "inventory"), step, 1)

    def _generate(self, run: Run, attempt: int) -> None:
        try:
            files = self.from_files(run)
            groups = self._groups(run, attempt)
        except HsmUnavailable:
            self._job_context.schedule(run, min(0.5 * 2**attempt, 120.0), "inventory", attempt + 1)
        except VcsUnavailable:
            self._job_context.schedule(run, 5.0, "inventory", attempt)
        else:
            if groups is not None:
                self.complete(run, groups, files)

    def _groups(self, run: Run, attempt: int) -> dict[str, list[str]] | None:
        """Hosts by group; None when the inventory cannot be generated and the container has failed."""
        definition = run["target"]["definition"]
        if definition == "dynamic":
            return self._dynamic(run, attempt)
        if definition == "spec":
            groups = spec_groups(run)
            inventory: dict[str, dict[str, Record]] = {
                name: {"hosts": {host: {} for host in members}} for name, members in groups.items()
            }
            self.log(run, f"Inventory generated: {json.dumps(inventory, indent=2)} ", name=f"{_LOGGER}.spec")
            return groups
        self.log(
            run,
            "Verifying inventory directory '/inventory/hosts' exists for 'repo' inventory target.",
            name=f"{_LOGGER}.repo",
        )
        if not run["hosts"]:
            problem = "[Errno 2] No such file or directory: '/inventory/hosts'"
            self.log(run, f"An unknown exception occurred: {problem}", "ERROR")
            self._job_context.schedule(run, 0.2, "inventory-failed")
            return None
        return {}

    def _dynamic(self, run: Run, attempt: int) -> dict[str, list[str]]:
        limit_terms = terms(run["ansible"].get("limit") or "")
        by_name = 0 < len(limit_terms) <= _MAX_NAMES and all(
            self._job_context.context.machine.part(name) for name in limit_terms
        )
        logger = f"{_LOGGER}.dynamic"
        try:
            groups, invalid_names = self._hsm.groups_of(limit_terms) if by_name else self._hsm.all_groups()
        except HsmUnavailable as error:
            if attempt <= _HSM_TRIES:
                raise
            for kind in ("groups", "partitions", "component"):
                message = f"Encountered an unknown exception getting {kind} data: {error}"
                self.log(run, message, "ERROR", logger)
            groups, invalid_names = {}, []
        for name in invalid_names:
            message = f"Encountered an invalid Ansible group name. Ignoring HSM group {name}"
            self.log(run, message, "WARNING", logger)
        self.log(run, f"Dynamic inventory found a total of {len(groups)} groups", name=logger)
        return groups

    def from_files(self, run: Run) -> FileInventory:
        """The inventory in the repository of additional inventory; raises ``VcsUnavailable`` and ``ActionNotReady``."""
        if not run["hosts"]:
            return FileInventory()
        try:
            return read_hosts(self._repositories.open(run["hosts"]))
        except ReadingPaused as paused:
            raise ActionNotReady from paused
        except (RepositoryNotFound, CommitNotFound):
            # The repository was deleted from VCS after it was cloned, and the emulator restarted without its cache.
            return FileInventory()

    def complete(
        self,
        run: Run,
        groups: dict[str, list[str]],
        files: FileInventory,
        host_vars: dict[str, Record] | None = None,
    ) -> None:
        if run["target"]["definition"] != "repo":
            self.log(run, f"Writing out the inventory to {FILE}")
        inventory = {
            "groups": {**files.flattened(), **groups},
            "host_vars": {**files.host_vars, **(host_vars or {})},
            "group_vars": files.group_vars,
        }
        self._job_context.end(run, CONTAINER, 0)
        changed = self._job_context.put(run, inventory=plain(inventory), generated=list(groups))
        self._job_context.schedule(
            changed, self._job_context.random_seconds(0.5, 3.0, run["job"], "ansible"), "ansible"
        )

    def failed(self, run: Run) -> None:
        self._job_context.end(run, CONTAINER, 1)
        self._job_context.say(run, "ansible", ["Inventory generation failed. Exiting"])
        self._job_context.schedule(
            run, self._job_context.random_seconds(0.2, 3.0, run["job"], "inventory failed"), "ansible-ends", 1
        )

    def log(self, run: Run, message: str, level: str = "INFO", name: str = _LOGGER) -> None:
        moment, text = line(self._job_context.context.clock.now(), name, message, level)
        self._job_context.say(run, CONTAINER, [(moment, piece) for piece in text.split("\n")])


def spec_groups(run: Run) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for group in run["target"].get("groups") or ():
        groups.setdefault(group["name"], []).extend(group["members"])
    return groups
