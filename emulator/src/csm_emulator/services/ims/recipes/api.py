"""Recipes, as v2 and v3 have them; they differ in how they delete."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from csm_emulator.dialects.connexion import Refused
from csm_emulator.records import Json, Record
from csm_emulator.services.ims.images.api import cascades
from csm_emulator.services.ims.images.artifacts import ArtifactMissing, Artifacts, shown_link
from csm_emulator.services.ims.responses import body_of, conflict, crashed, done, found, problem, shown, written
from csm_emulator.services.ims.schemas import bodies as forms
from csm_emulator.services.ims.tables import Table, Tables
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route


class Recipes:
    def __init__(self, tables: Tables, artifacts: Artifacts) -> None:
        self._tables = tables
        self._recipes = tables.recipes
        self._artifacts = artifacts

    def routes(self, prefix: str) -> Sequence[Route]:
        """Of v2, for each of its prefixes."""
        return (
            *self.common_routes(prefix),
            Route("DELETE", f"{prefix}/recipes", self._delete_all),
            Route("DELETE", f"{prefix}/recipes/{{id}}", self._delete),
        )

    def common_routes(self, prefix: str) -> Sequence[Route]:
        return (
            Route("GET", f"{prefix}/recipes", lambda _: listed(self._recipes)),
            Route("POST", f"{prefix}/recipes", self._create),
            Route("GET", f"{prefix}/recipes/{{id}}", lambda call: shown(shown_recipe(found(self._recipes, call)))),
            Route("PATCH", f"{prefix}/recipes/{{id}}", self._patch),
        )

    def _create(self, call: Call) -> Reply:
        given = forms.load(forms.Recipe, body_of(call))
        if link := given.get("link"):
            self._check_link(link)
        record = {**self._tables.new("recipe"), "link": None, "template_dictionary": [], **given}
        self._recipes[record["id"]] = record
        return written(shown_recipe(record))

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
        forms.load(forms.RecipePatch, body)
        for name, value in body.items():
            if name == "link" and record["link"] != value:
                if record["link"]:
                    raise conflict()
                self._check_link(value)
            if name == "template_dictionary" and value is None:
                raise crashed()
            record = {**record, name: value}
            self._recipes[record["id"]] = record
        return shown(shown_recipe(record))

    def _delete(self, call: Call) -> Reply:
        record = found(self._recipes, call)
        if cascades(call):
            delete_file(self._artifacts, record)
        del self._recipes[record["id"]]
        return done()

    def _delete_all(self, call: Call) -> Reply:
        if cascades(call):
            for record in self._recipes.values():
                delete_file(self._artifacts, record)
        self._recipes.put_away()
        return done()


def shown_recipe(record: Record) -> Record:
    """What a patch gave is kept as it came, and read when it is shown."""
    return {**record, "link": shown_link(record["link"]), "require_dkms": forms.read_boolean(record["require_dkms"])}


def listed(table: Table) -> Reply:
    return shown([shown_recipe(record) for record in table.values()])


def delete_file(artifacts: Artifacts, record: Record) -> None:
    if record["link"]:
        with suppress(Refused):
            artifacts.delete(record["link"])
