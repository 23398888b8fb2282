"""A ping under way: what it was told, what it has counted, and what it says."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

from csm_emulator.machine.fabric.packets import Packet

HEADERS = 28
"""Of IP and ICMP, in bytes."""
ICMP = 8
STAMP = 16
"""A packet that has no room for the moment when it was sent has no time when it comes back."""


@dataclass(frozen=True, slots=True)
class Ping:
    name: str
    address: str
    source: str
    """The node's own address on the way there."""
    via: str = ""
    """The interface that it was told to use."""
    count: int = 0
    """0 until it is interrupted."""
    interval: float = 1.0
    deadline: float = 0.0
    size: int = 56
    quiet: bool = False
    numeric: bool = False
    sent: int = 0
    received: int = 0
    shortest: float = 0.0
    longest: float = 0.0
    total: float = 0.0
    """Of the times of the answers, in seconds."""
    squares: float = 0.0
    """The sum of theirs."""

    @property
    def complete(self) -> bool:
        return 0 < self.count <= self.sent

    @property
    def late(self) -> bool:
        """Whether time is up at the moment when the next would be sent."""
        return 0 < self.deadline <= self.sent * self.interval

    @property
    def pause(self) -> float:
        """Until the next is sent, or time is up."""
        remaining = self.deadline - (self.sent - 1) * self.interval
        return min(self.interval, remaining) if self.deadline else self.interval

    @property
    def code(self) -> int:
        """With a deadline everything that was asked for has to come back in time."""
        return 0 if self.received and not (self.deadline and self.received < self.count) else 1

    def after(self, packet: Packet) -> Ping:
        """One more is sent, and maybe answered."""
        result = replace(self, sent=self.sent + 1)
        if not packet.reached:
            return result
        return replace(
            result,
            received=self.received + 1,
            shortest=min(self.shortest, packet.seconds) if self.received else packet.seconds,
            longest=max(self.longest, packet.seconds),
            total=self.total + packet.seconds,
            squares=self.squares + packet.seconds * packet.seconds,
        )

    def as_data(self) -> dict[str, Any]:
        """For a shelf; ten thousand nodes may ping at once, so what is as usual is left out."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {name: value for name, (value, usual) in values.items() if value != usual}


def opening_line(ping: Ping, bound: str) -> str:
    """``bound`` is the interface or the address that it was told to use, as ping words it."""
    return f"PING {ping.name} ({ping.address}) {bound}{ping.size}({ping.size + HEADERS}) bytes of data.\n"


def reply_line(ping: Ping, packet: Packet) -> str:
    """The line for what was sent last."""
    if ping.quiet:
        return ""
    if not packet.reached:
        return f"From {ping.source} icmp_seq={ping.sent} Destination Host Unreachable\n"
    who = ping.address if ping.numeric or ping.name == ping.address else f"{ping.name} ({ping.address})"
    took = f" time={1000 * packet.seconds:.3f} ms" if ping.size >= STAMP else ""
    return f"{ping.size + ICMP} bytes from {who}: icmp_seq={ping.sent} ttl=64{took}\n"


def statistics_lines(ping: Ping) -> str:
    """The statistics at the end."""
    unanswered = ping.sent - ping.received
    loss_percent = 100 * unanswered / ping.sent if ping.sent else 0
    total = round(max(ping.sent - 1, 0) * ping.interval * 1000)
    errors = f"+{unanswered} errors, " if unanswered else ""
    text = f"\n--- {ping.name} ping statistics ---\n{ping.sent} packets transmitted, {ping.received} received, "
    text += f"{errors}{loss_percent:.6g}% packet loss, time {total}ms\n"
    if ping.received and ping.size >= STAMP:
        mean = ping.total / ping.received
        spread = math.sqrt(max(ping.squares / ping.received - mean * mean, 0.0))
        times = (ping.shortest, mean, ping.longest, spread)
        text += "rtt min/avg/max/mdev = " + "/".join(f"{1000 * one:.3f}" for one in times) + " ms\n"
    return text
