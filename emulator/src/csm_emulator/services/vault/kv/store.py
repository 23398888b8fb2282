"""The store of Vault's key-value engine, version 2: the versions of each secret."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from csm_emulator.records import Json, Record
from csm_emulator.services.vault.responses import Refusal, seconds
from csm_emulator.state.clock import rfc3339
from csm_emulator.state.tables import RecordTable

DEFAULT_MAX_VERSIONS = 10
"""Versions that are kept of a secret without a setting."""
Source = Callable[[], Record]


class Secrets:
    """All mounts in one table, by ``mount/path``. ``sources`` has functions for contents that are not stored."""

    def __init__(
        self,
        table: RecordTable[Record],
        settings: RecordTable[Record],
        sources: dict[str, Source],
        default_key: Callable[[str], str] = str,
    ) -> None:
        self._table = table
        self._default_key = default_key
        """Returns the key that is read instead of a missing key."""
        self._settings = settings
        self._sources = sources

    def get(self, mount: str, path: str) -> Json:
        """The record of a secret. Raises ``Refusal`` when there is none."""
        record = self._table.get(f"{mount}/{path}") or self._table.get(self._default_key(f"{mount}/{path}"))
        if record is None:
            raise Refusal(404)
        return record

    def content(self, version: Json, now: float) -> Json:
        """The content of a version; None when it was deleted."""
        if _is_gone(version, now):
            return None
        return self._sources[version["from"]]() if "from" in version else version["data"]

    def write(self, mount: str, path: str, data: Record, cas: int | None, now: float) -> Json:
        """Writes a new version and returns its metadata."""
        record = self._table.get(f"{mount}/{path}") or _empty(now)
        self._check_cas(mount, record, cas)
        number = record["current"] + 1
        lifetime = self._version_lifetime(mount, record)
        version = {"created": now, "deleted": now + lifetime if lifetime else 0, "destroyed": False, "data": data}
        max_versions = record["max_versions"] or self.settings(mount)["max_versions"] or DEFAULT_MAX_VERSIONS
        versions = {**record["versions"], str(number): version}
        newest = {key: entry for key, entry in versions.items() if int(key) > number - max_versions}
        self._put(mount, path, {**record, "current": number, "versions": newest, "updated": now})
        return version_view(number, version, record)

    def _version_lifetime(self, mount: str, record: Json) -> int:
        """Seconds until a version is deleted: the smaller setting of secret and mount; 0 for never."""
        lifetimes = (seconds(source["delete_version_after"]) for source in (record, self.settings(mount)))
        return min(filter(None, lifetimes), default=0)

    def _check_cas(self, mount: str, record: Json, cas: int | None) -> None:
        if cas is None:
            if record["cas_required"] or self.settings(mount)["cas_required"]:
                raise Refusal(400, "check-and-set parameter required for this call")
        elif cas != record["current"]:
            raise Refusal(400, "check-and-set parameter did not match the current version")

    def delete(self, mount: str, path: str, numbers: Iterable[int] | None, now: float) -> None:
        """Deletes the versions, or the latest one without numbers. Deleted ones keep their deletion time."""
        record = self._table.get(f"{mount}/{path}") or _empty(now)
        selected = [record["current"]] if numbers is None else numbers
        versions = {number: record["versions"].get(str(number)) for number in selected}
        live = [number for number, version in versions.items() if version and not _is_gone(version, now)]
        self.change_versions(mount, path, live, deleted=now)

    def change_versions(self, mount: str, path: str, numbers: Iterable[int], **changes: Json) -> None:
        """Marks versions as deleted, undeleted or destroyed. Unknown versions are ignored."""
        record = self._table.get(f"{mount}/{path}")
        if record is None:
            return
        selected = {str(number) for number in numbers}
        versions = {
            key: _changed(version, changes) if key in selected and not version["destroyed"] else version
            for key, version in record["versions"].items()
        }
        self._put(mount, path, {**record, "versions": versions})

    def describe(self, mount: str, path: str, changes: Json, now: float) -> None:
        record = self._table.get(f"{mount}/{path}") or _empty(now)
        self._put(mount, path, {**record, **changes, "updated": now})

    def forget(self, mount: str, path: str) -> None:
        self._table.pop(f"{mount}/{path}", None)

    def forget_all(self, mount: str) -> None:
        for key in [key for key in self._table if key.startswith(f"{mount}/")]:
            del self._table[key]
        self._settings.pop(mount, None)

    def names(self, mount: str, folder: str) -> list[str]:
        """The names in a folder; those of folders end in a slash."""
        start = f"{mount}/{folder.strip('/')}/" if folder.strip("/") else f"{mount}/"
        below = [key[len(start) :] for key in self._table if key.startswith(start)]
        return sorted(
            {name if not remainder else f"{name}/" for name, _, remainder in (path.partition("/") for path in below)}
        )

    def settings(self, mount: str) -> Json:
        return self._settings.get(mount, {"max_versions": 0, "cas_required": False, "delete_version_after": "0s"})

    def change_settings(self, mount: str, changes: Json) -> None:
        self._settings[mount] = {**self.settings(mount), **changes}

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


def seed_record(moment: float, version: Json) -> Json:
    """A record with one version, whose content is in ``data``, or named by ``from``."""
    first = {"created": moment, "deleted": 0, "destroyed": False, **version}
    return {**_empty(moment), "current": 1, "versions": {"1": first}}


def _is_gone(version: Json, now: float) -> bool:
    return bool(version["destroyed"] or 0 < version["deleted"] <= now)


def _changed(version: Json, changes: Json) -> Json:
    marked = {**version, **changes}
    if marked["destroyed"]:
        marked = {name: value for name, value in marked.items() if name not in ("data", "from")}
    return marked


def version_view(number: int, version: Json, record: Json) -> Json:
    return {**version_times(version), "custom_metadata": record["custom_metadata"], "version": number}


def version_times(version: Json) -> Json:
    return {
        "created_time": rfc3339(version["created"]),
        "deletion_time": rfc3339(version["deleted"]) if version["deleted"] else "",
        "destroyed": version["destroyed"],
    }


def metadata_view(record: Json) -> Json:
    numbers = [int(key) for key in record["versions"]]
    return {
        "cas_required": record["cas_required"],
        "created_time": rfc3339(record["created"]),
        "current_version": record["current"],
        "custom_metadata": record["custom_metadata"],
        "delete_version_after": record["delete_version_after"],
        "max_versions": record["max_versions"],
        "oldest_version": min(numbers) if record["current"] > DEFAULT_MAX_VERSIONS and numbers else 0,
        "updated_time": rfc3339(record["updated"]),
        "versions": {key: version_times(version) for key, version in record["versions"].items()},
    }
