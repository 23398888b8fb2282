"""Lines as Ansible's default callback prints them to a file: 79 columns, no colours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from csm_emulator.services.cfs.ansible.values import Value, plain

COLUMNS = 79
_OMITTED = frozenset({"failed", "ansible_facts", "results", "skipped"})
"""Fields of a result that log lines omit; ``debug`` may print a variable of the same name."""
_OMITTED_IN_DEBUG = frozenset({"failed", "changed", "skipped"})
CENSORED = "the output has been hidden due to the fact that 'no_log: true' was specified for this result"


def banner(text: str) -> list[str]:
    return ["", f"{text} {'*' * max(COLUMNS - len(text), 3)}"]


def dump(fields: Mapping[str, Value], *, multi_line: bool = False) -> str:
    """A result as JSON; ``tall`` over several lines, as ``debug`` prints it."""
    hidden = _OMITTED_IN_DEBUG if multi_line else _OMITTED
    visible = {key: plain(value) for key, value in fields.items() if key not in hidden}
    return json.dumps(visible, sort_keys=True, ensure_ascii=False, indent=4 if multi_line else None)


@dataclass(slots=True)
class RecapCounts:
    """The counts of one host in the play recap."""

    ok: int = 0
    changed: int = 0
    unreachable: int = 0
    failed: int = 0
    skipped: int = 0
    rescued: int = 0
    ignored: int = 0

    def line(self, host: str) -> str:
        counts = (
            f"{name}={getattr(self, name)!s:<4}"
            for name in ("ok", "changed", "unreachable", "failed", "skipped", "rescued", "ignored")
        )
        return f"{host:<26} : {' '.join(counts)}"


def recap(counts: Mapping[str, RecapCounts]) -> list[str]:
    return [*banner("PLAY RECAP"), *(counts[host].line(host) for host in sorted(counts)), ""]


def unreachable_line(host: str) -> str:
    message = f"Failed to connect to the host via ssh: ssh: connect to host {host} port 22: No route to host"
    return f"fatal: [{host}]: UNREACHABLE! => {dump({'changed': False, 'msg': message, 'unreachable': True})}"


@dataclass(slots=True)
class Timeline:
    """Printed lines with their times, in seconds since the start."""

    entries: list[tuple[float, list[str]]] = field(default_factory=list)
    now: float = 0.0

    def print(self, lines: Iterable[str]) -> None:
        pieces = [piece for line in lines for piece in line.split("\n")]
        if pieces:
            self.entries.append((self.now, pieces))

    def discard_lines(self, start: int) -> None:
        """Drop the lines from this entry on, which the caller has stored elsewhere; their times stay."""
        self.entries[start:] = [(moment, []) for moment, _ in self.entries[start:]]
