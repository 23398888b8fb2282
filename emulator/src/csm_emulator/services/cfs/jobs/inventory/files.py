"""The files that the container ``inventory`` writes for the other containers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import yaml

from csm_emulator.records import Json, Record
from csm_emulator.services.cfs.jobs.job_context import Run

FILE = "/inventory/hosts/01-cfs-generated.yaml"
_JOBS = "/inventory/image_to_job.yaml"
_COMPLETE = "/inventory/complete"
_CONTAINERS = ("inventory", "ansible", "teardown")
"""Containers that share the volume."""


def inventory_files(run: Run | None, container: str) -> Mapping[str, str | Callable[[], str]]:
    """File contents by path. A long inventory is rendered only when it is read."""
    inventory = run["inventory"] if run else None
    if run is None or inventory is None or container not in _CONTAINERS:
        return {}
    files: dict[str, str | Callable[[], str]] = {_COMPLETE: "0"}
    definition = run["target"]["definition"]
    if definition != "repo":
        files[FILE] = lambda: _to_yaml(_inventory(run["generated"], inventory, definition))
    if definition == "image":
        files[_JOBS] = lambda: _to_yaml(_image_jobs(run))
    return files


def _inventory(generated: list[str], inventory: Record, definition: str) -> Json:
    groups: dict[str, dict[str, Record]] = {
        name: {"hosts": {host: {} for host in inventory["groups"].get(name, ())}} for name in generated
    }
    if definition == "dynamic":
        return {"all": {"children": groups}}
    if definition == "image":
        hosts = groups["cfs_image"]["hosts"]
        groups["cfs_image"]["hosts"] = {host: inventory["host_vars"].get(host, {}) for host in hosts}
    return groups


def _image_jobs(run: Run) -> Json:
    return {
        image_job["name"]: {"job_id": image_job["job"], "image_id": image} for image, image_job in run["images"].items()
    }


def _to_yaml(value: Json) -> str:
    return str(yaml.dump(value, Dumper=yaml.CSafeDumper, default_flow_style=False, indent=2))
