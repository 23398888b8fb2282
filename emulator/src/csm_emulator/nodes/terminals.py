"""The terminal at each console: a login prompt, then a shell, with the line being typed.

As with conman, a session continues without a viewer: a user stays logged in, and commands go on. Only a ping ends early
then, since no viewer could interrupt it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TypedDict

from csm_emulator.machine.boot import UP
from csm_emulator.machine.context import Event, MachineContext
from csm_emulator.machine.machine import Machine
from csm_emulator.nodes.commands import hardware, system
from csm_emulator.nodes.commands.gpu import nvidia_smi
from csm_emulator.nodes.commands.network import ip
from csm_emulator.nodes.commands.ping import ping
from csm_emulator.nodes.commands.services import systemctl
from csm_emulator.nodes.consoles import Consoles
from csm_emulator.nodes.description import describe
from csm_emulator.nodes.packet_routes import send
from csm_emulator.nodes.ping_run import Ping, reply_line, statistics_lines
from csm_emulator.nodes.shell import NAME, Command, LineResult, Step, Terminal, read_line, run
from csm_emulator.nodes.uptimes import Uptimes
from csm_emulator.records import Record
from csm_emulator.shell.expansion import Variables
from csm_emulator.shell.process import MISUSED
from csm_emulator.shell.syntax import SyntaxProblem
from csm_emulator.state.tables import RecordTable

LONGEST_LINE = 4096
"""Characters, as in a terminal's canonical mode."""
MOST_PINGS, UNWATCHED = 100_000, 100
"""The most echo requests of one ping: about a day's, and those without a viewer."""
_LOGIN, _PASSWORD, _SHELL, _BUSY = "login", "password", "shell", "busy"
_HOME = "/root"


class SavedShell(TypedDict):
    """The shell's state from line to line."""

    variables: dict[str, str]
    folder: str
    arguments: list[str]
    options: list[str]


class TerminalState(SavedShell):
    mode: str
    user: str
    line: str
    """The line that is being typed."""
    code: int
    """Exit code of the last command."""
    ping: Record | None
    """The fields of a running ping that differ from their default values."""
    rest: list[Step]
    """Steps of the line that follow the ping."""
    number: int
    """Number of the last ping."""


_NEW_TERMINAL: TerminalState = {
    "mode": _LOGIN,
    "user": "",
    "line": "",
    "code": 0,
    "ping": None,
    "rest": [],
    "number": 0,
    "variables": {"HOME": _HOME, "USER": "root"},
    "folder": _HOME,
    "arguments": [],
    "options": [],
}
MOST_KEPT = 8192
"""Characters of variables and positional parameters that are kept from line to line."""
_INTERRUPT, _END, _ERASE, _KILL = "\x03", "\x04", ("\x7f", "\b"), "\x15"
_STROKES = re.compile("[^\x00-\x1f\x7f]+|[\x00-\x1f\x7f]")

COMMANDS: dict[str, Command] = {
    "hostname": system.hostname,
    "uname": system.uname,
    "whoami": system.whoami,
    "id": system.identity,
    "date": system.date,
    "uptime": system.uptime,
    "mount": system.mount,
    "systemctl": systemctl,
    "reboot": system.reboot,
    "poweroff": system.poweroff,
    "exit": system.leave,
    "logout": system.leave,
    "ip": ip,
    "ping": ping,
    "lsblk": hardware.lsblk,
    "blkid": hardware.blkid,
    "nvidia-smi": nvidia_smi,
    "lscpu": hardware.lscpu,
    "free": hardware.free,
    "dmesg": hardware.dmesg,
}


