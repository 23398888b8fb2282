"""The debug playbooks that are built into the execution environment."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.services.cfs.ansible.playbooks.parser import read_playbook
from csm_emulator.services.cfs.ansible.playbooks.plays import Play

ROOT = "/etc/ansible/layer_debug"
_PLAYBOOKS = {
    "facts.yaml": "- hosts: all\n  gather_facts: true\n  tasks:\n    - debug:\n        var: ansible_facts\n",
    "fail.yaml": (
        "- hosts: all\n  gather_facts: false\n  tasks:\n    - fail:\n        msg: This is an intentional test failure\n"
        "      run_once: true\n      delegate_to: localhost\n"
    ),
    "noop.yaml": "- hosts: all\n  gather_facts: false\n  tasks: []\n",
}


class DebugPlaybooks:
    root = ROOT

    def read(self, path: str) -> str | None:
        return _PLAYBOOKS.get(path)

    def has(self, path: str) -> bool:
        return path in _PLAYBOOKS

    def files_in(self, _: str) -> Sequence[str]:
        return ()


def plays(playbook: str) -> tuple[Play, ...]:
    """The plays of a debug playbook; raises ``AnsibleError`` when it does not exist."""
    return read_playbook(DebugPlaybooks(), playbook)
