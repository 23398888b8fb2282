"""ip and ping."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from ipaddress import ip_address, ip_interface

from canton.emulator.nodes.description import Interface
from canton.emulator.nodes.links import linked
from canton.emulator.nodes.shell import Outcome, Ping, Terminal

_ADDR, _ROUTE, _LINK = ("address", "addr", "a"), ("route", "r"), ("link", "l")
MOST_PINGS = 100_000


def ip(terminal: Terminal, argv: Sequence[str]) -> Outcome:
    words = [word for word in argv if not word.startswith("-")]
    brief = any(word in ("-br", "-brief") for word in argv)
    topic = words[0] if words else ""
    chosen = [word for word in words[1:] if word not in ("show", "list", "ls", "dev")]
    links = [link for link in terminal.node.interfaces if not chosen or link.name in chosen]
    if chosen and not links and chosen != ["lo"] and not _matches(topic, _ROUTE):
        return Outcome(f'Device "{chosen[0]}" does not exist.\n', 1)
    if _matches(topic, _ADDR):
        return Outcome("".join(_addresses(terminal, links, brief, loopback=chosen in ([], ["lo"]))))
    if _matches(topic, _LINK):
        return Outcome("".join(_links(terminal, links)))
    if _matches(topic, _ROUTE):
        return Outcome("".join(_routes(terminal)))
    return Outcome(
        'Object "' + topic + '" is unknown, try "ip help".\n' if topic else "Usage: ip [ OPTIONS ] OBJECT\n", 1
    )


def _matches(topic: str, names: Sequence[str]) -> bool:
    return bool(topic) and names[0].startswith(topic)


def _state(terminal: Terminal, link: Interface) -> str:
    """Of the high-speed network the link is down where the port at the other end of the cable is."""
    if not link.name.startswith("hsn"):
        return "UP"
    return "UP" if linked(terminal.machine, link.nic) else "DOWN"


def _links(terminal: Terminal, links: Sequence[Interface]) -> Iterator[str]:
    for number, link in enumerate(links, 2):
        state = _state(terminal, link)
        flags = "BROADCAST,MULTICAST,UP,LOWER_UP" if state == "UP" else "NO-CARRIER,BROADCAST,MULTICAST,UP"
        yield f"{number}: {link.name}: <{flags}> mtu {link.mtu} qdisc mq state {state} mode DEFAULT group default\n"
        yield f"    link/ether {link.mac} brd ff:ff:ff:ff:ff:ff\n"


def _addresses(terminal: Terminal, links: Sequence[Interface], brief: bool, *, loopback: bool) -> Iterator[str]:
    if loopback and brief:
        yield "lo               UNKNOWN        127.0.0.1/8 \n"
    elif loopback:
        yield "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default\n"
        yield "    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n    inet 127.0.0.1/8 scope host lo\n"
    for number, link in enumerate(links, 2):
        state = _state(terminal, link)
        inet = f"{link.address}/{link.prefix}" if link.address else ""
        if brief:
            yield f"{link.name:<16} {state:<14} {inet} \n"
            continue
        flags = "BROADCAST,MULTICAST,UP,LOWER_UP" if state == "UP" else "NO-CARRIER,BROADCAST,MULTICAST,UP"
        yield f"{number}: {link.name}: <{flags}> mtu {link.mtu} qdisc mq state {state} group default qlen 1000\n"
        yield f"    link/ether {link.mac} brd ff:ff:ff:ff:ff:ff\n"
        if inet:
            yield f"    inet {inet} scope global {link.name}\n"


def _routes(terminal: Terminal) -> Iterator[str]:
    management = next((link for link in terminal.node.interfaces if link.name == "nmn0" and link.address), None)
    if management:
        gateway = ip_interface(f"{management.address}/{management.prefix}").network.network_address + 1
        yield f"default via {gateway} dev {management.name}\n"
    for link in terminal.node.interfaces:
        if link.address:
            network = ip_interface(f"{link.address}/{link.prefix}").network
            down = "" if _state(terminal, link) == "UP" else " linkdown"
            yield f"{network} dev {link.name} proto kernel scope link src {link.address}{down}\n"


def ping(terminal: Terminal, argv: Sequence[str]) -> Outcome:
    count, interval, target = MOST_PINGS, 1.0, ""
    words = iter(argv)
    for word in words:
        if word in ("-c", "-i", "-W", "-w", "-s", "-I"):
            value = _number(next(words, ""))
            if value is None:
                return Outcome(f"ping: invalid argument for {word}\n", 1)
            count = max(int(value), 1) if word == "-c" else count
            interval = max(value, 0.2) if word == "-i" else interval
        elif not word.startswith("-"):
            target = word
    if not target:
        return Outcome("ping: usage error: Destination address required\n", 1)
    address = _address(terminal, target)
    if address is None:
        return Outcome(f"ping: {target}: Name or service not known\n", 2)
    opening = f"PING {target} ({address}) 56(84) bytes of data.\n"
    return Outcome(opening, ping=Ping(target, address, min(count, MOST_PINGS), interval))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and 0 <= value < 1e6 else None


def _address(terminal: Terminal, target: str) -> str | None:
    """An address, the name of a node (over the management network), or that with ``-hsn0`` after it."""
    try:
        return str(ip_address(target))
    except ValueError:
        pass
    name, _, link = target.partition("-")
    machine = terminal.machine
    node = next(
        (place.xname for place in machine.topology.places.values() if name in (place.xname, *place.aliases)), None
    )
    if node is None:
        return None
    network = "HSN" if link.startswith("hsn") else "NMN"
    nics = [nic for nic in machine.nics(node) if nic.network == network and nic.address]
    number = int(link[3:]) if link[3:].isdecimal() else 0
    return nics[number].address if number < len(nics) else None


def closing(done: Ping) -> str:
    """The statistics at the end."""
    lost = 100 * (done.sent - done.received) / done.sent if done.sent else 0
    total = round(max(done.sent - 1, 0) * done.interval * 1000)
    text = f"\n--- {done.name} ping statistics ---\n"
    text += f"{done.sent} packets transmitted, {done.received} received, {lost:.4g}% packet loss, time {total}ms\n"
    if done.received:
        mean = done.total / done.received
        spread = math.sqrt(max(done.squares / done.received - mean * mean, 0.0))
        told = (done.shortest, mean, done.longest, spread)
        text += "rtt min/avg/max/mdev = " + "/".join(f"{1000 * one:.3f}" for one in told) + " ms\n"
    return text
