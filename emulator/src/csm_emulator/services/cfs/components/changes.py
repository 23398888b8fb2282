"""How PUT and PATCH change a component's record."""

from __future__ import annotations

from csm_emulator.records import Record


class UncaughtError(Exception):
    """The real service raises an exception here that it does not catch, and answers 500."""


def with_automatic_fields(data: Record, now: str) -> Record:
    """The data with times of layers, and with the error count reset when the desired configuration or state changes."""
    changed = dict(data)
    if isinstance(data.get("state"), list):
        changed["state"] = [{"last_updated": now, **layer} for layer in data["state"]]
    if "error_count" not in data and ("desired_config" in data or data.get("state") == []):
        changed["error_count"] = 0
    return changed


def apply_patch(record: Record, patch: Record, now: str) -> Record:
    """The record after a patch that has its automatic fields already; raises ``UncaughtError``."""
    if patch.get("state") and isinstance(record.get("state"), list):
        entries = record["state"]
        patch = {**patch, "state": [_with_existing_time(layer, entries) for layer in patch["state"]]}
    merged = merge(record, patch)
    if "state_append" in merged:
        new_entry = as_v3_layer({"last_updated": now, **merged.pop("state_append")})
        merged["state"] = append_entry(merged, new_entry)
    merged["tags"] = {key: value for key, value in merged.get("tags", {}).items() if value}
    return merged


def append_entry(record: Record, layer: Record) -> list[Record]:
    """The state with the layer appended; an entry of the same repository and playbook is removed."""
    try:
        entries = [entry for entry in record["state"] if not _is_same_playbook(entry, layer)]
    except KeyError as missing:
        raise UncaughtError from missing
    entries.append(layer)
    return entries


def _is_same_playbook(first: Record, second: Record) -> bool:
    return bool(first["clone_url"] == second["clone_url"] and first["playbook"] == second["playbook"])


def as_v3_layer(layer: Record) -> Record:
    """The layer in the format of v3; v2 appends the status to the commit (``<commit>_failed``)."""
    try:
        commit = layer["commit"]
        if "_" not in commit:
            return layer if "status" in layer else {**layer, "status": "applied"}
        commit, status = commit.split("_")
    except (KeyError, ValueError) as error:
        raise UncaughtError from error
    return {**layer, "commit": commit, "status": status}


def as_v2_layer(layer: Record) -> Record:
    status = layer.get("status", "applied")
    if status == "applied":
        return layer
    if "commit" not in layer:
        raise UncaughtError
    return {**{key: value for key, value in layer.items() if key != "status"}, "commit": f"{layer['commit']}_{status}"}


def _with_existing_time(layer: Record, entries: list[Record]) -> Record:
    """The existing entry, with its time, when the layer is otherwise equal to it."""
    for entry in entries:
        if entry.get("last_updated") and entry == {**layer, "last_updated": entry["last_updated"]}:
            return entry
    return layer


def merge(record: Record, patch: Record) -> Record:
    """The record with the patch merged field by field, at any depth; raises ``UncaughtError``."""
    if not isinstance(record, dict):
        raise UncaughtError
    merged = dict(record)
    for key, value in patch.items():
        merged[key] = merge(record.get(key, {}), value) if isinstance(value, dict) else value
    return merged
