"""How v3 deletes images, and what can be done with those that are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from csm_emulator.records import Record
from csm_emulator.services.ims.images.api import shown_image
from csm_emulator.services.ims.images.artifacts import ArtifactMissing, Artifacts
from csm_emulator.services.ims.images.deletion import bring_back, delete_files, put_under_deleted
from csm_emulator.services.ims.images.manifests import Unreadable
from csm_emulator.services.ims.responses import body_of, crashed, done, found, problem, shown
from csm_emulator.services.ims.schemas import bodies as forms
from csm_emulator.services.ims.tables import Tables, undeleted
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
        record = found(self._images, call)
        self._put_away(record)
        del self._images[record["id"]]
        return done()

    def _soft_delete_all(self, _: Call) -> Reply:
        """The records go when all files are moved: what stops it on the way leaves both."""
        records = list(self._images.values())
        for record in records:
            self._put_away(record)
        for record in records:
            del self._images[record["id"]]
        return done()

    def _put_away(self, record: Record) -> None:
        deleted = {**record, "deleted": self._tables.now()}
        if record["link"]:
            try:
                with suppress(Unreadable, ArtifactMissing):
                    deleted["link"] = put_under_deleted(self._artifacts, deleted)
            except TypeError:
                raise crashed() from None
        self._deleted[record["id"]] = deleted

    def _list(self, _: Call) -> Reply:
        return shown([shown_image(record) for record in self._deleted.values()])

    def _get(self, call: Call) -> Reply:
        return shown(shown_image(found(self._deleted, call)))

    def _delete(self, call: Call) -> Reply:
        record = found(self._deleted, call)
        self._delete_files(record)
        del self._deleted[record["id"]]
        return done()

    def _delete_all(self, _: Call) -> Reply:
        records = list(self._deleted.values())
        for record in records:
            self._delete_files(record)
        for record in records:
            del self._deleted[record["id"]]
        return done()

    def _delete_files(self, record: Record) -> None:
        if not record["link"]:
            return
        try:
            with suppress(Unreadable):
                delete_files(self._artifacts, record["link"])
        except (KeyError, TypeError):
            raise problem(422, _NO_SECTION) from None

    def _undelete(self, call: Call) -> Reply:
        record = found(self._deleted, call)
        forms.load(forms.DeletedPatch, body_of(call))
        self._bring_back(record)
        del self._deleted[record["id"]]
        return done()

    def _undelete_all(self, call: Call) -> Reply:
        forms.load(forms.DeletedPatch, body_of(call))
        records = list(self._deleted.values())
        for record in records:
            self._bring_back(record)
        for record in records:
            del self._deleted[record["id"]]
        return done()

    def _bring_back(self, record: Record) -> None:
        image = undeleted(record)
        if record["link"]:
            try:
                image["link"] = bring_back(self._artifacts, record["link"])
            except Unreadable as unreadable:
                raise problem(422, str(unreadable)) from None
            except TypeError:
                raise crashed() from None
        self._images[record["id"]] = image
