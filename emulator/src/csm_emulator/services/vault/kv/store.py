"""Version 2 of Vault's key-value engine: what was written, version by version."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from csm_emulator.records import Json
from csm_emulator.services.vault.responses import Refusal, seconds
from csm_emulator.state.clock import rfc3339
from csm_emulator.state.tables import RecordTable

KEPT = 10
"""Versions, when nothing else is said."""
Source = Callable[[], dict[str, Any]]


class Secrets:
    """All mounts on one table, by ``mount/path``. ``sources`` make what is not written down, by name."""

    def __init__(
        self,
        table: RecordTable,
        settings: RecordTable,
        sources: dict[str, Source],
        stand_in: Callable[[str], str] = str,
    ) -> None:
        self._table = table
        self._stand_in = stand_in
        """The key of the secret that is read where none was written under this key."""
        self._settings = settings
        self._sources = sources

    def get(self, mount: str, path: str) -> Json:
        """The record of a secret; raises a refusal when there is none."""
        found = self._table.get(f"{mount}/{path}") or self._table.get(self._stand_in(f"{mount}/{path}"))
        if found is None:
            raise Refusal(404)
        return found

    def content(self, version: Json, now: float) -> Json:
        """What a version holds; None when it was deleted."""
        if _is_gone(version, now):
            return None
        return self._sources[version["from"]]() if "from" in version else version["data"]

    def write(self, mount: str, path: str, data: dict[str, Any], cas: int | None, now: float) -> Json:
        """The new version, with its number."""
        record = self._table.get(f"{mount}/{path}") or _empty(now)
        self._check_cas(mount, record, cas)
        number = record["current"] + 1
        lives = self._lives(mount, record)
        version = {"created": now, "deleted": now + lives if lives else 0, "destroyed": False, "data": data}
        most = record["max_versions"] or self.settings(mount)["max_versions"] or KEPT
        versions = {**record["versions"], str(number): version}
        kept = {key: each for key, each in versions.items() if int(key) > number - most}
        self._put(mount, path, {**record, "current": number, "versions": kept, "updated": now})
        return shown_version(number, version, record)

    def _lives(self, mount: str, record: Json) -> int:
        """Seconds until a version is deleted by itself: the fewer of the secret's and the mount's; 0 for never."""
        said = (seconds(each["delete_version_after"]) for each in (record, self.settings(mount)))
        return min(filter(None, said), default=0)

    def _check_cas(self, mount: str, record: Json, cas: int | None) -> None:
        if cas is None:
            if record["cas_required"] or self.settings(mount)["cas_required"]:
                raise Refusal(400, "check-and-set parameter required for this call")
        elif cas != record["current"]:
            raise Refusal(400, "check-and-set parameter did not match the current version")

    def delete(self, mount: str, path: str, numbers: Iterable[int] | None, now: float) -> None:
        """The latest version, when no numbers are said. What is gone already keeps its time."""
        record = self._table.get(f"{mount}/{path}") or _empty(now)
        wanted = [record["current"]] if numbers is None else numbers
        versions = {number: record["versions"].get(str(number)) for number in wanted}
        there = [number for number, version in versions.items() if version and not _is_gone(version, now)]
        self.mark(mount, path, there, deleted=now)

    def mark(self, mount: str, path: str, numbers: Iterable[int], **facts: Json) -> None:
        """Deleted, not deleted any more, or destroyed; versions that are not there are passed over."""
        record = self._table.get(f"{mount}/{path}")
        if record is None:
            return
        wanted = {str(number) for number in numbers}
        versions = {
            key: _marked(version, facts) if key in wanted and not version["destroyed"] else version
            for key, version in record["versions"].items()
        }
        self._put(mount, path, {**record, "versions": versions})

    def describe(self, mount: str, path: str, facts: Json, now: float) -> None:
        record = self._table.get(f"{mount}/{path}") or _empty(now)
        self._put(mount, path, {**record, **facts, "updated": now})

    def forget(self, mount: str, path: str) -> None:
        self._table.pop(f"{mount}/{path}", None)

    def forget_all(self, mount: str) -> None:
        for key in [key for key in self._table if key.startswith(f"{mount}/")]:
            del self._table[key]
        self._settings.pop(mount, None)

    def names(self, mount: str, folder: str) -> list[str]:
        """What is in a folder; folders end in a slash."""
        start = f"{mount}/{folder.strip('/')}/" if folder.strip("/") else f"{mount}/"
        below = [key[len(start) :] for key in self._table if key.startswith(start)]
        return sorted({name if not rest else f"{name}/" for name, _, rest in (each.partition("/") for each in below)})

    def settings(self, mount: str) -> Json:
        return self._settings.get(mount, {"max_versions": 0, "cas_required": False, "delete_version_after": "0s"})

    def set(self, mount: str, facts: Json) -> None:
        self._settings[mount] = {**self.settings(mount), **facts}

    def _put(self, mount: str, path: str, record: Json) -> None:
        self._table[f"{mount}/{path}"] = record


def _empty(now: float) -> Json:
    return {
        "current": 0,
        "versions": {},
        "created": now,
        "updated": now,
        "max_versions": 0,
        "cas_required": False,
        "delete_version_after": "0s",
        "custom_metadata": None,
    }


def seeded(moment: float, version: Json) -> Json:
    """A record with one version, which ``data`` or ``from`` is given for."""
    first = {"created": moment, "deleted": 0, "destroyed": False, **version}
    return {**_empty(moment), "current": 1, "versions": {"1": first}}


def _is_gone(version: Json, now: float) -> bool:
    return bool(version["destroyed"] or 0 < version["deleted"] <= now)


def _marked(version: Json, facts: Json) -> Json:
    marked = {**version, **facts}
    if marked["destroyed"]:
        marked = {name: value for name, value in marked.items() if name not in ("data", "from")}
    return marked


def shown_version(number: int, version: Json, record: Json) -> Json:
    return {**shown_times(version), "custom_metadata": record["custom_metadata"], "version": number}


def shown_times(version: Json) -> Json:
    return {
        "created_time": rfc3339(version["created"]),
        "deletion_time": rfc3339(version["deleted"]) if version["deleted"] else "",
        "destroyed": version["destroyed"],
    }


def shown_metadata(record: Json) -> Json:
    numbers = [int(key) for key in record["versions"]]
    return {
        "cas_required": record["cas_required"],
        "created_time": rfc3339(record["created"]),
        "current_version": record["current"],
        "custom_metadata": record["custom_metadata"],
        "delete_version_after": record["delete_version_after"],
        "max_versions": record["max_versions"],
        "oldest_version": min(numbers) if record["current"] > KEPT and numbers else 0,
        "updated_time": rfc3339(record["updated"]),
        "versions": {key: shown_times(version) for key, version in record["versions"].items()},
    }
