"""The paths of the key-value engine: data, metadata, delete, undelete, destroy, config."""

from __future__ import annotations

from collections.abc import Callable

from csm_emulator.dialects.merge_patch import merged
from csm_emulator.records import Json, Record
from csm_emulator.services.vault.kv.store import Secrets, metadata_view, version_view
from csm_emulator.services.vault.request_ids import RequestIds
from csm_emulator.services.vault.responses import NO_STORE, Refusal, envelope, no_content, read, seconds, whole_number
from csm_emulator.state.clock import Clock
from csm_emulator.transport.call import Call, Reply

_WRITES = ("POST", "PUT")
Handler = Callable[[Call, str, str], Reply]
"""(call, mount, path of the secret) → reply."""


class KvApi:
    def __init__(self, secrets: Secrets, clock: Clock, requests: RequestIds) -> None:
        self._secrets = secrets
        self._clock = clock
        self._requests = requests
        self._handlers: dict[tuple[str, str], Handler] = {
            ("GET", "data"): self._read,
            ("PATCH", "data"): self._patch,
            ("DELETE", "data"): self._delete,
            ("GET", "metadata"): self._metadata,
            ("LIST", "metadata"): self._list,
            ("DELETE", "metadata"): self._forget,
            ("GET", "config"): self._config,
        }
        write_handlers: dict[str, Handler] = {
            "data": self._write,
            "metadata": self._describe,
            "delete": self._delete_versions,
            "undelete": self._undelete,
            "destroy": self._destroy,
            "config": self._configure,
        }
        self._handlers |= {(method, kind): handler for kind, handler in write_handlers.items() for method in _WRITES}

    def answer(self, call: Call, method: str, mount: str, inner: str) -> Reply:
        """``method`` is LIST for a GET with ``list=true`` too."""
        kind, _, path = inner.partition("/")
        handler = self._handlers.get((method, kind))
        if handler is None:
            exists = any(known_kind == kind for _, known_kind in self._handlers)
            raise Refusal(405, "unsupported operation") if exists else Refusal(404, _wrong_path(mount))
        if not path.strip("/") and kind != "config" and method != "LIST":
            raise Refusal(404, _wrong_path(mount))
        return handler(call, mount, path)

    def _read(self, call: Call, mount: str, path: str) -> Reply:
        record = self._secrets.get(mount, path)
        requested = whole_number({"version": call.first("version") or None}, "version")
        number = requested or record["current"]
        version = record["versions"].get(str(number))
        if version is None:
            raise Refusal(404)
        content = self._secrets.content(version, self._clock.now())
        view = {"data": content, "metadata": version_view(number, version, record)}
        return envelope(self._requests.next(), view, status=404 if content is None else 200)

    def _write(self, call: Call, mount: str, path: str) -> Reply:
        body = read(call)
        return self._write_version(mount, path, _data(body), _cas(body))

    def _patch(self, call: Call, mount: str, path: str) -> Reply:
        """A merge patch (RFC 7396) of the latest version."""
        body = read(call)
        record = self._secrets.get(mount, path)
        latest = record["versions"].get(str(record["current"]))
        content = self._secrets.content(latest, self._clock.now()) if latest else None
        if content is None:
            raise Refusal(404)
        return self._write_version(mount, path, merged(content, _data(body)), _cas(body))

    def _write_version(self, mount: str, path: str, data: Record, cas: int | None) -> Reply:
        version = self._secrets.write(mount, path, data, cas, self._clock.now())
        return envelope(self._requests.next(), version)

    def _delete(self, _: Call, mount: str, path: str) -> Reply:
        self._secrets.delete(mount, path, None, self._clock.now())
        return no_content()

    def _delete_versions(self, call: Call, mount: str, path: str) -> Reply:
        self._secrets.delete(mount, path, _versions(call), self._clock.now())
        return no_content()

    def _undelete(self, call: Call, mount: str, path: str) -> Reply:
        self._secrets.change_versions(mount, path, _versions(call), deleted=0)
        return no_content()

    def _destroy(self, call: Call, mount: str, path: str) -> Reply:
        self._secrets.change_versions(mount, path, _versions(call), destroyed=True)
        return no_content()

    def _metadata(self, _: Call, mount: str, path: str) -> Reply:
        return envelope(self._requests.next(), metadata_view(self._secrets.get(mount, path)))

    def _list(self, _: Call, mount: str, path: str) -> Reply:
        names = self._secrets.names(mount, path)
        if not names:
            raise Refusal(404)
        return envelope(self._requests.next(), {"keys": names})

    def _describe(self, call: Call, mount: str, path: str) -> Reply:
        body = read(call)
        changes = _settings(body)
        custom = body.get("custom_metadata")
        if custom is not None:
            if not isinstance(custom, dict) or not all(isinstance(value, str) for value in custom.values()):
                raise Refusal(400, "custom_metadata validation failed")
            changes["custom_metadata"] = custom
        self._secrets.describe(mount, path, changes, self._clock.now())
        return no_content()

    def _forget(self, _: Call, mount: str, path: str) -> Reply:
        self._secrets.forget(mount, path)
        return no_content()

    def _config(self, _: Call, mount: str, __: str) -> Reply:
        return envelope(self._requests.next(), self._secrets.settings(mount))

    def _configure(self, call: Call, mount: str, _: str) -> Reply:
        self._secrets.change_settings(mount, _settings(read(call)))
        return Reply(204, headers=NO_STORE)


def _wrong_path(mount: str) -> str:
    return (
        f'Invalid path for a versioned K/V secrets engine at "{mount}/". '
        "See the API docs for the appropriate API endpoints to use."
    )


def _data(body: Record) -> Record:
    data = body.get("data")
    if data is None:
        raise Refusal(400, "no data provided")
    if not isinstance(data, dict):
        kind = {str: "string", bool: "bool", list: "slice"}.get(type(data), "float64")
        raise Refusal(400, f"error converting input for field \"data\": '' expected a map, got '{kind}'")
    return data


def _cas(body: Record) -> int | None:
    options = body.get("options")
    if options is None:
        return None
    if not isinstance(options, dict):
        raise Refusal(400, "error converting input for field \"options\": '' expected a map")
    return whole_number(options, "cas") if options.get("cas") is not None else None


def _versions(call: Call) -> list[int]:
    versions = read(call).get("versions")
    numbers = versions if isinstance(versions, list) else [versions] if versions is not None else []
    if not numbers:
        raise Refusal(400, "no version number provided")
    return [whole_number({"versions": number}, "versions") for number in numbers]


def _settings(body: Record) -> dict[str, Json]:
    settings: dict[str, Json] = {}
    if body.get("max_versions") is not None:
        settings["max_versions"] = max(whole_number(body, "max_versions"), 0)
    if body.get("cas_required") is not None:
        settings["cas_required"] = body["cas_required"] in (True, "true", 1, "1")
    if body.get("delete_version_after") is not None:
        settings["delete_version_after"] = f"{seconds(body['delete_version_after'])}s"
    return settings
