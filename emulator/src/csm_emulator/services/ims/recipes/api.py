"""Recipe endpoints of v2 and v3. The versions differ in how they delete."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from csm_emulator.dialects.connexion import Refused
from csm_emulator.records import Json, Record
from csm_emulator.services.ims import schemas
from csm_emulator.services.ims.images.api import cascades
from csm_emulator.services.ims.images.artifacts import ArtifactMissing, Artifacts, public_link
from csm_emulator.services.ims.responses import (
    conflict,
    find_record,
    internal_error,
    jsonify,
    no_content,
    problem,
    read_body,
    restful_json,
)
from csm_emulator.services.ims.tables import Table, Tables
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route


class Recipes:
    def __init__(self, tables: Tables, artifacts: Artifacts) -> None:
        self._tables = tables
        self._recipes = tables.recipes
        self._artifacts = artifacts

    def routes(self, prefix: str) -> Sequence[Route]:
        """Routes of v2 under one of its prefixes."""
        return (
            *self.common_routes(prefix),
            Route("DELETE", f"{prefix}/recipes", self._delete_all),
            Route("DELETE", f"{prefix}/recipes/{{id}}", self._delete),
        )

    def common_routes(self, prefix: str) -> Sequence[Route]:
        return (
            Route("GET", f"{prefix}/recipes", lambda _: list_recipes(self._recipes)),
            Route("POST", f"{prefix}/recipes", self._create),
            Route(
                "GET", f"{prefix}/recipes/{{id}}", lambda call: jsonify(public_recipe(find_record(self._recipes, call)))
            ),
            Route("PATCH", f"{prefix}/recipes/{{id}}", self._patch),
        )

    def _create(self, call: Call) -> Reply:
        recipe = schemas.load(schemas.Recipe, read_body(call))
        if link := recipe.get("link"):
            self._check_link(link)
        record = {**self._tables.new("recipe"), "link": None, "template_dictionary": [], **recipe}
        self._recipes[record["id"]] = record
        return restful_json(public_recipe(record))

    def _check_link(self, link: Json) -> None:
        # The real service means to answer 422 for another recipe's path, but fails with 500 in its own log statement.
        if any(record["link"] and record["link"]["path"] == link["path"] for record in self._recipes.values()):
            raise internal_error()
        try:
            self._artifacts.validate(link)
        except ArtifactMissing as missing:
            raise problem(422, str(missing)) from None

    def _patch(self, call: Call) -> Reply:
        """Fields are written one by one: those before a refused field stay changed, as in the real service."""
        record = find_record(self._recipes, call)
        body = read_body(call)
        schemas.load(schemas.RecipePatch, body)
        for name, value in body.items():
            if name == "link" and record["link"] != value:
                if record["link"]:
                    raise conflict()
                self._check_link(value)
            if name == "template_dictionary" and value is None:
                raise internal_error()
            record = {**record, name: value}
            self._recipes[record["id"]] = record
        return jsonify(public_recipe(record))

    def _delete(self, call: Call) -> Reply:
        record = find_record(self._recipes, call)
        if cascades(call):
            delete_file(self._artifacts, record)
        del self._recipes[record["id"]]
        return no_content()

    def _delete_all(self, call: Call) -> Reply:
        if cascades(call):
            for record in self._recipes.values():
                delete_file(self._artifacts, record)
        self._recipes.hide_all()
        return no_content()


def public_recipe(record: Record) -> Record:
    """The record as the API returns it. Patched values are stored as sent, so ``require_dkms`` is parsed here."""
    return {**record, "link": public_link(record["link"]), "require_dkms": schemas.read_boolean(record["require_dkms"])}


def list_recipes(table: Table) -> Reply:
    return jsonify([public_recipe(record) for record in table.values()])


def delete_file(artifacts: Artifacts, record: Record) -> None:
    if record["link"]:
        with suppress(Refused):
            artifacts.delete(record["link"])
