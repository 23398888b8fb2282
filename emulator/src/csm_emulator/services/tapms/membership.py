"""Brings a tenant's nodes into its groups and partitions of HSM.

The changes are the differences between spec and status, by resource type; they are not compared with HSM.
"""

from __future__ import annotations

from collections.abc import Iterable

from csm_emulator.clients.hsm import GROUPS, PARTITIONS
from csm_emulator.records import Json
from csm_emulator.services.tapms.hsm_groups import HsmGroups
from csm_emulator.services.tapms.kubernetes_client import Tenant
from csm_emulator.services.tapms.tenant import resources, spec_of, status_of


def change_partitions(hsm: HsmGroups, tenant: Tenant) -> None:
    """Removes nodes before it adds others. Nodes of a new type join only when the partition is created with them."""
    new, current = resources(spec_of(tenant)), _by_type(resources(status_of(tenant)))
    for resource in new:
        name = resource.get("hsmpartitionname")
        if not name:
            continue
        if not hsm.has(PARTITIONS, name):
            hsm.create(PARTITIONS, name, tenant["metadata"]["name"], resource["xnames"] or ())
            continue
        changed = [entry for entry in new if entry.get("hsmpartitionname") == name and entry["type"] in current]
        for entry in changed:
            hsm.remove_members(PARTITIONS, name, _without(current[entry["type"]]["xnames"], entry["xnames"]))
        for entry in changed:
            hsm.add_members(PARTITIONS, name, _without(entry["xnames"], current[entry["type"]]["xnames"]))


def change_groups(hsm: HsmGroups, tenant: Tenant) -> None:
    new, current = resources(spec_of(tenant)), _by_type(resources(status_of(tenant)))
    for resource in new:
        if resource.get("hsmgrouplabel"):
            _change_group(hsm, tenant["metadata"]["name"], resource, current.get(resource["type"]))
    types = {resource["type"] for resource in new}
    for kind, removed in current.items():
        if removed.get("hsmgrouplabel") and kind not in types:
            hsm.remove_members(GROUPS, removed["hsmgrouplabel"], removed["xnames"] or ())


def _change_group(hsm: HsmGroups, tenant: str, resource: Json, current: Json) -> None:
    label, xnames = resource["hsmgrouplabel"], resource["xnames"] or ()
    if not hsm.has(GROUPS, label):
        hsm.create(GROUPS, label, tenant, xnames, exclusive=resource["enforceexclusivehsmgroups"])
    elif current is None:
        hsm.add_members(GROUPS, label, xnames)
    else:
        hsm.remove_members(GROUPS, label, _without(current["xnames"], xnames))
        hsm.add_members(GROUPS, label, _without(xnames, current["xnames"]))


def delete_groups(hsm: HsmGroups, tenant: Tenant) -> None:
    for resource in resources(spec_of(tenant)):
        if name := resource.get("hsmpartitionname"):
            hsm.delete(PARTITIONS, name)
    for resource in resources(spec_of(tenant)):
        if label := resource.get("hsmgrouplabel"):
            hsm.delete(GROUPS, label)


def _by_type(entries: Iterable[Json]) -> dict[str, Json]:
    return {resource["type"]: resource for resource in entries}


def _without(xnames: Iterable[str] | None, excluded: Iterable[str] | None) -> list[str]:
    excluded_set = frozenset(excluded or ())
    return [xname for xname in xnames or () if xname not in excluded_set]
