"""A node as Canton stores it: what was decided about it, not what devices report."""

from __future__ import annotations

from dataclasses import dataclass

from canton.domain.lifecycle import NodeState


@dataclass(frozen=True, slots=True)
class Node:
    """One compute node."""

    xname: str
    nid: int | None
    """The site's number for the node; None until the site has given one."""
    state: NodeState
    tenant: str | None
    """The tenant that the state refers to; while ``joining``, the tenant that gets the node."""
    version: int
    """Grows by one with every change; a plan names the version it was made from."""
