"""ping: options and error messages as in iputils."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from getopt import GetoptError, gnu_getopt
from ipaddress import ip_address

from csm_emulator.nodes.description import Interface
from csm_emulator.nodes.packet_routes import is_own, route
from csm_emulator.nodes.ping_run import Ping, opening_line
from csm_emulator.nodes.shell import Outcome, Terminal, refuse
from csm_emulator.records import Json

SHORTEST = 0.2
_LOOPBACK = "127.0.0.1"
_LONGEST_WAIT = 2_147_483.0
_WHOLE = re.compile("[-+]?[0-9]{1,30}")
_OPTIONS = "4nqvOc:i:I:s:t:w:W:"
_REAL = frozenset("6AaBbDdefFhLlmMNpPQRrSTUV")
"""Options of the real ping that this one lacks."""
_USAGE = """
Usage
  ping [options] <destination>

Options:
  -4 -n -q -v  -c <count>  -i <interval>  -I <interface or address>
  -s <size>  -t <ttl>  -w <deadline>  -W <timeout>

For more details see ping(8)."""


class _PingError(Exception):
    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


def ping(terminal: Terminal, argv: Sequence[str]) -> Outcome:
    try:
        options, operands = gnu_getopt(list(argv), _OPTIONS)
        values = {name: _READERS[name](value) for name, value in options if name in _READERS}
        return _begin(terminal, operands[-1] if operands else "", values, frozenset(name for name, _ in options))
    except GetoptError as error:
        return _misused(error)
    except _PingError as refused:
        return refuse(f"ping: {refused}", refused.code)


def _misused(error: GetoptError) -> Outcome:
    letter = error.opt if len(error.opt) == 1 else "-"
    if letter in _REAL:
        wrong = f"-{letter} is more than this console's ping can do"
    elif letter in _OPTIONS:
        wrong = f"option requires an argument -- '{letter}'"
    else:
        wrong = f"invalid option -- '{letter}'"
    return refuse(f"ping: {wrong}\n{_USAGE}", 2)


def _begin(terminal: Terminal, target: str, values: Mapping[str, Json], flags: frozenset[str]) -> Outcome:
    if not target:
        raise _PingError("usage error: Destination address required", 1)
    address = _address(terminal, target)
    if address is None:
        raise _PingError(f"{target}: Name or service not known", 2)
    via, source, bound = _bound(terminal, address, values.get("-I", ""))
    started = Ping(
        target,
        address,
        source,
        via,
        values.get("-c", 0),
        values.get("-i", 1.0),
        values.get("-w", 0),
        values.get("-s", 56),
        "-q" in flags,
        "-n" in flags,
    )
    return Outcome(opening_line(started, bound), ping=started)


def _bound(terminal: Terminal, address: str, interface: str) -> tuple[str, str, str]:
    """The interface to use, the source address, and the text about them."""
    links = terminal.node.interfaces
    if interface and _is_address(interface):
        if not is_own(terminal.node, interface):
            raise _PingError("bind: Cannot assign requested address", 2)
        return "", interface, f"from {interface} : "
    link = _named(links, interface) if interface else route(terminal.machine, terminal.node, address)
    if link is not None and link.address and interface:
        return link.name, link.address, f"from {link.address} {link.name}: "
    if is_own(terminal.node, address):
        return "", address, ""
    if link is None or not link.address:
        raise _PingError("connect: Network is unreachable", 2)
    return "", link.address, ""


def _named(links: Sequence[Interface], name: str) -> Interface | None:
    match = next((link for link in links if link.name == name), None)
    if match is None and name != "lo":
        raise _PingError(f"unknown iface: {name}", 2)
    return match


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _address(terminal: Terminal, target: str) -> str | None:
    """The address of a target: an address, ``localhost``, a node's name (on the NMN), or NAME-hsn0."""
    if _is_address(target):
        return str(ip_address(target))
    if target == "localhost":
        return _LOOPBACK
    name, dash, link = target.rpartition("-")
    return _of_node(terminal, target, "") or (_of_node(terminal, name, link) if dash else None)


def _of_node(terminal: Terminal, name: str, link: str) -> str | None:
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


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not _WHOLE.fullmatch(text):
            raise _PingError(f"invalid argument: '{text}'", 1)
        if not low <= int(text) <= high:
            raise _PingError(f"invalid argument: '{text}': out of range: {low} <= value <= {high}", 1)
        return int(text)

    return read


def _seconds(complaint: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value <= _LONGEST_WAIT:
            raise _PingError(f"{complaint}: {text}", 2)
        return value

    return read


def _interval(text: str) -> float:
    """The interval; as for users, not root, 0.2 s is the minimum."""
    value = _seconds("bad timing interval")(text)
    if value < SHORTEST:
        raise _PingError("cannot flood; minimal interval allowed for user is 200ms", 2)
    return value


_READERS: Mapping[str, Callable[[str], Json]] = {
    "-c": _whole(1, 2**63 - 1),
    "-i": _interval,
    "-I": str,
    "-s": _whole(0, 65_507),
    "-t": _whole(0, 255),
    "-w": _whole(0, 2**31 - 1),
    "-W": _seconds("bad linger time"),
}
