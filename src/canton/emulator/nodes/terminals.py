"""Who is logged in at each console, and what they are typing: a login prompt, then a shell."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from canton.emulator.machine.boot import UP
from canton.emulator.machine.machine import Machine
from canton.emulator.machine.means import Event, Means
from canton.emulator.nodes import commands_hardware as hardware
from canton.emulator.nodes import commands_network as network
from canton.emulator.nodes import commands_system as system
from canton.emulator.nodes.consoles import Consoles
from canton.emulator.nodes.description import describe
from canton.emulator.nodes.shell import Command, Outcome, Ping, Terminal, run

LONGEST_LINE = 4096
"""As a terminal's canonical mode."""
_LOGIN, _PASSWORD, _SHELL, _BUSY = "login", "password", "shell", "busy"
_FRESH: dict[str, Any] = {"mode": _LOGIN, "user": "", "line": "", "code": 0, "ping": None, "number": 0}
_INTERRUPT, _END, _ERASE, _KILL = "\x03", "\x04", ("\x7f", "\b"), "\x15"
_STROKES = re.compile("[^\x00-\x1f\x7f]+|[\x00-\x1f\x7f]")

COMMANDS: dict[str, Command] = {
    "hostname": system.hostname,
    "uname": system.uname,
    "whoami": system.whoami,
    "id": system.identity,
    "echo": system.echo,
    "date": system.date,
    "uptime": system.uptime,
    "cat": system.cat,
    "mount": system.mount,
    "systemctl": system.systemctl,
    "reboot": system.reboot,
    "poweroff": system.poweroff,
    "exit": system.leave,
    "logout": system.leave,
    "ip": network.ip,
    "ping": network.ping,
    "lsblk": hardware.lsblk,
    "blkid": hardware.blkid,
    "nvidia-smi": hardware.nvidia_smi,
    "lscpu": hardware.lscpu,
    "free": hardware.free,
    "dmesg": hardware.dmesg,
}


