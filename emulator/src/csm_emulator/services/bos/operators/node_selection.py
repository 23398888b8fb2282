"""The nodes of a session: those that its template names, without nodes that the session may not change."""

from __future__ import annotations

from functools import cached_property

from csm_emulator.records import Record
from csm_emulator.services.bos.clients import Neighbours
from csm_emulator.services.bos.context import Bos
from csm_emulator.services.bos.failures import Failure
from csm_emulator.services.bos.tenants import InvalidTenant

Nodes = set[str]
EVERYTHING = frozenset({"all", "*"})


class Inventory:
    """Groups, partitions and roles of HSM, each requested at most once, and only when a session needs it."""

    def __init__(self, neighbours: Neighbours) -> None:
        self._neighbours = neighbours

    @cached_property
    def groups(self) -> dict[str, Nodes]:
        return self._neighbours.groups()

    @cached_property
    def roles(self) -> dict[str, Nodes]:
        return self._neighbours.roles()

    @cached_property
    def everything(self) -> dict[str, Nodes]:
        return {**self.groups, **self._neighbours.partitions(), **self.roles}


class SetupFailure(Exception):
    """The session cannot run: it completes with this error."""


class NodeSelection:
    def __init__(self, bos: Bos, inventory: Inventory, session: Record) -> None:
        self._bos = bos
        self._inventory = inventory
        self._session = session

    def nodes_of(self, boot_set: Record) -> Nodes:
        """The nodes of a boot set. Raises ``SetupFailure``, and ``Failure`` when another service does not answer."""
        nodes = self._template_nodes(boot_set)
        arch = boot_set.get("arch", "X86")
        for restrict in (
            self._within_limit,
            self._unlocked,
            self._of_tenant,
            lambda remaining: self._of_arch(remaining, arch),
        ):
            if nodes:
                nodes = restrict(nodes)
        return self._not_disabled(nodes) if nodes else nodes

    def _template_nodes(self, boot_set: Record) -> Nodes:
        nodes = set(boot_set.get("node_list", ()))
        unavailable = nodes - self._of_tenant(nodes) if nodes else nodes
        if unavailable:
            raise SetupFailure(
                "The session template includes nodes which do not exist or are not available to this tenant:"
                f" {','.join(sorted(unavailable))}"
            )
        for label in boot_set.get("node_groups", ()):
            nodes |= self._inventory.groups.get(label, set())
        for role in boot_set.get("node_roles_groups", ()):
            nodes |= self._inventory.roles.get(role, set())
        return nodes

    def _within_limit(self, nodes: Nodes) -> Nodes:
        """The limit is read from left to right: an item adds its nodes, ``&item`` intersects, ``!item`` removes."""
        if not self._session.get("limit"):
            return nodes
        selected_nodes: Nodes = set()
        for item in self._session["limit"].split(","):
            if not item:
                raise Failure("IndexError", "string index out of range")
            name = item[1:] if item[0] in "&!" else item
            item_nodes = nodes if name in EVERYTHING else self._inventory.everything.get(name, {name})
            if item[0] == "&":
                selected_nodes = selected_nodes & item_nodes
            elif item[0] == "!":
                selected_nodes = selected_nodes - item_nodes
            else:
                selected_nodes = selected_nodes | item_nodes
        return nodes & selected_nodes

    def _unlocked(self, nodes: Nodes) -> Nodes:
        return nodes - self._bos.neighbours.locked()

    def _of_tenant(self, nodes: Nodes) -> Nodes:
        tenant = self._session.get("tenant")
        if not tenant:
            return nodes
        try:
            return nodes & self._bos.tenants.members(tenant)
        except InvalidTenant as error:
            raise SetupFailure(str(error)) from None

    def _of_arch(self, nodes: Nodes, arch: str) -> Nodes:
        """Nodes of this architecture; a node whose architecture HSM does not know counts as X86."""
        arches = {arch, "UNKNOWN"} if arch == "X86" else {arch}
        components = self._bos.neighbours.hsm_components(sorted(nodes))
        return {component["ID"] for component in components if component.get("Arch", "Unknown") in arches}

    def _not_disabled(self, nodes: Nodes) -> Nodes:
        if self._session.get("include_disabled"):
            return nodes
        components = self._bos.neighbours.hsm_components(sorted(nodes), only_enabled=True)
        return {component["ID"] for component in components}
