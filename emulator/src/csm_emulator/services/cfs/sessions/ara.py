"""Links to ARA, which shows results of Ansible at real sites."""

from __future__ import annotations

from csm_emulator.records import Json

_HOST = "ara.cmn.emulator.local"
"""The real service writes links without a scheme."""


def host_link(name: Json) -> str:
    return f"{_HOST}/hosts?name={name}"


def session_link(name: str) -> str:
    return f"{_HOST}/?label={name}"
