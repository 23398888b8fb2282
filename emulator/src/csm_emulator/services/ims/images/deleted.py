"""Soft deletion of images in v3: delete, list, restore, and delete permanently."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from csm_emulator.records import Record
from csm_emulator.services.ims import schemas
from csm_emulator.services.ims.images.api import public_image
from csm_emulator.services.ims.images.artifacts import ArtifactMissing, Artifacts
from csm_emulator.services.ims.images.deletion import delete_files, restore_files, soft_delete_files
from csm_emulator.services.ims.images.manifests import UnreadableManifest
from csm_emulator.services.ims.responses import find_record, internal_error, jsonify, no_content, problem, read_body
from csm_emulator.services.ims.tables import Tables, without_deletion_date
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_NO_SECTION = "The image's manifest.json is malformed. The manifest does not contain a manifest section."


class DeletedImages:
    def __init__(self, tables: Tables, artifacts: Artifacts) -> None:
        self._tables = tables
        self._images = tables.images
        self._deleted = tables.deleted_images
        self._artifacts = artifacts

    def routes(self) -> Sequence[Route]:
        return (
            Route("DELETE", "/v3/images", self._soft_delete_all),
            Route("DELETE", "/v3/images/{id}", self._soft_delete),
            Route("GET", "/v3/deleted/images", self._list),
            Route("DELETE", "/v3/deleted/images", self._delete_all),
            Route("PATCH", "/v3/deleted/images", self._undelete_all),
            Route("GET", "/v3/deleted/images/{id}", self._get),
            Route("DELETE", "/v3/deleted/images/{id}", self._delete),
            Route("PATCH", "/v3/deleted/images/{id}", self._undelete),
        )

    def _soft_delete(self, call: Call) -> Reply:
        record = find_record(self._images, call)
        self._move_to_deleted(record)
        del self._images[record["id"]]
        return no_content()

    def _soft_delete_all(self, _: Call) -> Reply:
        """Records are deleted after all files are moved; a failure before that leaves images and copies."""
        records = list(self._images.values())
        for record in records:
            self._move_to_deleted(record)
        for record in records:
            del self._images[record["id"]]
        return no_content()

    def _move_to_deleted(self, record: Record) -> None:
        deleted = {**record, "deleted": self._tables.now()}
        if record["link"]:
            try:
                with suppress(UnreadableManifest, ArtifactMissing):
                    deleted["link"] = soft_delete_files(self._artifacts, deleted)
            except TypeError:
                raise internal_error() from None
        self._deleted[record["id"]] = deleted

    def _list(self, _: Call) -> Reply:
        return jsonify([public_image(record) for record in self._deleted.values()])

    def _get(self, call: Call) -> Reply:
        return jsonify(public_image(find_record(self._deleted, call)))

    def _delete(self, call: Call) -> Reply:
        record = find_record(self._deleted, call)
        self._delete_files(record)
        del self._deleted[record["id"]]
        return no_content()

    def _delete_all(self, _: Call) -> Reply:
        records = list(self._deleted.values())
        for record in records:
            self._delete_files(record)
        for record in records:
            del self._deleted[record["id"]]
        return no_content()

    def _delete_files(self, record: Record) -> None:
        if not record["link"]:
            return
        try:
            with suppress(UnreadableManifest):
                delete_files(self._artifacts, record["link"])
        except (KeyError, TypeError):
            raise problem(422, _NO_SECTION) from None

    def _undelete(self, call: Call) -> Reply:
        record = find_record(self._deleted, call)
        schemas.load(schemas.DeletedPatch, read_body(call))
        self._restore(record)
        del self._deleted[record["id"]]
        return no_content()

    def _undelete_all(self, call: Call) -> Reply:
        schemas.load(schemas.DeletedPatch, read_body(call))
        records = list(self._deleted.values())
        for record in records:
            self._restore(record)
        for record in records:
            del self._deleted[record["id"]]
        return no_content()

    def _restore(self, record: Record) -> None:
        image = without_deletion_date(record)
        if record["link"]:
            try:
                image["link"] = restore_files(self._artifacts, record["link"])
            except UnreadableManifest as unreadable:
                raise problem(422, str(unreadable)) from None
            except TypeError:
                raise internal_error() from None
        self._images[record["id"]] = image
