"""What a PUT or PATCH makes of a component's record."""

from __future__ import annotations

from csm_emulator.records import Record


class Stumble(Exception):
    """The service runs into an exception that it does not catch, and answers 500."""


def with_automatic_fields(data: Record, now: str) -> Record:
    """Times of layers, and a new count of errors where something new is wanted."""
    changed = dict(data)
    if isinstance(data.get("state"), list):
        changed["state"] = [{"last_updated": now, **layer} for layer in data["state"]]
    if "error_count" not in data and ("desired_config" in data or data.get("state") == []):
        changed["error_count"] = 0
    return changed


def patched(record: Record, patch: Record, now: str) -> Record:
    """``patch`` has its automatic fields already; raises ``Stumble``."""
    if patch.get("state") and isinstance(record.get("state"), list):
        known = record["state"]
        patch = {**patch, "state": [_with_known_time(layer, known) for layer in patch["state"]]}
    merged = merged_with(record, patch)
    if "state_append" in merged:
        addition = as_v3_layer({"last_updated": now, **merged.pop("state_append")})
        merged["state"] = appended(merged, addition)
    merged["tags"] = {key: value for key, value in merged.get("tags", {}).items() if value}
    return merged


def appended(record: Record, layer: Record) -> list[Record]:
    """A layer of the same repository and playbook is replaced, and the new one is the last."""
    try:
        kept = [each for each in record["state"] if not _same_place(each, layer)]
    except KeyError as missing:
        raise Stumble from missing
    kept.append(layer)
    return kept


def _same_place(one: Record, other: Record) -> bool:
    return bool(one["clone_url"] == other["clone_url"] and one["playbook"] == other["playbook"])


def as_v3_layer(layer: Record) -> Record:
    """The older way to say a layer's status is a word behind its commit."""
    try:
        commit = layer["commit"]
        if "_" not in commit:
            return layer if "status" in layer else {**layer, "status": "applied"}
        commit, status = commit.split("_")
    except (KeyError, ValueError) as error:
        raise Stumble from error
    return {**layer, "commit": commit, "status": status}


def as_v2_layer(layer: Record) -> Record:
    status = layer.get("status", "applied")
    if status == "applied":
        return layer
    if "commit" not in layer:
        raise Stumble
    return {**{key: value for key, value in layer.items() if key != "status"}, "commit": f"{layer['commit']}_{status}"}


def _with_known_time(layer: Record, known: list[Record]) -> Record:
    """A layer that is there already keeps its time."""
    for each in known:
        if each.get("last_updated") and each == {**layer, "last_updated": each["last_updated"]}:
            return each
    return layer


def merged_with(record: Record, patch: Record) -> Record:
    """Objects are patched field by field, at any depth; raises ``Stumble``."""
    if not isinstance(record, dict):
        raise Stumble
    merged = dict(record)
    for key, value in patch.items():
        merged[key] = merged_with(record.get(key, {}), value) if isinstance(value, dict) else value
    return merged
