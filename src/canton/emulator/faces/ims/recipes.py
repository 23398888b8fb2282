"""Recipes, and those that v3 has deleted."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from canton.emulator.faces.ims import forms
from canton.emulator.faces.ims.artifacts import ArtifactMissing, Artifacts, NotDeleted, shown_link
from canton.emulator.faces.ims.fields import boolean
from canton.emulator.faces.ims.images import cascades
from canton.emulator.faces.ims.replies import body_of, conflict, crashed, done, found, problem, shown, written
from canton.emulator.faces.ims.tables import Record, Table, Tables
from canton.emulator.wire.call import Call, Json, Reply
from canton.emulator.wire.connexion import Refused
from canton.emulator.wire.routes import Route


class Recipes:
    def __init__(self, tables: Tables, artifacts: Artifacts) -> None:
        self._tables = tables
        self._recipes = tables.recipes
        self._deleted = tables.deleted_recipes
        self._artifacts = artifacts

    def routes(self, prefix: str) -> Sequence[Route]:
        """Of v2, for each of its prefixes."""
        return (
            *self._common_routes(prefix),
            Route("DELETE", f"{prefix}/recipes", self._delete_all),
            Route("DELETE", f"{prefix}/recipes/{{id}}", self._delete),
        )

    def v3_routes(self) -> Sequence[Route]:
        return (
            *self._common_routes("/v3"),
            Route("DELETE", "/v3/recipes", self._soft_delete_all),
            Route("DELETE", "/v3/recipes/{id}", self._soft_delete),
            Route("GET", "/v3/deleted/recipes", lambda _: _listed(self._deleted)),
            Route("GET", "/v3/deleted/recipes/{id}", lambda call: shown(_shown(found(self._deleted, call)))),
            Route("DELETE", "/v3/deleted/recipes", self._forget_all),
            Route("DELETE", "/v3/deleted/recipes/{id}", self._forget),
            Route("PATCH", "/v3/deleted/recipes", self._undelete_all),
            Route("PATCH", "/v3/deleted/recipes/{id}", self._undelete),
        )

    def _common_routes(self, prefix: str) -> Sequence[Route]:
        return (
            Route("GET", f"{prefix}/recipes", lambda _: _listed(self._recipes)),
            Route("POST", f"{prefix}/recipes", self._create),
            Route("GET", f"{prefix}/recipes/{{id}}", lambda call: shown(_shown(found(self._recipes, call)))),
            Route("PATCH", f"{prefix}/recipes/{{id}}", self._patch),
        )

    def _create(self, call: Call) -> Reply:
        given = forms.load(forms.RECIPE, body_of(call))
        if link := given.get("link"):
            self._check_link(link)
        record = {**self._tables.new("recipe"), "link": None, "template_dictionary": [], **given}
        self._recipes[record["id"]] = record
        return written(_shown(record))

    def _check_link(self, link: Json) -> None:
        # The real one means to answer 422 for a path that another recipe has, and trips over its own log.
        if any(record["link"] and record["link"]["path"] == link["path"] for record in self._recipes.values()):
            raise crashed()
        try:
            self._artifacts.validate(link)
        except ArtifactMissing as missing:
            raise problem(422, str(missing)) from None

    def _patch(self, call: Call) -> Reply:
        """Field by field: what stands before one that is refused has come about."""
        record = found(self._recipes, call)
        body = body_of(call)
        forms.load(forms.RECIPE_PATCH, body)
        for name, value in body.items():
            if name == "link" and record["link"] != value:
                if record["link"]:
                    raise conflict()
                self._check_link(value)
            if name == "template_dictionary" and value is None:
                raise crashed()
            record = {**record, name: value}
            self._recipes[record["id"]] = record
        return shown(_shown(record))

    def _delete(self, call: Call) -> Reply:
        record = found(self._recipes, call)
        if cascades(call):
            self._delete_file(record)
        del self._recipes[record["id"]]
        return done()

    def _delete_all(self, call: Call) -> Reply:
        if cascades(call):
            for record in self._recipes.values():
                self._delete_file(record)
        self._recipes.put_away()
        return done()

    def _delete_file(self, record: Record) -> None:
        if record["link"]:
            with suppress(Refused):
                self._artifacts.delete(record["link"])

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
        self._delete_file(record)
        del self._deleted[record["id"]]
        return done()

    def _forget_all(self, _: Call) -> Reply:
        for record in list(self._deleted.values()):
            self._delete_file(record)
            del self._deleted[record["id"]]
        return done()

    def _undelete(self, call: Call) -> Reply:
        record = found(self._deleted, call)
        forms.load(forms.DELETED_PATCH, body_of(call))
        with suppress(NotDeleted):
            record = {**record, "link": self._link_again(record)}
        self._recipes[record["id"]] = _undeleted(record)
        del self._deleted[record["id"]]
        return done()

    def _undelete_all(self, call: Call) -> Reply:
        """The records leave the deleted ones together: one that cannot come back leaves the others in both."""
        forms.load(forms.DELETED_PATCH, body_of(call))
        records = list(self._deleted.values())
        for record in records:
            try:
                back = {**record, "link": self._link_again(record)}
            except NotDeleted:
                raise crashed() from None
            self._recipes[record["id"]] = _undeleted(back)
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


def _undeleted(record: Record) -> Record:
    return {name: value for name, value in record.items() if name != "deleted"}


def _shown(record: Record) -> Record:
    """What a patch gave is kept as it came, and read when it is shown."""
    return {**record, "link": shown_link(record["link"]), "require_dkms": boolean(record["require_dkms"])}


def _listed(table: Table) -> Reply:
    return shown([_shown(record) for record in table.values()])
