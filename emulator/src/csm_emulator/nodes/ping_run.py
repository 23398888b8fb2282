"""A running ping: its options, its counters and its output."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from csm_emulator.machine.fabric.packets import Packet
from csm_emulator.records import Record

HEADERS = 28
"""Bytes of the headers of IP and ICMP."""
ICMP = 8
STAMP = 16
"""Bytes of the time stamp; smaller packets have no room for it, and no round-trip time."""


@dataclass(frozen=True, slots=True)
class Ping:
    name: str
    address: str
    source: str
    """The source address."""
    via: str = ""
    """The interface given by the user."""
    count: int = 0
    """Number of requests; 0 is no limit."""
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
    """Sum of the round-trip times, in seconds."""
    squares: float = 0.0
    """Sum of their squares."""

    @property
    def complete(self) -> bool:
        return 0 < self.count <= self.sent

    @property
    def late(self) -> bool:
        """Whether the deadline is over when the next request would be sent."""
        return 0 < self.deadline <= self.sent * self.interval

    @property
    def pause(self) -> float:
        """Seconds until the next request or the deadline."""
        remaining = self.deadline - (self.sent - 1) * self.interval
        return min(self.interval, remaining) if self.deadline else self.interval

    @property
    def code(self) -> int:
        """Exit code; with a deadline, all requested replies must arrive in time."""
        return 0 if self.received and not (self.deadline and self.received < self.count) else 1

    def after(self, packet: Packet) -> Ping:
        """The ping after one more request and its reply, if any."""
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

    def as_data(self) -> Record:
        """Plain data for a record table, without default values, as 10,000 nodes may ping at once."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {name: value for name, (value, usual) in values.items() if value != usual}


def opening_line(ping: Ping, bound: str) -> str:
    """The first line; ``bound`` is ping's text about the interface or address given by the user."""
    return f"PING {ping.name} ({ping.address}) {bound}{ping.size}({ping.size + HEADERS}) bytes of data.\n"


def reply_line(ping: Ping, packet: Packet) -> str:
    """The line about the last request."""
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
