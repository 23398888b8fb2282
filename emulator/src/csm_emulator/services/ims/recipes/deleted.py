"""How v3 deletes recipes, and what can be done with those that are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from csm_emulator.dialects.connexion import Refused
from csm_emulator.records import Json, Record
from csm_emulator.services.ims.images.artifacts import ArtifactMissing, Artifacts, NotDeleted
from csm_emulator.services.ims.recipes.api import delete_file, listed, shown_recipe
from csm_emulator.services.ims.responses import body_of, crashed, done, found, problem, shown
from csm_emulator.services.ims.schemas import bodies as forms
from csm_emulator.services.ims.tables import Tables, undeleted
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
            Route("GET", "/v3/deleted/recipes", lambda _: listed(self._deleted)),
            Route("GET", "/v3/deleted/recipes/{id}", lambda call: shown(shown_recipe(found(self._deleted, call)))),
            Route("DELETE", "/v3/deleted/recipes", self._forget_all),
            Route("DELETE", "/v3/deleted/recipes/{id}", self._forget),
            Route("PATCH", "/v3/deleted/recipes", self._undelete_all),
            Route("PATCH", "/v3/deleted/recipes/{id}", self._undelete),
        )

    def _soft_delete(self, call: Call) -> Reply:
        record = found(self._recipes, call)
        self._put_away(record)
        del self._recipes[record["id"]]
        return done()

    def _soft_delete_all(self, _: Call) -> Reply:
        for record in list(self._recipes.values()):
            self._put_away(record)
            del self._recipes[record["id"]]
        return done()

    def _put_away(self, record: Record) -> None:
        deleted = {**record, "deleted": self._tables.now()}
        if record["link"]:
            with suppress(ArtifactMissing, Refused):
                deleted["link"] = self._artifacts.soft_delete(record["link"])
        self._deleted[record["id"]] = deleted

    def _forget(self, call: Call) -> Reply:
        record = found(self._deleted, call)
        delete_file(self._artifacts, record)
        del self._deleted[record["id"]]
        return done()

    def _forget_all(self, _: Call) -> Reply:
        for record in list(self._deleted.values()):
            delete_file(self._artifacts, record)
            del self._deleted[record["id"]]
        return done()

    def _undelete(self, call: Call) -> Reply:
        record = found(self._deleted, call)
        forms.load(forms.DeletedPatch, body_of(call))
        with suppress(NotDeleted):
            record = {**record, "link": self._link_again(record)}
        self._recipes[record["id"]] = undeleted(record)
        del self._deleted[record["id"]]
        return done()

    def _undelete_all(self, call: Call) -> Reply:
        """The records leave the deleted ones together: one that cannot come back leaves the others in both."""
        forms.load(forms.DeletedPatch, body_of(call))
        records = list(self._deleted.values())
        for record in records:
            try:
                back = {**record, "link": self._link_again(record)}
            except NotDeleted:
                raise crashed() from None
            self._recipes[record["id"]] = undeleted(back)
        for record in records:
            del self._deleted[record["id"]]
        return done()

    def _link_again(self, record: Record) -> Json:
        if not record["link"]:
            return record["link"]
        try:
            return self._artifacts.undelete(record["link"])
        except ArtifactMissing as missing:
            raise problem(422, str(missing)) from None
