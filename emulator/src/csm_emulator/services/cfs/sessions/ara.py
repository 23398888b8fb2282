"""Links to ARA, where real sites look at what Ansible did."""

from __future__ import annotations

from typing import Any

_HOST = "ara.cmn.emulator.local"
"""As the service writes it: without a scheme."""


def host_link(name: Any) -> str:
    return f"{_HOST}/hosts?name={name}"


def session_link(name: str) -> str:
    return f"{_HOST}/?label={name}"
