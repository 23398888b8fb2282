"""Objects: put, got, copied, deleted."""

from __future__ import annotations

from hashlib import md5
from typing import Any
from urllib.parse import unquote

from csm_emulator.machine.faults.faults import Faults
from csm_emulator.records import Record
from csm_emulator.services.s3.auth import permissions as access
from csm_emulator.services.s3.auth.authentication import Seal
from csm_emulator.services.s3.blobs import Store
from csm_emulator.services.s3.errors import Refused
from csm_emulator.services.s3.index import Catalogue
from csm_emulator.services.s3.objects import conditions
from csm_emulator.services.s3.objects.checksums import shown
from csm_emulator.services.s3.objects.metadata import described, shown_tags, tags_of_body
from csm_emulator.services.s3.objects.payload import read_payload
from csm_emulator.services.s3.objects.read import Reading
from csm_emulator.services.s3.requests import Asked
from csm_emulator.services.s3.xml import MEDIA, Unreadable, document, element, instant, leaf, parsed, said
from csm_emulator.state.clock import Clock
from csm_emulator.transport.call import Cut, Reply

MOST_DELETED = 1000
_TO_ITSELF = (
    "This copy request is illegal because it is trying to copy an object to itself without changing the object's "
    "metadata, storage class, website redirect location or encryption attributes."
)


class Objects:
    def __init__(self, catalogue: Catalogue, store: Store, clock: Clock, faults: Faults) -> None:
        self._catalogue = catalogue
        self._store = store
        self._clock = clock
        self._faults = faults
        self._reading = Reading(store)

    def get(self, asked: Asked, seal: Seal | None) -> Reply:
        return self._reading.reply(asked, self.found(asked), known=seal is not None)

    def put(self, asked: Asked, seal: Seal | None) -> Reply:
        if asked.header("x-amz-copy-source"):
            return self._copy(asked)
        about = described(asked)
        payload = read_payload(asked, seal)
        conditions.check_writing(asked.call.headers, self._catalogue.get(asked.bucket, asked.key))
        self.cut_if_ill(asked.bucket)
        etag = md5(payload.data, usedforsecurity=False).hexdigest()
        parts = [[self._store.add(payload.data), len(payload.data)]]
        sums = dict(payload.checksums)
        self._keep(asked, {**about, "size": len(payload.data), "etag": etag, "sums": sums, "parts": parts})
        return Reply(200, headers=[("ETag", f'"{etag}"'), *shown(sums)])

    def cut_if_ill(self, bucket: str) -> None:
        """A fault may break off an upload; the client's part was sent, and nothing of it is kept."""
        if self._faults.strikes("upload-cut", bucket):
            raise Cut

    def _copy(self, asked: Asked) -> Reply:
        bucket, key = source_of(asked)
        source = self.source(asked, bucket, key)
        replaced = asked.header("x-amz-metadata-directive", "COPY") == "REPLACE"
        if (bucket, key) == (asked.bucket, asked.key) and not replaced:
            raise Refused("InvalidRequest", _TO_ITSELF)
        about: Record = described(asked)
        if not replaced:
            about |= {name: source[name] for name in ("media", "headers", "meta")}
        if asked.header("x-amz-tagging-directive", "COPY") != "REPLACE":
            about["tags"] = source["tags"]
        same = (bucket, key) == (asked.bucket, asked.key)
        parts = source["parts"] if same else self._store.copied(source["parts"])
        record = self._keep(
            asked, {**about, **{name: source[name] for name in ("size", "etag", "sums")}, "parts": parts}
        )
        told = [leaf("LastModified", instant(record["modified"])), leaf("ETag", f'"{record["etag"]}"')]
        return Reply(200, document("CopyObjectResult", *told), MEDIA)

    def source(self, asked: Asked, bucket: str, key: str) -> Record:
        """What is copied from; the caller is the owner of everything, or the copy was refused before."""
        if self._catalogue.bucket(bucket) is None:
            raise Refused("NoSuchBucket")
        record = self._catalogue.get(bucket, key)
        if record is None:
            raise Refused("NoSuchKey")
        conditions.check_reading(asked.call.headers, record, conditions.COPY)
        return record

    def delete(self, asked: Asked, _: Seal | None) -> Reply:
        conditions.check_writing(asked.call.headers, self._catalogue.get(asked.bucket, asked.key))
        check_version(asked)
        self._catalogue.delete(asked.bucket, asked.key)
        return Reply(204)

    def delete_many(self, asked: Asked, seal: Seal | None) -> Reply:
        try:
            root = parsed(read_payload(asked, seal).data, "Delete")
        except Unreadable as error:
            raise Refused("MalformedXML") from error
        keys = [node.findtext("Key", "") for node in root.iterfind("Object")]
        if not keys or len(keys) > MOST_DELETED or not all(keys):
            raise Refused("MalformedXML")
        for key in keys:
            self._catalogue.delete(asked.bucket, key)
        quiet = said(root, "Quiet").lower() == "true"
        told = [] if quiet else [element("Deleted", leaf("Key", key)) for key in keys]
        return Reply(200, document("DeleteResult", *told), MEDIA)

    def get_tags(self, asked: Asked, _: Seal | None) -> Reply:
        return Reply(200, shown_tags(self.found(asked)["tags"]), MEDIA)

    def put_tags(self, asked: Asked, seal: Seal | None) -> Reply:
        self._change(asked, tags=tags_of_body(read_payload(asked, seal).data))
        return Reply(200)

    def delete_tags(self, asked: Asked, _: Seal | None) -> Reply:
        self._change(asked, tags={})
        return Reply(204)

    def get_acl(self, asked: Asked, _: Seal | None) -> Reply:
        return Reply(200, access.shown(self.found(asked)["acl"]), MEDIA)

    def put_acl(self, asked: Asked, seal: Seal | None) -> Reply:
        self._change(asked, acl=grants_of(asked, seal))
        return Reply(200)

    def found(self, asked: Asked) -> Record:
        check_version(asked)
        record = self._catalogue.get(asked.bucket, asked.key)
        if record is None:
            raise Refused("NoSuchKey")
        return record

    def _change(self, asked: Asked, **facts: Any) -> None:
        self._catalogue.put(asked.bucket, asked.key, {**self.found(asked), **facts})

    def _keep(self, asked: Asked, record: Record) -> Record:
        kept = {**record, "modified": self._clock.now()}
        self._catalogue.put(asked.bucket, asked.key, kept)
        return kept


def source_of(asked: Asked) -> tuple[str, str]:
    """Bucket and key of what is copied."""
    named, _, version = asked.header("x-amz-copy-source").partition("?versionId=")
    bucket, _, key = unquote(named).removeprefix("/").partition("/")
    if not bucket or not key or version not in ("", "null"):
        raise Refused("InvalidArgument")
    return bucket, key


def check_version(asked: Asked) -> None:
    if asked.call.first("versionId", "null") not in ("", "null"):
        raise Refused("NoSuchVersion")


def grants_of(asked: Asked, seal: Seal | None) -> list[list[str]]:
    """From the header's word, or from the body."""
    word = asked.header("x-amz-acl")
    return access.canned(word) if word else access.read_grants(read_payload(asked, seal).data)
