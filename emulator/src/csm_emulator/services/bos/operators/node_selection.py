"""Which nodes a session is about: what its template names, less what may not be touched."""

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
    """Groups, partitions and roles of HSM, each asked for at most once, and only when a session needs it."""

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
    """Why a session cannot run; it is over with this error."""


class NodeChoice:
    def __init__(self, bos: Bos, inventory: Inventory, session: Record) -> None:
        self._bos = bos
        self._inventory = inventory
        self._session = session

    def of(self, boot_set: Record) -> Nodes:
        """Raises ``SetupFailure``, and ``Failure`` when somebody does not answer."""
        nodes = self._named(boot_set)
        arch = boot_set.get("arch", "X86")
        for narrow in (self._limited, self._unlocked, self._of_tenant, lambda left: self._of_arch(left, arch)):
            if nodes:
                nodes = narrow(nodes)
        return self._not_disabled(nodes) if nodes else nodes

    def _named(self, boot_set: Record) -> Nodes:
        nodes = set(boot_set.get("node_list", ()))
        strange = nodes - self._of_tenant(nodes) if nodes else nodes
        if strange:
            raise SetupFailure(
                "The session template includes nodes which do not exist or are not available to this tenant:"
                f" {','.join(sorted(strange))}"
            )
        for label in boot_set.get("node_groups", ()):
            nodes |= self._inventory.groups.get(label, set())
        for role in boot_set.get("node_roles_groups", ()):
            nodes |= self._inventory.roles.get(role, set())
        return nodes

    def _limited(self, nodes: Nodes) -> Nodes:
        """Items add, with ``&`` before them keep, with ``!`` take away, from left to right."""
        if not self._session.get("limit"):
            return nodes
        chosen: Nodes = set()
        for item in self._session["limit"].split(","):
            if not item:
                raise Failure("IndexError", "string index out of range")
            name = item[1:] if item[0] in "&!" else item
            meant = nodes if name in EVERYTHING else self._inventory.everything.get(name, {name})
            if item[0] == "&":
                chosen = chosen & meant
            elif item[0] == "!":
                chosen = chosen - meant
            else:
                chosen = chosen | meant
        return nodes & chosen

    def _unlocked(self, nodes: Nodes) -> Nodes:
        return nodes - self._bos.neighbours.locked()

    def _of_tenant(self, nodes: Nodes) -> Nodes:
        tenant = self._session.get("tenant")
        if not tenant:
            return nodes
        try:
            return nodes & self._bos.tenants.members(tenant)
        except InvalidTenant as none:
            raise SetupFailure(str(none)) from None

    def _of_arch(self, nodes: Nodes, arch: str) -> Nodes:
        """What HSM does not know the architecture of counts as x86."""
        fitting = {arch, "UNKNOWN"} if arch == "X86" else {arch}
        found = self._bos.neighbours.hsm_components(sorted(nodes))
        return {component["ID"] for component in found if component.get("Arch", "Unknown") in fitting}

    def _not_disabled(self, nodes: Nodes) -> Nodes:
        if self._session.get("include_disabled"):
            return nodes
        found = self._bos.neighbours.hsm_components(sorted(nodes), only_enabled=True)
        return {component["ID"] for component in found}
