"""The working links between switches at one moment, and the shortest paths over them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from csm_emulator.machine.fabric.plan import FabricPlan
from csm_emulator.machine.fabric.ports import PortState


@dataclass(frozen=True, slots=True)
class Link:
    """One direction of a cable between two switches."""

    egress: str
    """The port that sends a frame; ``ingress`` is the port of the next switch that receives it."""
    ingress: str
    switch: str
    """The switch of ``ingress``."""
    near: PortState
    far: PortState

    def passes(self, vlan: int | None) -> bool:
        return vlan is None or (self.near.carries(vlan) and self.far.carries(vlan))


class Links:
    """A snapshot: any change of a port between switches, a cable or a switch's power makes a new one necessary."""

    def __init__(
        self,
        plan: FabricPlan,
        end: Callable[[str], str | None],
        state: Callable[[str], PortState],
        powered: frozenset[str],
    ) -> None:
        self._plan = plan
        self.powered = powered
        self._links: dict[str, list[Link]] = {}
        self.uniform = True
        """Whether every link passes every VLAN, so that paths do not depend on the VLAN."""
        for link, switch in self._working(end, state):
            self._links.setdefault(switch, []).append(link)
            self.uniform = self.uniform and link.near.allowed is None and link.far.allowed is None
        self._trees: dict[tuple[str, int | None], dict[str, tuple[str, Link]]] = {}
        self._zones: dict[int | None, dict[str, int]] = {}

    def _working(
        self, end: Callable[[str], str | None], state: Callable[[str], PortState]
    ) -> Iterator[tuple[Link, str]]:
        for port in self._plan.ports.values():
            if port.edge or port.switch.xname not in self.powered:
                continue
            far = self._plan.ports.get(end(port.xname) or "")
            if far is None or far.edge or far.switch.xname not in self.powered:
                continue
            near_state, far_state = state(port.xname), state(far.xname)
            if near_state.online and far_state.online:
                yield Link(port.xname, far.xname, far.switch.xname, near_state, far_state), port.switch.xname

    def zone(self, switch: str, vlan: int | None) -> int:
        """A number that is equal for switches connected in the VLAN; None is any frame."""
        key = None if self.uniform else vlan
        if key not in self._zones:
            self._zones[key] = self._divide(key)
        return self._zones[key].get(switch, -1)

    def _divide(self, vlan: int | None) -> dict[str, int]:
        zones: dict[str, int] = {}
        for switch in self._plan.switches:
            if switch in self.powered and switch not in zones:
                # A link passes a VLAN in both directions or in none, so reachability is symmetric.
                number = len(zones)
                zones |= dict.fromkeys([switch, *self._tree(switch, vlan)], number)
        return zones

    def path(self, source: str, target: str, vlan: int | None) -> Sequence[str] | None:
        """The ports from one switch to another, egress and ingress alternately; None if there is no path."""
        if source == target:
            return ()
        key = (source, None if self.uniform else vlan)
        if key not in self._trees:
            self._trees[key] = self._tree(*key)
        tree = self._trees[key]
        if target not in tree:
            return None
        ports: list[str] = []
        while target != source:
            target, link = tree[target]
            ports += [link.ingress, link.egress]
        return ports[::-1]

    def _tree(self, source: str, vlan: int | None) -> dict[str, tuple[str, Link]]:
        """For each reachable switch, the previous switch and the link of a shortest path."""
        tree: dict[str, tuple[str, Link]] = {}
        queue = deque([source])
        while queue:
            switch = queue.popleft()
            for link in self._links.get(switch, ()):
                if link.switch not in tree and link.switch != source and link.passes(vlan):
                    tree[link.switch] = (switch, link)
                    queue.append(link.switch)
        return tree
