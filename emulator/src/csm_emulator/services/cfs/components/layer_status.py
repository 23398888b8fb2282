"""The status of a component: its state compared with the layers of its desired configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from csm_emulator.records import Record

UNCONFIGURED, FAILED, PENDING, CONFIGURED = "unconfigured", "failed", "pending", "configured"
NO_DESIRED_CONFIG = "config_deprecated"
"""The status of a component without the field ``desired_config``."""
_WORST_FIRST = (UNCONFIGURED, FAILED, PENDING)


@dataclass(frozen=True, slots=True)
class Defaults:
    retries: int
    playbook: str


def layer_statuses(record: Record, layers: Sequence[Record], defaults: Defaults) -> list[str]:
    """The status of each layer; raises ``KeyError`` for a component without ``state`` or ``error_count``."""
    exhausted = are_retries_exhausted(record, defaults)
    state = record["state"]
    return [_layer_status(layer, state, exhausted, defaults) for layer in layers]


def component_status(record: Record, layers: Sequence[Record] | None, defaults: Defaults) -> str:
    """The component's status; ``layers`` is None when the desired configuration does not exist. Raises ``KeyError``."""
    if "desired_config" not in record:
        return NO_DESIRED_CONFIG
    exhausted = are_retries_exhausted(record, defaults)
    state = record["state"]
    if layers is None:
        return CONFIGURED if state else UNCONFIGURED
    statuses = {_layer_status(layer, state, exhausted, defaults) for layer in layers}
    status = next((word for word in _WORST_FIRST if word in statuses), CONFIGURED)
    # Failures of sessions that users created count as well.
    return FAILED if status == PENDING and exhausted else status


def are_retries_exhausted(record: Record, defaults: Defaults) -> bool:
    retries = record.get("retry_policy")
    limit = defaults.retries if retries is None else int(retries)
    return limit != -1 and bool(record["error_count"] >= limit)


def _layer_status(layer: Record, state: Sequence[Record], exhausted: bool, defaults: Defaults) -> str:
    url, commit = layer.get("clone_url", ""), layer.get("commit", "")
    playbook = layer.get("playbook") or defaults.playbook
    if not (url and commit and playbook):
        # The real service does not resolve sources here, so a layer that names a source stays unconfigured.
        return UNCONFIGURED
    for entry in state:
        if entry.get("commit") == commit and entry.get("playbook") == playbook and entry.get("clone_url") == url:
            return _entry_status(entry.get("status", ""), exhausted)
    return PENDING


def _entry_status(status: str, exhausted: bool) -> str:
    if status == "failed":
        return FAILED if exhausted else PENDING
    # The playbook ended early, so the node has only a part of the layer.
    return PENDING if status == "incomplete" else CONFIGURED
