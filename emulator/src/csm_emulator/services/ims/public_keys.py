"""Public keys, and keys that v3 has soft-deleted."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.records import Record
from csm_emulator.services.ims import schemas
from csm_emulator.services.ims.responses import find_record, jsonify, no_content, read_body, restful_json
from csm_emulator.services.ims.tables import Table, Tables, without_deletion_date
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route


class PublicKeys:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._keys = tables.public_keys
        self._deleted = tables.deleted_public_keys

    def routes(self, prefix: str) -> Sequence[Route]:
        """Routes of v2 under one of its prefixes."""
        return (
            *self._common_routes(prefix),
            Route("DELETE", f"{prefix}/public-keys", self._delete_all),
            Route("DELETE", f"{prefix}/public-keys/{{id}}", lambda call: _delete_from(self._keys, call)),
        )

    def v3_routes(self) -> Sequence[Route]:
        return (
            *self._common_routes("/v3"),
            Route("DELETE", "/v3/public-keys", self._soft_delete_all),
            Route("DELETE", "/v3/public-keys/{id}", self._soft_delete),
            Route("GET", "/v3/deleted/public-keys", lambda _: jsonify(list(self._deleted.values()))),
            Route("GET", "/v3/deleted/public-keys/{id}", lambda call: jsonify(find_record(self._deleted, call))),
            Route("DELETE", "/v3/deleted/public-keys", self._purge_all),
            Route("DELETE", "/v3/deleted/public-keys/{id}", lambda call: _delete_from(self._deleted, call)),
            Route("PATCH", "/v3/deleted/public-keys", self._undelete_all),
            Route("PATCH", "/v3/deleted/public-keys/{id}", self._undelete),
        )

    def _common_routes(self, prefix: str) -> Sequence[Route]:
        return (
            Route("GET", f"{prefix}/public-keys", lambda _: jsonify(list(self._keys.values()))),
            Route("POST", f"{prefix}/public-keys", self._create),
            Route("GET", f"{prefix}/public-keys/{{id}}", lambda call: jsonify(find_record(self._keys, call))),
        )

    def _create(self, call: Call) -> Reply:
        key = schemas.load(schemas.Key, read_body(call))
        record = {**self._tables.new("public-key"), **key}
        self._keys[record["id"]] = record
        return restful_json(record)

    def _delete_all(self, _: Call) -> Reply:
        self._keys.hide_all()
        return no_content()

    def _soft_delete(self, call: Call) -> Reply:
        self._move_to_deleted(find_record(self._keys, call))
        return no_content()

    def _soft_delete_all(self, _: Call) -> Reply:
        for record in list(self._keys.values()):
            self._move_to_deleted(record)
        return no_content()

    def _move_to_deleted(self, record: Record) -> None:
        self._deleted[record["id"]] = {**record, "deleted": self._tables.now()}
        del self._keys[record["id"]]

    def _purge_all(self, _: Call) -> Reply:
        self._deleted.clear()
        return no_content()

    def _undelete(self, call: Call) -> Reply:
        record = find_record(self._deleted, call)
        schemas.load(schemas.DeletedPatch, read_body(call))
        self._restore(record)
        return no_content()

    def _undelete_all(self, call: Call) -> Reply:
        schemas.load(schemas.DeletedPatch, read_body(call))
        for record in list(self._deleted.values()):
            self._restore(record)
        return no_content()

    def _restore(self, record: Record) -> None:
        self._keys[record["id"]] = without_deletion_date(record)
        del self._deleted[record["id"]]


def _delete_from(table: Table, call: Call) -> Reply:
    del table[find_record(table, call)["id"]]
    return no_content()
