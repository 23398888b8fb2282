"""Lines as Ansible's default callback prints them to a file: 79 columns, no colours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from csm_emulator.services.cfs.ansible.jinja.unknown import plain

COLUMNS = 79
_INWARD = frozenset({"failed", "ansible_facts", "results", "skipped"})
"""What a result has and no line shows; a variable that somebody has shown may be called so."""
_HIDDEN_WHEN_TALL = frozenset({"failed", "changed", "skipped"})
CENSORED = "the output has been hidden due to the fact that 'no_log: true' was specified for this result"


def banner(text: str) -> list[str]:
    return ["", f"{text} {'*' * max(COLUMNS - len(text), 3)}"]


def dump(fields: Mapping[str, Any], *, tall: bool = False) -> str:
    """A result; ``tall`` over several lines, as ``debug`` shows it."""
    hidden = _HIDDEN_WHEN_TALL if tall else _INWARD
    shown = {key: plain(value) for key, value in fields.items() if key not in hidden}
    return json.dumps(shown, sort_keys=True, ensure_ascii=False, indent=4 if tall else None)


@dataclass(slots=True)
class Tally:
    """What the recap counts, for one host."""

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


def recap(tallies: Mapping[str, Tally]) -> list[str]:
    return [*banner("PLAY RECAP"), *(tallies[host].line(host) for host in sorted(tallies)), ""]


def unreachable_line(host: str) -> str:
    message = f"Failed to connect to the host via ssh: ssh: connect to host {host} port 22: No route to host"
    return f"fatal: [{host}]: UNREACHABLE! => {dump({'changed': False, 'msg': message, 'unreachable': True})}"


@dataclass(slots=True)
class Timeline:
    """What is printed when: seconds since the start, and lines."""

    entries: list[tuple[float, list[str]]] = field(default_factory=list)
    now: float = 0.0

    def print(self, lines: Iterable[str]) -> None:
        listed = [piece for line in lines for piece in line.split("\n")]
        if listed:
            self.entries.append((self.now, listed))

    def let_go(self, start: int) -> None:
        """What somebody has written down from this entry on need not stay here too."""
        self.entries[start:] = [(moment, []) for moment, _ in self.entries[start:]]
