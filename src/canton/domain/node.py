"""A node as Canton keeps it: what was decided about it, not what a device was last seen doing."""

from __future__ import annotations

from dataclasses import dataclass

from canton.domain.lifecycle import NodeState


@dataclass(frozen=True, slots=True)
class Node:
    """One compute node."""

    xname: str
    nid: int | None
    """The site's number for the node; none until the site has given one."""
    state: NodeState
    tenant: str | None
    """Whom the state is about: while ``joining``, the tenant it is being handed to."""
    version: int
    """Grows by one with every change; a plan names the version it was made from."""
