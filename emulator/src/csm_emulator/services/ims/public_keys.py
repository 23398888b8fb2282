"""Public keys, and those that v3 has deleted."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.records import Record
from csm_emulator.services.ims.responses import body_of, done, found, shown, written
from csm_emulator.services.ims.schemas import bodies as forms
from csm_emulator.services.ims.tables import Table, Tables, undeleted
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route


class PublicKeys:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._keys = tables.public_keys
        self._deleted = tables.deleted_public_keys

    def routes(self, prefix: str) -> Sequence[Route]:
        """Of v2, for each of its prefixes."""
        return (
            *self._common_routes(prefix),
            Route("DELETE", f"{prefix}/public-keys", self._delete_all),
            Route("DELETE", f"{prefix}/public-keys/{{id}}", lambda call: _forgotten(self._keys, call)),
        )

    def v3_routes(self) -> Sequence[Route]:
        return (
            *self._common_routes("/v3"),
            Route("DELETE", "/v3/public-keys", self._soft_delete_all),
            Route("DELETE", "/v3/public-keys/{id}", self._soft_delete),
            Route("GET", "/v3/deleted/public-keys", lambda _: shown(list(self._deleted.values()))),
            Route("GET", "/v3/deleted/public-keys/{id}", lambda call: shown(found(self._deleted, call))),
            Route("DELETE", "/v3/deleted/public-keys", self._forget_all),
            Route("DELETE", "/v3/deleted/public-keys/{id}", lambda call: _forgotten(self._deleted, call)),
            Route("PATCH", "/v3/deleted/public-keys", self._undelete_all),
            Route("PATCH", "/v3/deleted/public-keys/{id}", self._undelete),
        )

    def _common_routes(self, prefix: str) -> Sequence[Route]:
        return (
            Route("GET", f"{prefix}/public-keys", lambda _: shown(list(self._keys.values()))),
            Route("POST", f"{prefix}/public-keys", self._create),
            Route("GET", f"{prefix}/public-keys/{{id}}", lambda call: shown(found(self._keys, call))),
        )

    def _create(self, call: Call) -> Reply:
        given = forms.load(forms.Key, body_of(call))
        record = {**self._tables.new("public-key"), **given}
        self._keys[record["id"]] = record
        return written(record)

    def _delete_all(self, _: Call) -> Reply:
        self._keys.put_away()
        return done()

    def _soft_delete(self, call: Call) -> Reply:
        self._put_away(found(self._keys, call))
        return done()

    def _soft_delete_all(self, _: Call) -> Reply:
        for record in list(self._keys.values()):
            self._put_away(record)
        return done()

    def _put_away(self, record: Record) -> None:
        self._deleted[record["id"]] = {**record, "deleted": self._tables.now()}
        del self._keys[record["id"]]

    def _forget_all(self, _: Call) -> Reply:
        self._deleted.clear()
        return done()

    def _undelete(self, call: Call) -> Reply:
        record = found(self._deleted, call)
        forms.load(forms.DeletedPatch, body_of(call))
        self._bring_back(record)
        return done()

    def _undelete_all(self, call: Call) -> Reply:
        forms.load(forms.DeletedPatch, body_of(call))
        for record in list(self._deleted.values()):
            self._bring_back(record)
        return done()

    def _bring_back(self, record: Record) -> None:
        self._keys[record["id"]] = undeleted(record)
        del self._deleted[record["id"]]


def _forgotten(table: Table, call: Call) -> Reply:
    del table[found(table, call)["id"]]
    return done()