class Terminals:
    """One for each node: whoever is at its console types into the same one, and all see it."""

    def __init__(self, machine: Machine, means: Means, consoles: Consoles, password: str) -> None:
        self._machine = machine
        self._means = means
        self._consoles = consoles
        self._password = password
        self._shelf = means.shelves.open("nodes.terminals")
        means.agenda.answer("terminal.pings", self._next_ping)
        machine.watch(self._saw)

    def _saw(self, event: Event) -> None:
        """Whoever was logged in is not any more."""
        if event.kind == "stage":
            self._shelf.pop(event.xname, None)
            if event.value == UP:
                self._consoles.write(event.xname, self._prompt(event.xname, _FRESH))

    def type(self, node: str, text: str) -> None:
        """Keys, as they come; a node that is not up hears nothing."""
        for keys in _STROKES.findall(text.replace("\r\n", "\r")):
            if self._machine.boot.stage(node) != UP:
                return
            self._take(node, self._shelf.get(node, _FRESH), keys)

    def _take(self, node: str, state: dict[str, Any], key: str) -> None:
        """A key that does something, or several that are only written down."""
        if key == _INTERRUPT:
            self._interrupt(node, state)
        elif state["mode"] == _BUSY:
            return
        elif key in "\r\n":
            self._echo(node, "\r\n")
            self._line(node, {**state, "line": ""}, state["line"])
        elif key == _END and not state["line"] and state["mode"] == _SHELL:
            self._log_out(node, state, "logout\r\n")
        elif key in _ERASE:
            self._erase(node, state, 1)
        elif key == _KILL:
            self._erase(node, state, len(state["line"]))
        else:
            self._write_down(node, state, key)

    def _write_down(self, node: str, state: dict[str, Any], keys: str) -> None:
        room = LONGEST_LINE - len(state["line"])
        taken = "".join(key for key in keys[:room] if key.isprintable())
        if taken:
            self._shelf[node] = {**state, "line": state["line"] + taken}
            if state["mode"] != _PASSWORD:
                self._echo(node, taken)

    def _erase(self, node: str, state: dict[str, Any], count: int) -> None:
        gone = min(count, len(state["line"]))
        if gone:
            self._shelf[node] = {**state, "line": state["line"][:-gone]}
            if state["mode"] != _PASSWORD:
                self._echo(node, "\b \b" * gone)

    def _interrupt(self, node: str, state: dict[str, Any]) -> None:
        if state["mode"] == _BUSY:
            self._echo(node, "^C")
            self._end_ping(node, state, Ping(**state["ping"]), 130)
        elif state["mode"] == _SHELL:
            self._echo(node, "^C\r\n")
            self._show_prompt(node, {**state, "line": "", "code": 130})

    def _line(self, node: str, state: dict[str, Any], line: str) -> None:
        if state["mode"] == _LOGIN:
            name = line.strip()
            self._show_prompt(node, {**state, "mode": _PASSWORD, "user": name} if name else state)
        elif state["mode"] == _PASSWORD:
            self._log_in(node, state, line)
        else:
            self._run(node, state, line)

    def _log_in(self, node: str, state: dict[str, Any], password: str) -> None:
        if state["user"] == "root" and password == self._password:
            self._means.log.add("console-login", node, "console", user="root")
            self._show_prompt(node, {**state, "mode": _SHELL})
        else:
            self._echo(node, "\r\nLogin incorrect\r\n")
            self._show_prompt(node, dict(_FRESH))

    def _log_out(self, node: str, state: dict[str, Any], text: str) -> None:
        self._echo(node, text + "\r\n")
        self._show_prompt(node, {**_FRESH, "number": state["number"]})

    def _run(self, node: str, state: dict[str, Any], line: str) -> None:
        now = self._means.clock.now()
        terminal = Terminal(self._machine, describe(self._machine, node), state["user"], now, state["code"])
        outcome = run(terminal, line, COMMANDS)
        if outcome.text:
            self._echo(node, outcome.text.replace("\n", "\r\n"))
        self._after(node, {**state, "code": outcome.code}, outcome)

    def _after(self, node: str, state: dict[str, Any], outcome: Outcome) -> None:
        if outcome.logs_out:
            self._log_out(node, state, "")
        elif outcome.ping:
            number = state["number"] + 1
            self._shelf[node] = {**state, "mode": _BUSY, "ping": _as_data(outcome.ping), "number": number}
            self._next_ping(node, number)
        elif outcome.power:
            self._machine.power.by_itself(node, outcome.power, "console")
        else:
            self._show_prompt(node, state)

    def _next_ping(self, node: str, number: int) -> None:
        """One echo request; the next is due after the interval."""
        state = self._shelf.get(node)
        if state is None or state["mode"] != _BUSY or state["number"] != number:
            return
        ping = Ping(**state["ping"])
        packet = self._machine.fabric.packet(node, ping.address, number=ping.sent)
        ping = replace(ping, sent=ping.sent + 1)
        if packet.reached:
            ping = ping.answered(packet.seconds)
            told = f"64 bytes from {ping.address}: icmp_seq={ping.sent} ttl=64 time={1000 * packet.seconds:.3f} ms"
            self._echo(node, f"{told}\r\n")
        else:
            self._echo(node, f"From {node} icmp_seq={ping.sent} Destination Host Unreachable\r\n")
        if ping.sent >= ping.count:
            self._end_ping(node, state, ping, 0 if ping.received else 1)
            return
        self._shelf[node] = {**state, "ping": _as_data(ping)}
        self._means.agenda.after(ping.interval, "terminal.pings", node, number)

    def _end_ping(self, node: str, state: dict[str, Any], ping: Ping, code: int) -> None:
        self._echo(node, network.closing(ping).replace("\n", "\r\n"))
        self._show_prompt(node, {**state, "mode": _SHELL, "ping": None, "code": code})

    def _show_prompt(self, node: str, state: dict[str, Any]) -> None:
        self._shelf[node] = state
        self._echo(node, self._prompt(node, state))

    def _prompt(self, node: str, state: dict[str, Any]) -> str:
        hostname = describe(self._machine, node).hostname
        return {_LOGIN: f"{hostname} login: ", _PASSWORD: "Password: "}.get(state["mode"], f"{hostname}:~ # ")

    def _echo(self, node: str, text: str) -> None:
        self._consoles.write(node, text)


def _as_data(ping: Ping) -> dict[str, Any]:
    """For a shelf; ten thousand nodes may ping at once."""
    return {name: getattr(ping, name) for name in Ping.__slots__}
