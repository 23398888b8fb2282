"""How far a component is: its layers against those of the configuration that is wanted for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from csm_emulator.records import Record

UNCONFIGURED, FAILED, PENDING, CONFIGURED = "unconfigured", "failed", "pending", "configured"
NO_WISH = "config_deprecated"
"""Of a component that does not even say that nothing is wanted."""
_WORST_FIRST = (UNCONFIGURED, FAILED, PENDING)


@dataclass(frozen=True, slots=True)
class Defaults:
    retries: int
    playbook: str


def layer_statuses(record: Record, layers: Sequence[Record], defaults: Defaults) -> list[str]:
    """One word for each layer; raises ``KeyError`` for a component without state or errors to count."""
    given_up = is_given_up(record, defaults)
    state = record["state"]
    return [_layer_status(layer, state, given_up, defaults) for layer in layers]


def component_status(record: Record, layers: Sequence[Record] | None, defaults: Defaults) -> str:
    """``layers`` is None where the wanted configuration does not exist; raises ``KeyError`` as above."""
    if "desired_config" not in record:
        return NO_WISH
    given_up = is_given_up(record, defaults)
    state = record["state"]
    if layers is None:
        return CONFIGURED if state else UNCONFIGURED
    found = {_layer_status(layer, state, given_up, defaults) for layer in layers}
    status = next((word for word in _WORST_FIRST if word in found), CONFIGURED)
    # Sessions that somebody made by hand count as well.
    return FAILED if status == PENDING and given_up else status


def is_given_up(record: Record, defaults: Defaults) -> bool:
    retries = record.get("retry_policy")
    limit = defaults.retries if retries is None else int(retries)
    return limit != -1 and bool(record["error_count"] >= limit)


def _layer_status(layer: Record, state: Sequence[Record], given_up: bool, defaults: Defaults) -> str:
    url, commit = layer.get("clone_url", ""), layer.get("commit", "")
    playbook = layer.get("playbook") or defaults.playbook
    if not (url and commit and playbook):
        # So a layer that names a source never gets further: the service does not look the source up here.
        return UNCONFIGURED
    for done in state:
        if done.get("commit") == commit and done.get("playbook") == playbook and done.get("clone_url") == url:
            return _done_status(done.get("status", ""), given_up)
    return PENDING


def _done_status(status: str, given_up: bool) -> str:
    if status == "failed":
        return FAILED if given_up else PENDING
    # A node that did well in a playbook that ended early has not got it all.
    return PENDING if status == "incomplete" else CONFIGURED
