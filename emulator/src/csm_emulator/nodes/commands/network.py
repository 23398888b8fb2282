"""ip: shows addresses, links and routes; it cannot change them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_interface

from csm_emulator.nodes.description import Interface
from csm_emulator.nodes.packet_routes import is_own, route
from csm_emulator.nodes.shell import Outcome, Terminal, refuse

_OBJECTS = ("address", "route", "link")
_SHOWING = ("show", "list", "lst", "ls")
_CHANGING = ("add", "append", "change", "replace", "delete", "set", "flush", "restore")
_BRIEF, _FAMILIES = ("-br", "-brief"), ("-4", "-6")
_WITHOUT_EFFECT = ("-c", "-color", "-color=never", "-d", "-details", "-s", "-stats")
_LOOPBACK = Interface("lo", "00:00:00:00:00:00", "127.0.0.1", 8, 65536, "")
_USAGE_ERROR, _REFUSED = 255, 2


@dataclass(frozen=True, slots=True)
class _Link:
    number: int
    link: Interface
    state: str

    @property
    def loopback(self) -> bool:
        return self.link is _LOOPBACK

    @property
    def flags(self) -> str:
        if self.loopback:
            return "<LOOPBACK,UP,LOWER_UP>"
        return "<NO-CARRIER,BROADCAST,MULTICAST,UP>" if self.state == "DOWN" else "<BROADCAST,MULTICAST,UP,LOWER_UP>"

    @property
    def head(self) -> str:
        queue = "noqueue" if self.loopback else "mq"
        return f"{self.number}: {self.link.name}: {self.flags} mtu {self.link.mtu} qdisc {queue} state {self.state}"

    @property
    def hardware(self) -> str:
        if self.loopback:
            return f"    link/loopback {self.link.mac} brd {self.link.mac}\n"
        return f"    link/ether {self.link.mac} brd ff:ff:ff:ff:ff:ff\n"


def ip(terminal: Terminal, argv: Sequence[str]) -> Outcome:
    options = [word for word in argv if word.startswith("-")]
    words = [word for word in argv if not word.startswith("-")]
    unknown = [word for word in options if word not in (*_BRIEF, *_FAMILIES, *_WITHOUT_EFFECT)]
    if unknown:
        return refuse(f'Option "{unknown[0]}" is unknown to this console\'s ip; it has -br, -4 and -6.', _USAGE_ERROR)
    if not words:
        return refuse("Usage: ip [ OPTIONS ] { address | link | route } [ show ]", _USAGE_ERROR)
    topic = next((name for name in _OBJECTS if name.startswith(words[0])), "")
    if not topic:
        return refuse(f'Object "{words[0]}" is unknown, try "ip help".', 1)
    return _run_subcommand(terminal, topic, words[1:], frozenset(options))


def _run_subcommand(terminal: Terminal, topic: str, words: Sequence[str], options: frozenset[str]) -> Outcome:
    verb, operands = (words[0], words[1:]) if words else ("show", ())
    if topic == "route" and verb == "get":
        return _get(terminal, operands)
    if any(name.startswith(verb) for name in _SHOWING):
        return _show(terminal, topic, operands, options)
    if any(name.startswith(verb) for name in _CHANGING):
        command_line = " ".join(["ip", topic, *words])
        return refuse(
            f"ip: this console shows the node's network and changes nothing; not done: {command_line}", _REFUSED
        )
    return refuse(f'Command "{verb}" is unknown, try "ip {topic} help".', _USAGE_ERROR)


def _show(terminal: Terminal, topic: str, words: Sequence[str], options: frozenset[str]) -> Outcome:
    operands = [word for word in words if word not in ("dev", "up")]
    if topic == "route":
        return Outcome("".join(_routes(terminal, operands)))
    if len(operands) > 1:
        return refuse(f'Error: either "dev" is duplicate, or "{operands[1]}" is a garbage.', _USAGE_ERROR)
    links = [one for one in _all(terminal) if not operands or one.link.name == operands[0]]
    if not links:
        return refuse(f'Device "{operands[0]}" does not exist.', 1)
    show = _links if topic == "link" else _addresses
    return Outcome("".join(show(links, bool(options & {*_BRIEF}), "-6" not in options)))


def _all(terminal: Terminal) -> Iterator[_Link]:
    """All links with their numbers, in the kernel's order."""
    yield _Link(1, _LOOPBACK, "UNKNOWN")
    for number, link in enumerate(terminal.node.interfaces, 2):
        yield _Link(number, link, _state(terminal, link))


def _state(terminal: Terminal, link: Interface) -> str:
    """State of a link; on the high-speed network it is that of the switch port."""
    if not link.name.startswith("hsn"):
        return "UP"
    return "UP" if terminal.machine.fabric.is_linked(link.nic) else "DOWN"


def _links(links: Sequence[_Link], brief: bool, _: bool) -> Iterator[str]:
    for one in links:
        if brief:
            yield f"{one.link.name:<16} {one.state:<14} {one.link.mac} {one.flags} \n"
        else:
            yield f"{one.head} mode DEFAULT group default qlen 1000\n{one.hardware}"


def _addresses(links: Sequence[_Link], brief: bool, with_ipv4: bool) -> Iterator[str]:
    for one in links:
        inet = f"{one.link.address}/{one.link.prefix}" if one.link.address and with_ipv4 else ""
        if brief:
            yield f"{one.link.name:<16} {one.state:<14} {inet} \n"
            continue
        yield f"{one.head} group default qlen 1000\n{one.hardware}"
        if inet:
            yield f"    inet {inet} scope {'host' if one.loopback else 'global'} {one.link.name}\n"


def _routes(terminal: Terminal, operands: Sequence[str]) -> Iterator[str]:
    """The routes that contain all these words: a device, a network, ``default``."""
    return (line for line in _all_routes(terminal) if set(operands) <= set(line.split()))


def _all_routes(terminal: Terminal) -> Iterator[str]:
    management = next((link for link in terminal.node.interfaces if link.name == "nmn0" and link.address), None)
    if management:
        yield f"default via {_gateway(management)} dev {management.name}\n"
    for link in terminal.node.interfaces:
        if link.address:
            network = ip_interface(f"{link.address}/{link.prefix}").network
            down = "" if _state(terminal, link) == "UP" else " linkdown"
            yield f"{network} dev {link.name} proto kernel scope link src {link.address}{down}\n"


def _gateway(link: Interface) -> str:
    return str(ip_interface(f"{link.address}/{link.prefix}").network.network_address + 1)


def _get(terminal: Terminal, words: Sequence[str]) -> Outcome:
    """``ip route get``: the route to an address."""
    try:
        address = str(ip_address(words[0] if words else ""))
    except ValueError:
        return refuse(f'Error: any valid prefix is expected rather than "{" ".join(words)}".', 1)
    link = route(terminal.machine, terminal.node, address)
    if is_own(terminal.node, address):
        return Outcome(f"local {address} dev lo src {address} uid 0 \n    cache <local> \n")
    if link is None:
        return refuse("RTNETLINK answers: Network is unreachable", _REFUSED)
    near = ip_address(address) in ip_interface(f"{link.address}/{link.prefix}").network
    way = "" if near else f"via {_gateway(link)} "
    return Outcome(f"{address} {way}dev {link.name} src {link.address} uid 0 \n    cache \n")
