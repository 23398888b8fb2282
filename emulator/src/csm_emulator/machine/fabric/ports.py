"""The effective state of a switch port: which VLANs and VNIs it passes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypedDict

TAGGED, UNTAGGED = "tagged", "untagged"
DEFAULT_VLAN = 1
"""The VLAN of a port without a configured VLAN."""
SPEED = "BS_200G"
PRIORITY_TAG = 0
"""802.1Q: a tag with VLAN 0 carries only a priority; the frame counts as untagged."""

Ranges = tuple[tuple[int, int], ...]


class FrameDropped(Exception):
    """A frame was dropped at ``last_hop``, which is a port, switch or NIC; the text says why."""

    def __init__(self, last_hop: str, reason: str) -> None:
        super().__init__(f"{last_hop} {reason}")
        self.last_hop = last_hop


class PortData(TypedDict):
    """A port's state as plain data: see ``PortState``."""

    online: bool
    native: int | None
    allowed: list[int] | None
    untagged: bool
    vnis: list[list[int]] | None
    speed: str


class PortSettings(TypedDict):
    """A port's state without its VNIs: see ``PortState``."""

    online: bool
    native: int | None
    allowed: frozenset[int] | None
    untagged: bool
    speed: str


class PortChanges(TypedDict, total=False):
    """Changes of a port's state: see ``PortState``."""

    online: bool
    native: int | None
    allowed: frozenset[int] | None
    untagged: bool
    vnis: Ranges | None
    speed: str


@dataclass(frozen=True, slots=True)
class PortState:
    online: bool
    native: int | None
    """The VLAN of frames without a tag."""
    allowed: frozenset[int] | None
    """The VLANs whose tagged frames pass; None is every VLAN."""
    untagged: bool
    """Whether frames without a tag pass."""
    vnis: Ranges | None
    """The VNIs that RDMA may use; None is every VNI, without enforcement."""
    speed: str

    def ingress_vlan(self, port: str, tag: int | None) -> int:
        """The VLAN of a frame that arrives from the cable; raises ``FrameDropped`` if the port does not accept it."""
        self.check_online(port)
        if tag is None or tag == PRIORITY_TAG:
            if not self.untagged or self.native is None:
                raise FrameDropped(port, "accepts no untagged frames")
            return self.native
        if not self.carries(tag):
            raise FrameDropped(port, f"accepts no frames of VLAN {tag}")
        return tag

    def egress_tagging(self, port: str, vlan: int) -> str:
        """Whether the port sends a frame of this VLAN tagged or untagged; raises ``FrameDropped`` if it sends none."""
        self.check_online(port)
        if self.untagged and vlan == self.native:
            return UNTAGGED
        if not self.carries(vlan):
            raise FrameDropped(port, f"sends no frames of VLAN {vlan}")
        return TAGGED

    def check_online(self, port: str) -> None:
        if not self.online:
            raise FrameDropped(port, "is offline")

    def carries(self, vlan: int) -> bool:
        """Whether tagged frames of this VLAN pass."""
        return self.allowed is None or vlan in self.allowed

    def check_vni(self, port: str, vni: int) -> None:
        self.check_online(port)
        if self.vnis is not None and not any(first <= vni <= last for first, last in self.vnis):
            raise FrameDropped(port, f"does not allow VNI {vni}")

    def data(self) -> PortData:
        """As plain data, for tables, the log and the control API."""
        return {
            "online": self.online,
            "native": self.native,
            "allowed": None if self.allowed is None else sorted(self.allowed),
            "untagged": self.untagged,
            "vnis": None if self.vnis is None else [list(span) for span in self.vnis],
            "speed": self.speed,
        }


def read_state(data: PortData) -> PortState:
    allowed, vnis = data["allowed"], data["vnis"]
    return PortState(
        data["online"],
        data["native"],
        None if allowed is None else frozenset(allowed),
        data["untagged"],
        None if vnis is None else tuple((first, last) for first, last in vnis),
        data["speed"],
    )


def join_ranges(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The same numbers in the fewest ranges, ascending."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(joined)


EDGE = PortState(True, DEFAULT_VLAN, frozenset({DEFAULT_VLAN}), True, None, SPEED)
"""An unconfigured port towards a node: all of them are in one VLAN."""
FABRIC = PortState(True, None, None, False, None, SPEED)
"""A port towards another switch: every VLAN, always tagged."""
DOWN = PortState(False, None, frozenset(), False, None, SPEED)
"""A port that is not in the plan."""
