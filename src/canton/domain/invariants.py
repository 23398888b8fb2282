"""Rules that hold in every reachable state: one function per rule, for planners, the reconciler and tests.

A rule's name is its function's name, and its docstring is its reason. A rule yields each violation as
(subject, finding). Rules read one ``SystemSnapshot`` and report; they never repair. A port of something other than a
compute node (a gateway, a storage server) may carry one tenant; ``isolation`` proves whether it is the right one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from canton.domain.errors import InvariantBroken
from canton.domain.lifecycle import is_transient, must_have_tenant
from canton.domain.node import Node


@dataclass(frozen=True, slots=True)
class Claim:
    """An operation's exclusive hold on a node, not yet released."""

    node: str
    operation: str
    purpose: str
    since: int


@dataclass(frozen=True, slots=True)
class Port:
    """A switch edge port as it was read back."""

    name: str
    node: str | None
    """The xname of the compute node behind it; None if something else is."""
    tenants: frozenset[str]
    """The tenants whose segments it carries."""


@dataclass(frozen=True, slots=True)
class SystemSnapshot:
    """A consistent snapshot of everything that the rules check."""

    nodes: tuple[Node, ...] = ()
    claims: tuple[Claim, ...] = ()
    operations: frozenset[str] = frozenset()
    """The operations that are open."""
    ports: tuple[Port, ...] = ()


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that does not hold, the object that breaks it, and what is wrong with it."""

    invariant: str
    subject: str
    finding: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.finding} ({self.invariant})"


Findings: TypeAlias = Iterator[tuple[str, str]]


def tenant_matches_state(snapshot: SystemSnapshot) -> Findings:
    """Policy and planners would take a node without an owner for a tenant's if it names that tenant."""
    for node in snapshot.nodes:
        if must_have_tenant(node.state) != (node.tenant is not None):
            yield node.xname, f"is {node.state} and names {node.tenant or 'no tenant'}"


def transient_node_is_claimed(snapshot: SystemSnapshot) -> Findings:
    """A node in the middle of a change that no open operation drives would stay there forever."""
    driven = {claim.node for claim in snapshot.claims if claim.operation in snapshot.operations}
    for node in snapshot.nodes:
        if is_transient(node.state) and node.xname not in driven:
            yield node.xname, f"is {node.state} and no open operation claims it"


def one_claim_per_node(snapshot: SystemSnapshot) -> Findings:
    """Two operations on one node would undo each other's steps and each read back the other's work."""
    for node, count in Counter(claim.node for claim in snapshot.claims).items():
        if count > 1:
            holders = sorted(claim.operation for claim in snapshot.claims if claim.node == node)
            yield node, f"is claimed {count} times, by {', '.join(holders)}"


def claim_has_open_operation(snapshot: SystemSnapshot) -> Findings:
    """A claim that outlives its operation blocks every other operation, and no operation would release it."""
    for claim in snapshot.claims:
        if claim.operation not in snapshot.operations:
            yield claim.node, f"is claimed for '{claim.purpose}' by {claim.operation}, which is not open"


def one_tenant_per_port(snapshot: SystemSnapshot) -> Findings:
    """Two tenants on one port can reach each other, which is what Canton exists to prevent."""
    for port in snapshot.ports:
        if len(port.tenants) > 1:
            yield port.name, f"carries {_join(port.tenants)}"


def port_between_tenants_is_empty(snapshot: SystemSnapshot) -> Findings:
    """A node without a tenant, or an unknown one, was not proved clean and must reach no tenant."""
    owned = {node.xname: must_have_tenant(node.state) for node in snapshot.nodes}
    for port in snapshot.ports:
        if port.tenants and port.node is not None and not owned.get(port.node, False):
            yield port.name, f"carries {_join(port.tenants)} to {port.node}, which has no tenant"


def port_carries_own_tenant(snapshot: SystemSnapshot) -> Findings:
    """A tenant's root on the node would otherwise sit inside another tenant's network."""
    owners = {node.xname: node.tenant for node in snapshot.nodes if must_have_tenant(node.state)}
    for port in snapshot.ports:
        if port.node in owners and (foreign := port.tenants - {owners[port.node]}):
            yield port.name, f"carries {_join(foreign)} to {port.node}, which is {owners[port.node]}'s"


def nid_is_unique(snapshot: SystemSnapshot) -> Findings:
    """Host names and boot parameters go by nid, so one nid on two nodes boots one tenant's node as another's."""
    holders: dict[int, list[str]] = {}
    for node in snapshot.nodes:
        if node.nid is not None:
            holders.setdefault(node.nid, []).append(node.xname)
    for nid, xnames in holders.items():
        if len(xnames) > 1:
            yield f"nid {nid}", f"belongs to {' and '.join(sorted(xnames))}"


INVARIANTS: tuple[Callable[[SystemSnapshot], Findings], ...] = (
    tenant_matches_state,
    transient_node_is_claimed,
    one_claim_per_node,
    claim_has_open_operation,
    one_tenant_per_port,
    port_between_tenants_is_empty,
    port_carries_own_tenant,
    nid_is_unique,
)


def name_of(invariant: Callable[[SystemSnapshot], Findings]) -> str:
    """The name a rule is reported by."""
    return invariant.__name__.replace("_", "-")


def violations(snapshot: SystemSnapshot) -> list[Violation]:
    """All violations, rule by rule."""
    return [
        Violation(name_of(invariant), subject, finding)
        for invariant in INVARIANTS
        for subject, finding in invariant(snapshot)
    ]


def require(snapshot: SystemSnapshot) -> None:
    """Raise ``InvariantBroken`` with all violations, if there are any."""
    broken = violations(snapshot)
    if broken:
        raise InvariantBroken(
            f"Canton's own rules do not hold, {len(broken)} found: {'; '.join(map(str, broken[:5]))}"
            f"{'; …' if len(broken) > 5 else ''}. A person must look at these before the nodes are used",
            violations=[[it.invariant, it.subject, it.finding] for it in broken],
        )


def _join(names: frozenset[str]) -> str:
    return " and ".join(sorted(names))
