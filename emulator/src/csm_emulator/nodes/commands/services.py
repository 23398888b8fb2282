"""systemctl."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from csm_emulator.nodes.shell import Outcome, Terminal, refuse

UNITS = {
    "sshd.service": "OpenSSH Daemon",
    "spire-agent.service": "SPIRE agent",
    "bos-reporter.service": "BOS reporter",
    "cfs-state-reporter.service": "CFS state reporter",
    "slingshot-hsn.service": "Slingshot high-speed network",
    "nvidia-persistenced.service": "NVIDIA Persistence Daemon",
}
_RESETS = {"reboot": "GracefulRestart", "poweroff": "GracefulShutdown"}
_CHANGING = re.compile(
    "(re)?start|stop|(try|reload-or)-restart|(daemon-)?re(load|exec)|enable|disable|(un)?mask|kill|isolate|edit|"
    "reset-failed|set-(property|default)"
)
_WITH_VALUE = ("-t", "--type", "--state", "-n", "--lines", "-o", "--output")
_SPANS = (("day", 86_400), ("h", 3600), ("min", 60), ("s", 1))


def systemctl(terminal: Terminal, argv: Sequence[str]) -> Outcome:
    options, words = _read(argv)
    states = _units(terminal)
    verb = words[0] if words else "list-units"
    if verb == "list-units":
        return _list(states, options, words[1:])
    if verb == "is-system-running":
        return Outcome(f"{_overall(states)}\n", 1 if _failed(states) else 0)
    if verb in ("status", "is-active", "is-failed", "is-enabled"):
        return _query_unit(terminal, verb, words[1:], states)
    if verb in _RESETS:
        return Outcome(power=_RESETS[verb])
    if _CHANGING.fullmatch(verb):
        command_line = " ".join(words)
        return refuse(f"systemctl: this console shows the node's units and changes none; not done: {command_line}", 1)
    return refuse(f"Unknown command verb {verb}.", 1)


def _read(argv: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Options, with values after ``=`` or in the next word, and operands."""
    options: dict[str, str] = {}
    operands: list[str] = []
    words = iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if not word.startswith("-"):
            operands.append(word)
        elif name in _WITH_VALUE and not equals:
            options[name] = next(words, "")
        else:
            options[name] = value
    return options, operands


def _units(terminal: Terminal) -> dict[str, str]:
    """State of each unit: slingshot-hsn has failed if no link is up; the NVIDIA daemon exists only with GPUs."""
    states = dict.fromkeys(UNITS, "active")
    if not terminal.node.accelerators[1]:
        del states["nvidia-persistenced.service"]
    fast = [link for link in terminal.node.interfaces if link.name.startswith("hsn")]
    if fast and not any(terminal.machine.fabric.is_linked(link.nic) for link in fast):
        states["slingshot-hsn.service"] = "failed"
    return states


def _failed(states: dict[str, str]) -> list[str]:
    return [unit for unit, state in states.items() if state == "failed"]


def _overall(states: dict[str, str]) -> str:
    return "degraded" if _failed(states) else "running"


def _list(states: dict[str, str], options: dict[str, str], patterns: Sequence[str]) -> Outcome:
    states_option = "failed" if "--failed" in options else options.get("--state", "")
    kind = options.get("--type", options.get("-t", "service"))
    units = {
        unit: state
        for unit, state in states.items()
        if kind == "service"
        and (not states_option or {state, _sub(state), "loaded"} & set(states_option.split(",")))
        and (not patterns or any(fnmatchcase(unit, _full(pattern)) for pattern in patterns))
    }
    rows = [
        f"{'●' if state == 'failed' else ' '} {unit:<30} loaded {state:<8} {_sub(state):<8} {UNITS[unit]}"
        for unit, state in units.items()
    ]
    head = ["  UNIT" + " " * 27 + "LOAD   ACTIVE   SUB      DESCRIPTION", *rows, ""]
    return Outcome("\n".join(head) + f"\n{len(units)} loaded units listed.\n")


def _sub(state: str) -> str:
    return "running" if state == "active" else state


def _full(name: str) -> str:
    return name if "." in name or "*" in name else f"{name}.service"


def _query_unit(terminal: Terminal, verb: str, names: Sequence[str], states: dict[str, str]) -> Outcome:
    if not names:
        return _status(terminal, states) if verb == "status" else refuse("Too few arguments.", 1)
    unit = _full(names[0])
    state = states.get(unit, "")
    if verb == "status":
        return _status_of(unit, state)
    if verb == "is-enabled":
        return Outcome("enabled\n") if state else refuse(f"Failed to get unit file state for {unit}: No such file", 1)
    good = state == ("active" if verb == "is-active" else "failed")
    return Outcome(f"{state or 'inactive'}\n", 0 if good else 3 if verb == "is-active" else 1)


def _status_of(unit: str, state: str) -> Outcome:
    if not state:
        return refuse(f"Unit {unit} could not be found.", 4)
    mark = "●" if state == "active" else "×"
    text = f"{mark} {unit} - {UNITS[unit]}\n     Loaded: loaded (/usr/lib/systemd/system/{unit}; enabled)\n"
    return Outcome(f"{text}     Active: {state} ({_sub(state)})\n", 0 if state == "active" else 3)


def _status(terminal: Terminal, states: dict[str, str]) -> Outcome:
    """Status of the whole system."""
    since = datetime.fromtimestamp(terminal.booted, UTC).strftime("%a %Y-%m-%d %H:%M:%S UTC")
    pairs = {
        "State": _overall(states),
        "Jobs": "0 queued",
        "Failed": f"{len(_failed(states))} units",
        "Since": f"{since}; {_ago(terminal.now - terminal.booted)}",
        "CGroup": "/",
    }
    lines = [f"{name:>9}: {value}\n" for name, value in pairs.items()]
    return Outcome(f"● {terminal.node.hostname}\n" + "".join(lines))


def _ago(seconds: float) -> str:
    """An age in its largest unit, and below a day also in the next one."""
    remaining = max(int(seconds), 0)
    name, size = next((span for span in _SPANS if remaining >= span[1]), _SPANS[-1])
    count, remainder = divmod(remaining, size)
    if name == "day":
        return f"{count} day{'s' if count > 1 else ''} ago"
    smaller = {"h": f" {remainder // 60}min", "min": f" {remainder}s"}.get(name, "")
    return f"{count}{name}{smaller} ago"
