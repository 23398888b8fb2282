"""Images, as v2 and v3 have them; they differ in how they delete, and in what they trip over."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.dialects.connexion import Refused
from csm_emulator.records import Json, Record
from csm_emulator.services.ims.images.artifacts import Artifacts, shown_link
from csm_emulator.services.ims.images.deletion import delete_files
from csm_emulator.services.ims.images.manifests import Unreadable, check_image_link
from csm_emulator.services.ims.responses import body_of, conflict, crashed, done, found, shown, written
from csm_emulator.services.ims.schemas import bodies as forms
from csm_emulator.services.ims.tables import Tables
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_TRUE = ("true", "yes", "t", "1")


def cascades(call: Call) -> bool:
    """Whether the files go with the record."""
    return call.first("cascade", "True").lower() in _TRUE


def shown_image(record: Record) -> Record:
    return {**record, "link": shown_link(record["link"])}


class Images:
    def __init__(self, tables: Tables, artifacts: Artifacts) -> None:
        self._tables = tables
        self._table = tables.images
        self._artifacts = artifacts

    def routes(self, prefix: str) -> Sequence[Route]:
        """Of v2, for each of its prefixes."""
        return (
            *self._common_routes(prefix),
            Route("PATCH", f"{prefix}/images/{{id}}", lambda call: self._patch(call, unreadable_is_well=False)),
            Route("DELETE", f"{prefix}/images", self._delete_all),
            Route("DELETE", f"{prefix}/images/{{id}}", self._delete),
        )

    def v3_routes(self) -> Sequence[Route]:
        return (
            *self._common_routes("/v3"),
            Route("PATCH", "/v3/images/{id}", lambda call: self._patch(call, unreadable_is_well=True)),
        )

    def _common_routes(self, prefix: str) -> Sequence[Route]:
        return (
            Route("GET", f"{prefix}/images", self._list),
            Route("POST", f"{prefix}/images", self._create),
            Route("GET", f"{prefix}/images/{{id}}", self._get),
        )

    def _list(self, _: Call) -> Reply:
        return shown([shown_image(record) for record in self._table.values()])

    def _get(self, call: Call) -> Reply:
        return shown(shown_image(found(self._table, call)))

    def _create(self, call: Call) -> Reply:
        body = body_of(call)
        if not isinstance(body, dict):
            raise crashed()
        given = forms.load(forms.Image, _with_metadata(body))
        if link := given.get("link"):
            self._check_link(link)
        record = {**self._tables.new("image"), "link": None, **given}
        self._table[record["id"]] = record
        return written(shown_image(record))

    def _check_link(self, link: Json) -> None:
        try:
            check_image_link(self._artifacts, link, self._table.values())
        except Unreadable:
            raise crashed() from None

    def _patch(self, call: Call, *, unreadable_is_well: bool) -> Reply:
        """Field by field: what stands before one that is refused has come about."""
        record = found(self._table, call)
        body = body_of(call)
        forms.load(forms.ImagePatch, body)
        for name, value in body.items():
            if name == "link":
                self._check_new_link(record, value, unreadable_is_well=unreadable_is_well)
            changed = _annotated(record["metadata"], value) if name == "metadata" else value
            record = {**record, name: changed}
            self._table[record["id"]] = record
        return shown(shown_image(record))

    def _check_new_link(self, record: Record, link: Json, *, unreadable_is_well: bool) -> None:
        """A link that is set stays; to set it to the same again is well."""
        if record["link"] == link:
            return
        if record["link"]:
            raise conflict()
        try:
            check_image_link(self._artifacts, link, self._table.values())
        except Unreadable:
            if not unreadable_is_well:
                raise crashed() from None

    def _delete(self, call: Call) -> Reply:
        record = found(self._table, call)
        if cascades(call):
            self._delete_files(record)
        del self._table[record["id"]]
        return done()

    def _delete_all(self, call: Call) -> Reply:
        if cascades(call):
            for record in list(self._table.values()):
                self._delete_files(record)
        self._table.put_away()
        return done()

    def _delete_files(self, record: Record) -> None:
        if not record["link"]:
            return
        try:
            delete_files(self._artifacts, record["link"])
        except (Unreadable, TypeError):
            raise crashed() from None
        except KeyError:
            self._artifacts.delete(record["link"])
        except Refused as refusal:
            # A manifest that is too large: the record goes, the files stay.
            if refusal.reply.status >= 500:
                raise


def _with_metadata(body: Record) -> Record:
    """The command line gives one annotation as a key and a value."""
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or "key" not in metadata:
        return body
    if not isinstance(metadata["key"], str | int | float | None):
        raise crashed()
    return {**body, "metadata": {metadata["key"]: metadata.get("value", "")}}


def _annotated(metadata: Record, order: Record) -> Record:
    rest = {name: value for name, value in metadata.items() if name != order["key"]}
    return rest if order["operation"] == "remove" else {**rest, order["key"]: order.get("value", "")}
