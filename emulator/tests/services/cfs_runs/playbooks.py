"""Short playbooks, run without a machine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from csm_emulator.services.cfs.ansible.hosts import Inventory
from csm_emulator.services.cfs.ansible.playbooks.parser import read_playbook
from csm_emulator.services.cfs.ansible.run_state import PlaybookOptions, RunInputs, RunResult
from csm_emulator.services.cfs.ansible.runner import run_to_end

FACTS = {"ansible_architecture": "x86_64", "ansible_os_family": "Suse"}
_COUNTS = re.compile(r"(\w+)=(\d+)")


class Files:
    root = "/etc/ansible/layer0"

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def read(self, path: str) -> str | None:
        return self._texts.get(path)

    def has(self, path: str) -> bool:
        return path in self._texts or bool(self.files_in(path))

    def files_in(self, folder: str) -> Sequence[str]:
        return sorted(path for path in self._texts if path.startswith(f"{folder}/"))


def run(
    playbook: str,
    more: Mapping[str, str] | None = None,
    hosts: Sequence[str] = ("x1", "x2"),
    options: PlaybookOptions | None = None,
    **setting: Any,
) -> RunResult:
    """Runs a ``site.yml`` and other files on hosts that are all in the group Compute."""
    files = Files({"site.yml": playbook, **(more or {})})
    inventory = setting.pop("inventory", None) or Inventory({"Compute": list(hosts)})
    return run_to_end(
        RunInputs(
            files,
            "site.yml",
            read_playbook(files, "site.yml"),
            inventory,
            options or PlaybookOptions(),
            lambda _: FACTS,
            lambda number: (number * 37 % 100) / 100,
            1_800_000_000.0,
            **setting,
        )
    )


def tasks(text: str, head: str = "hosts: all\n  gather_facts: false") -> str:
    """A playbook of one play with these tasks."""
    lines = "\n".join(f"    {line}" for line in text.strip("\n").split("\n"))
    return f"- {head}\n  tasks:\n{lines}\n"


def log(course: RunResult) -> list[str]:
    return [line for _, lines in course.timeline.entries for line in lines]


def text(course: RunResult) -> str:
    return "\n".join(log(course))


def counts(lines: Sequence[str]) -> dict[str, dict[str, int]]:
    """The numbers of the recap, by host."""
    start = max(place for place, line in enumerate(lines) if line.startswith("PLAY RECAP"))
    rows = (line.partition(" : ") for line in lines[start + 1 :] if " : ok=" in line)
    return {host.strip(): {key: int(value) for key, value in _COUNTS.findall(figures)} for host, _, figures in rows}


def count_task_lines(lines: Sequence[str]) -> dict[str, dict[str, int]]:
    """The same numbers, counted in the lines of the tasks; for playbooks without loops and rescues."""
    result: dict[str, dict[str, int]] = {}

    def add(host: str, *names: str) -> None:
        mine = result.setdefault(
            host, dict.fromkeys(("ok", "changed", "unreachable", "failed", "skipped", "ignored"), 0)
        )
        for name in names:
            mine[name] += 1

    for place, line in enumerate(lines):
        match = re.match(r"(ok|changed|skipping|fatal): \[([^\] ]+)[^\]]*\](: UNREACHABLE!)?", line)
        included = re.match(r"included: \S+ for (.*)", line)
        if included:
            for host in included[1].split(", "):
                add(host, "ok")
        elif match and match[1] == "fatal" and lines[place + 1] == "...ignoring":
            add(match[2], "ok", "ignored", *(["changed"] if '"changed": true' in line else []))
        elif match:
            words = {"ok": ["ok"], "changed": ["ok", "changed"], "skipping": ["skipped"], "fatal": ["failed"]}
            add(match[2], *(["unreachable"] if match[3] else words[match[1]]))
    return result
