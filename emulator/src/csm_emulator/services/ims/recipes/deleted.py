"""Soft deletion of recipes in v3: delete, list, restore, and delete permanently."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from csm_emulator.dialects.connexion import Refused
from csm_emulator.records import Json, Record
from csm_emulator.services.ims import schemas
from csm_emulator.services.ims.images.artifacts import ArtifactMissing, Artifacts, NotDeleted
from csm_emulator.services.ims.recipes.api import delete_file, list_recipes, public_recipe
from csm_emulator.services.ims.responses import find_record, internal_error, jsonify, no_content, problem, read_body
from csm_emulator.services.ims.tables import Tables, without_deletion_date
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route


class DeletedRecipes:
    def __init__(self, tables: Tables, artifacts: Artifacts) -> None:
        self._tables = tables
        self._recipes = tables.recipes
        self._deleted = tables.deleted_recipes
        self._artifacts = artifacts

    def routes(self) -> Sequence[Route]:
        return (
            Route("DELETE", "/v3/recipes", self._soft_delete_all),
            Route("DELETE", "/v3/recipes/{id}", self._soft_delete),
            Route("GET", "/v3/deleted/recipes", lambda _: list_recipes(self._deleted)),
            Route(
                "GET", "/v3/deleted/recipes/{id}", lambda call: jsonify(public_recipe(find_record(self._deleted, call)))
            ),
            Route("DELETE", "/v3/deleted/recipes", self._purge_all),
            Route("DELETE", "/v3/deleted/recipes/{id}", self._purge),
            Route("PATCH", "/v3/deleted/recipes", self._undelete_all),
            Route("PATCH", "/v3/deleted/recipes/{id}", self._undelete),
        )

    def _soft_delete(self, call: Call) -> Reply:
        record = find_record(self._recipes, call)
        self._move_to_deleted(record)
        del self._recipes[record["id"]]
        return no_content()

    def _soft_delete_all(self, _: Call) -> Reply:
        for record in list(self._recipes.values()):
            self._move_to_deleted(record)
            del self._recipes[record["id"]]
        return no_content()

    def _move_to_deleted(self, record: Record) -> None:
        deleted = {**record, "deleted": self._tables.now()}
        if record["link"]:
            with suppress(ArtifactMissing, Refused):
                deleted["link"] = self._artifacts.soft_delete(record["link"])
        self._deleted[record["id"]] = deleted

    def _purge(self, call: Call) -> Reply:
        record = find_record(self._deleted, call)
        delete_file(self._artifacts, record)
        del self._deleted[record["id"]]
        return no_content()

    def _purge_all(self, _: Call) -> Reply:
        for record in list(self._deleted.values()):
            delete_file(self._artifacts, record)
            del self._deleted[record["id"]]
        return no_content()

    def _undelete(self, call: Call) -> Reply:
        record = find_record(self._deleted, call)
        schemas.load(schemas.DeletedPatch, read_body(call))
        with suppress(NotDeleted):
            record = {**record, "link": self._restored_link(record)}
        self._recipes[record["id"]] = without_deletion_date(record)
        del self._deleted[record["id"]]
        return no_content()

    def _undelete_all(self, call: Call) -> Reply:
        """Records leave the deleted table together: if one cannot be restored, those before it are in both tables."""
        schemas.load(schemas.DeletedPatch, read_body(call))
        records = list(self._deleted.values())
        for record in records:
            try:
                restored = {**record, "link": self._restored_link(record)}
            except NotDeleted:
                raise internal_error() from None
            self._recipes[record["id"]] = without_deletion_date(restored)
        for record in records:
            del self._deleted[record["id"]]
        return no_content()

    def _restored_link(self, record: Record) -> Json:
        if not record["link"]:
            return record["link"]
        try:
            return self._artifacts.undelete(record["link"])
        except ArtifactMissing as missing:
            raise problem(422, str(missing)) from None
