"""Image endpoints of v2 and v3. The versions differ in how they delete, and in which unreadable manifests give 500."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.dialects.connexion import Refused
from csm_emulator.records import Json, Record
from csm_emulator.services.ims import schemas
from csm_emulator.services.ims.images.artifacts import Artifacts, public_link
from csm_emulator.services.ims.images.deletion import delete_files
from csm_emulator.services.ims.images.manifests import UnreadableManifest, check_image_link
from csm_emulator.services.ims.responses import (
    conflict,
    find_record,
    internal_error,
    jsonify,
    no_content,
    read_body,
    restful_json,
)
from csm_emulator.services.ims.tables import Tables
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_TRUE = ("true", "yes", "t", "1")


def cascades(call: Call) -> bool:
    """Whether the request deletes the files together with the record (the default)."""
    return call.first("cascade", "True").lower() in _TRUE


def public_image(record: Record) -> Record:
    return {**record, "link": public_link(record["link"])}


class Images:
    def __init__(self, tables: Tables, artifacts: Artifacts) -> None:
        self._tables = tables
        self._table = tables.images
        self._artifacts = artifacts

    def routes(self, prefix: str) -> Sequence[Route]:
        """Routes of v2 under one of its prefixes."""
        return (
            *self._common_routes(prefix),
            Route("PATCH", f"{prefix}/images/{{id}}", lambda call: self._patch(call, allow_unreadable=False)),
            Route("DELETE", f"{prefix}/images", self._delete_all),
            Route("DELETE", f"{prefix}/images/{{id}}", self._delete),
        )

    def v3_routes(self) -> Sequence[Route]:
        return (
            *self._common_routes("/v3"),
            Route("PATCH", "/v3/images/{id}", lambda call: self._patch(call, allow_unreadable=True)),
        )

    def _common_routes(self, prefix: str) -> Sequence[Route]:
        return (
            Route("GET", f"{prefix}/images", self._list),
            Route("POST", f"{prefix}/images", self._create),
            Route("GET", f"{prefix}/images/{{id}}", self._get),
        )

    def _list(self, _: Call) -> Reply:
        return jsonify([public_image(record) for record in self._table.values()])

    def _get(self, call: Call) -> Reply:
        return jsonify(public_image(find_record(self._table, call)))

    def _create(self, call: Call) -> Reply:
        body = read_body(call)
        if not isinstance(body, dict):
            raise internal_error()
        image = schemas.load(schemas.Image, _with_metadata(body))
        if link := image.get("link"):
            self._check_link(link)
        record = {**self._tables.new("image"), "link": None, **image}
        self._table[record["id"]] = record
        return restful_json(public_image(record))

    def _check_link(self, link: Json) -> None:
        try:
            check_image_link(self._artifacts, link, self._table.values())
        except UnreadableManifest:
            raise internal_error() from None

    def _patch(self, call: Call, *, allow_unreadable: bool) -> Reply:
        """Fields are written one by one: those before a refused field stay changed, as in the real service."""
        record = find_record(self._table, call)
        body = read_body(call)
        schemas.load(schemas.ImagePatch, body)
        for name, value in body.items():
            if name == "link":
                self._check_new_link(record, value, allow_unreadable=allow_unreadable)
            changed = _apply_operation(record["metadata"], value) if name == "metadata" else value
            record = {**record, name: changed}
            self._table[record["id"]] = record
        return jsonify(public_image(record))

    def _check_new_link(self, record: Record, link: Json, *, allow_unreadable: bool) -> None:
        """Raises ``Refused`` when the record already has another link."""
        if record["link"] == link:
            return
        if record["link"]:
            raise conflict()
        try:
            check_image_link(self._artifacts, link, self._table.values())
        except UnreadableManifest:
            if not allow_unreadable:
                raise internal_error() from None

    def _delete(self, call: Call) -> Reply:
        record = find_record(self._table, call)
        if cascades(call):
            self._delete_files(record)
        del self._table[record["id"]]
        return no_content()

    def _delete_all(self, call: Call) -> Reply:
        if cascades(call):
            for record in list(self._table.values()):
                self._delete_files(record)
        self._table.hide_all()
        return no_content()

    def _delete_files(self, record: Record) -> None:
        if not record["link"]:
            return
        try:
            delete_files(self._artifacts, record["link"])
        except (UnreadableManifest, TypeError):
            raise internal_error() from None
        except KeyError:
            self._artifacts.delete(record["link"])
        except Refused as refusal:
            # The manifest is too large: the record is deleted, the files stay.
            if refusal.reply.status >= 500:
                raise


def _with_metadata(body: Record) -> Record:
    """The body with ``metadata`` as a mapping; the ``cray`` command sends one entry as a key and a value."""
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or "key" not in metadata:
        return body
    if not isinstance(metadata["key"], str | int | float | None):
        raise internal_error()
    return {**body, "metadata": {metadata["key"]: metadata.get("value", "")}}


def _apply_operation(metadata: Record, operation: Record) -> Record:
    remaining = {name: value for name, value in metadata.items() if name != operation["key"]}
    return (
        remaining if operation["operation"] == "remove" else {**remaining, operation["key"]: operation.get("value", "")}
    )