class Terminals:
    """One terminal per node, which all viewers of its console share."""

    def __init__(self, machine: Machine, context: MachineContext, consoles: Consoles, password: str) -> None:
        self._machine = machine
        self._context = context
        self._consoles = consoles
        self._password = password
        self._uptimes = Uptimes(machine, context)
        self._table: RecordTable[TerminalState] = context.tables.open("nodes.terminals")
        self._viewer_counts: Counter[str] = Counter()
        """Viewers of each console, who could interrupt a command."""
        context.scheduler.register("terminal.pings", self._next_ping)
        machine.watch(self._on_event)

    def _on_event(self, event: Event) -> None:
        """A change of the boot stage ends the session."""
        if event.kind == "stage":
            self._table.pop(event.xname, None)
            if event.value == UP:
                self._consoles.write(event.xname, self._prompt(event.xname, _NEW_TERMINAL))

    def join(self, node: str) -> None:
        """A viewer opens the console."""
        self._viewer_counts[node] += 1

    def leave(self, node: str) -> None:
        self._viewer_counts[node] -= 1

    def type(self, node: str, text: str) -> None:
        """Typed keys; ignored unless the node is up."""
        for keys in _STROKES.findall(text.replace("\r\n", "\r")):
            if self._machine.boot.stage(node) != UP:
                return
            self._take(node, self._table.get(node, _NEW_TERMINAL), keys)

    def _take(self, node: str, state: TerminalState, key: str) -> None:
        """Handles one control key, or several keys that are appended to the line."""
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
            self._append_to_line(node, state, key)

    def _append_to_line(self, node: str, state: TerminalState, keys: str) -> None:
        room = LONGEST_LINE - len(state["line"])
        text = "".join(key for key in keys[:room] if key.isprintable())
        if text:
            self._table[node] = {**state, "line": state["line"] + text}
            if state["mode"] != _PASSWORD:
                self._echo(node, text)

    def _erase(self, node: str, state: TerminalState, count: int) -> None:
        erased = min(count, len(state["line"]))
        if erased:
            self._table[node] = {**state, "line": state["line"][:-erased]}
            if state["mode"] != _PASSWORD:
                self._echo(node, "\b \b" * erased)

    def _interrupt(self, node: str, state: TerminalState) -> None:
        """Ctrl-C; an interrupted ping prints its statistics, and the line continues with its exit code."""
        if state["mode"] == _BUSY and state["ping"]:
            self._echo(node, "^C")
            self._end_ping(node, state, Ping(**state["ping"]))
        elif state["mode"] in (_SHELL, _BUSY):
            self._echo(node, "^C\r\n")
            self._show_prompt(node, {**state, "mode": _SHELL, "line": "", "code": 130, "rest": []})

    def _line(self, node: str, state: TerminalState, line: str) -> None:
        if state["mode"] == _LOGIN:
            name = line.strip()
            self._show_prompt(node, {**state, "mode": _PASSWORD, "user": name} if name else state)
        elif state["mode"] == _PASSWORD:
            self._log_in(node, state, line)
        else:
            self._run(node, state, line)

    def _log_in(self, node: str, state: TerminalState, password: str) -> None:
        if state["user"] == "root" and password == self._password:
            self._context.log.add("console-login", node, "console", user="root")
            self._show_prompt(node, {**state, "mode": _SHELL})
        else:
            self._echo(node, "\r\nLogin incorrect\r\n")
            self._show_prompt(node, _NEW_TERMINAL.copy())

    def _log_out(self, node: str, state: TerminalState, text: str) -> None:
        self._echo(node, text + "\r\n")
        self._show_prompt(node, {**_NEW_TERMINAL, "number": state["number"]})

    def _run(self, node: str, state: TerminalState, line: str) -> None:
        try:
            steps = read_line(line)
        except SyntaxProblem as problem:
            self._echo(node, f"{NAME}: {problem}\r\n")
            self._show_prompt(node, {**state, "code": MISUSED})
        else:
            self._do(node, state, steps)

    def _do(self, node: str, state: TerminalState, steps: Sequence[Step]) -> None:
        now, booted = self._context.clock.now(), self._uptimes.booted(node)
        terminal = Terminal(self._machine, describe(self._machine, node), state["user"], now, booted)
        arguments, options = state.get("arguments", ()), state.get("options", ())
        variables = Variables(
            dict(state["variables"]), list(arguments), NAME, state["code"], state["folder"], set(options)
        )
        line = run(terminal, steps, variables, system.files(terminal), COMMANDS)
        if line.text:
            self._echo(node, line.text.replace("\n", "\r\n"))
        self._after(
            node, {**state, **_saved_variables(variables), "mode": _SHELL, "code": line.outcome.code, "rest": []}, line
        )

    def _after(self, node: str, state: TerminalState, line: LineResult) -> None:
        outcome = line.outcome
        if outcome.logs_out:
            self._log_out(node, state, "")
        elif outcome.ping:
            state = {**state, "mode": _BUSY, "number": state["number"] + 1, "rest": list(line.remaining_steps)}
            self._table[node] = {**state, "ping": outcome.ping.as_data()}
            self._next_ping(node, state["number"])
        elif outcome.power:
            self._machine.power.reset_from_system(node, outcome.power, "console")
        else:
            self._show_prompt(node, state)

    def _next_ping(self, node: str, number: int) -> None:
        """Sends one echo request and schedules the next, or runs the steps after a ping that has ended."""
        state = self._table.get(node)
        if state is None or state["mode"] != _BUSY or state["number"] != number:
            return
        if state["ping"] is None:
            self._do(node, state, state["rest"])
            return
        ping = Ping(**state["ping"])
        if ping.late or ping.sent >= (MOST_PINGS if self._viewer_counts[node] else UNWATCHED):
            self._end_ping(node, state, ping)
            return
        ping = self._send(node, ping)
        if ping.complete:
            self._end_ping(node, state, ping)
            return
        self._table[node] = {**state, "ping": ping.as_data()}
        self._context.scheduler.after(ping.pause, "terminal.pings", node, number)

    def _send(self, node: str, ping: Ping) -> Ping:
        links = describe(self._machine, node).interfaces
        packet = send(self._machine, node, links, ping.address, ping.via, ping.sent)
        after_packet = ping.after(packet)
        self._echo(node, reply_line(after_packet, packet).replace("\n", "\r\n"))
        return after_packet

    def _end_ping(self, node: str, state: TerminalState, ping: Ping) -> None:
        """Ends a ping; the following steps are scheduled, so that a line of many pings does not recurse."""
        self._echo(node, statistics_lines(ping).replace("\n", "\r\n"))
        next_state: TerminalState = {**state, "ping": None, "code": ping.code}
        if state["rest"]:
            self._table[node] = next_state
            self._context.scheduler.after(0.0, "terminal.pings", node, state["number"])
        else:
            self._show_prompt(node, {**next_state, "mode": _SHELL})

    def _show_prompt(self, node: str, state: TerminalState) -> None:
        self._table[node] = state
        self._echo(node, self._prompt(node, state))

    def _prompt(self, node: str, state: TerminalState) -> str:
        hostname = describe(self._machine, node).hostname
        folder = "~" if state["folder"] == _HOME else state["folder"]
        return {_LOGIN: f"{hostname} login: ", _PASSWORD: "Password: "}.get(state["mode"], f"{hostname}:{folder} # ")

    def _echo(self, node: str, text: str) -> None:
        self._consoles.write(node, text)


def _saved_variables(variables: Variables) -> SavedShell:
    """The shell's state for the next line, with as many variables, in order, as there is room for."""
    saved: dict[str, str] = {}
    size = sum(1 + len(argument) for argument in variables.arguments)
    arguments = variables.arguments if size <= MOST_KEPT else []
    room = MOST_KEPT - (size if arguments else 0)
    for name, value in variables.values.items():
        room -= len(name) + len(value)
        if room < 0:
            break
        saved[name] = value
    options = sorted(variables.options)
    return {"variables": saved, "folder": variables.folder, "arguments": arguments, "options": options}
