"""Which nodes are in a tenant's groups and partitions of HSM.

What is to be changed is the difference between spec and status, type by type; HSM itself is not held against it.
"""

from __future__ import annotations

from collections.abc import Iterable

from csm_emulator.clients.hsm import GROUPS, PARTITIONS
from csm_emulator.records import Json
from csm_emulator.services.tapms.hsm_groups import HsmGroups
from csm_emulator.services.tapms.kubernetes_client import Tenant
from csm_emulator.services.tapms.tenant import resources, spec_of, status_of


def change_partitions(hsm: HsmGroups, tenant: Tenant) -> None:
    """Nodes leave before others come. A type that is new joins only when the partition is made with it."""
    wanted, known = resources(spec_of(tenant)), _by_type(resources(status_of(tenant)))
    for resource in wanted:
        name = resource.get("hsmpartitionname")
        if not name:
            continue
        if not hsm.has(PARTITIONS, name):
            hsm.create(PARTITIONS, name, tenant["metadata"]["name"], resource["xnames"] or ())
            continue
        same = [one for one in wanted if one.get("hsmpartitionname") == name and one["type"] in known]
        for one in same:
            hsm.remove_members(PARTITIONS, name, _without(known[one["type"]]["xnames"], one["xnames"]))
        for one in same:
            hsm.add_members(PARTITIONS, name, _without(one["xnames"], known[one["type"]]["xnames"]))


def change_groups(hsm: HsmGroups, tenant: Tenant) -> None:
    wanted, known = resources(spec_of(tenant)), _by_type(resources(status_of(tenant)))
    for resource in wanted:
        if resource.get("hsmgrouplabel"):
            _change_group(hsm, tenant["metadata"]["name"], resource, known.get(resource["type"]))
    types = {resource["type"] for resource in wanted}
    for kind, gone in known.items():
        if gone.get("hsmgrouplabel") and kind not in types:
            hsm.remove_members(GROUPS, gone["hsmgrouplabel"], gone["xnames"] or ())


def _change_group(hsm: HsmGroups, tenant: str, resource: Json, before: Json) -> None:
    label, xnames = resource["hsmgrouplabel"], resource["xnames"] or ()
    if not hsm.has(GROUPS, label):
        hsm.create(GROUPS, label, tenant, xnames, exclusive=resource["enforceexclusivehsmgroups"])
    elif before is None:
        hsm.add_members(GROUPS, label, xnames)
    else:
        hsm.remove_members(GROUPS, label, _without(before["xnames"], xnames))
        hsm.add_members(GROUPS, label, _without(xnames, before["xnames"]))


def take_apart(hsm: HsmGroups, tenant: Tenant) -> None:
    for resource in resources(spec_of(tenant)):
        if name := resource.get("hsmpartitionname"):
            hsm.delete(PARTITIONS, name)
    for resource in resources(spec_of(tenant)):
        if label := resource.get("hsmgrouplabel"):
            hsm.delete(GROUPS, label)


def _by_type(found: Iterable[Json]) -> dict[str, Json]:
    return {resource["type"]: resource for resource in found}


def _without(xnames: Iterable[str] | None, others: Iterable[str] | None) -> list[str]:
    gone = frozenset(others or ())
    return [xname for xname in xnames or () if xname not in gone]
