"""Objects: put, get, copy, delete, ACL and tags."""

from __future__ import annotations

from hashlib import md5
from typing import Unpack
from urllib.parse import unquote

from csm_emulator.machine.faults.faults import Faults
from csm_emulator.services.s3.auth import permissions
from csm_emulator.services.s3.auth.authentication import SigningContext
from csm_emulator.services.s3.blobs import BlobStore
from csm_emulator.services.s3.catalogue import Catalogue
from csm_emulator.services.s3.errors import S3Error
from csm_emulator.services.s3.objects import conditions
from csm_emulator.services.s3.objects.checksums import checksum_headers
from csm_emulator.services.s3.objects.metadata import metadata_of, tags_document, tags_of_body
from csm_emulator.services.s3.objects.payload import read_payload
from csm_emulator.services.s3.objects.read import ObjectReader
from csm_emulator.services.s3.records import Content, MetadataChanges, ObjectRecord
from csm_emulator.services.s3.requests import S3Request
from csm_emulator.services.s3.xml import MEDIA, XmlError, child_text, document, element, leaf, parse, timestamp
from csm_emulator.state.clock import Clock
from csm_emulator.transport.call import ConnectionAborted, Reply

MOST_DELETED = 1000
_TO_ITSELF = (
    "This copy request is illegal because it is trying to copy an object to itself without changing the object's "
    "metadata, storage class, website redirect location or encryption attributes."
)


class Objects:
    def __init__(self, catalogue: Catalogue, store: BlobStore, clock: Clock, faults: Faults) -> None:
        self._catalogue = catalogue
        self._store = store
        self._clock = clock
        self._faults = faults
        self._reader = ObjectReader(store)

    def get(self, request: S3Request, signing: SigningContext | None) -> Reply:
        return self._reader.reply(request, self.existing(request), authenticated=signing is not None)

    def put(self, request: S3Request, signing: SigningContext | None) -> Reply:
        if request.header("x-amz-copy-source"):
            return self._copy(request)
        fields = metadata_of(request)
        payload = read_payload(request, signing)
        conditions.check_writing(request.call.headers, self._catalogue.get(request.bucket, request.key))
        self.raise_upload_fault(request.bucket)
        etag = md5(payload.data, usedforsecurity=False).hexdigest()
        parts = [[self._store.add(payload.data), len(payload.data)]]
        sums = dict(payload.checksums)
        self._store_record(request, {**fields, "size": len(payload.data), "etag": etag, "sums": sums, "parts": parts})
        return Reply(200, headers=[("ETag", f'"{etag}"'), *checksum_headers(sums)])

    def raise_upload_fault(self, bucket: str) -> None:
        """Cut the connection when the fault ``upload-cut`` is set; the data was sent but is not stored."""
        if self._faults.trigger("upload-cut", bucket):
            raise ConnectionAborted

    def _copy(self, request: S3Request) -> Reply:
        bucket, key = source_of(request)
        source = self.source(request, bucket, key)
        replaced = request.header("x-amz-metadata-directive", "COPY") == "REPLACE"
        if (bucket, key) == (request.bucket, request.key) and not replaced:
            raise S3Error("InvalidRequest", _TO_ITSELF)
        fields = metadata_of(request)
        if not replaced:
            fields |= {"media": source["media"], "headers": source["headers"], "meta": source["meta"]}
        if request.header("x-amz-tagging-directive", "COPY") != "REPLACE":
            fields["tags"] = source["tags"]
        same = (bucket, key) == (request.bucket, request.key)
        parts = source["parts"] if same else self._store.copy_parts(source["parts"])
        size, etag, sums = source["size"], source["etag"], source["sums"]
        record = self._store_record(request, {**fields, "size": size, "etag": etag, "sums": sums, "parts": parts})
        elements = [leaf("LastModified", timestamp(record["modified"])), leaf("ETag", f'"{record["etag"]}"')]
        return Reply(200, document("CopyObjectResult", *elements), MEDIA)

    def source(self, request: S3Request, bucket: str, key: str) -> ObjectRecord:
        """The record of a copy's source. Only the owner of everything comes this far; others were refused before."""
        if self._catalogue.bucket(bucket) is None:
            raise S3Error("NoSuchBucket")
        record = self._catalogue.get(bucket, key)
        if record is None:
            raise S3Error("NoSuchKey")
        conditions.check_reading(request.call.headers, record, conditions.COPY)
        return record

    def delete(self, request: S3Request, _: SigningContext | None) -> Reply:
        conditions.check_writing(request.call.headers, self._catalogue.get(request.bucket, request.key))
        check_version(request)
        self._catalogue.delete(request.bucket, request.key)
        return Reply(204)

    def delete_many(self, request: S3Request, signing: SigningContext | None) -> Reply:
        try:
            root = parse(read_payload(request, signing).data, "Delete")
        except XmlError as error:
            raise S3Error("MalformedXML") from error
        keys = [node.findtext("Key", "") for node in root.iterfind("Object")]
        if not keys or len(keys) > MOST_DELETED or not all(keys):
            raise S3Error("MalformedXML")
        for key in keys:
            self._catalogue.delete(request.bucket, key)
        quiet = child_text(root, "Quiet").lower() == "true"
        elements = [] if quiet else [element("Deleted", leaf("Key", key)) for key in keys]
        return Reply(200, document("DeleteResult", *elements), MEDIA)

    def get_tags(self, request: S3Request, _: SigningContext | None) -> Reply:
        return Reply(200, tags_document(self.existing(request)["tags"]), MEDIA)

    def put_tags(self, request: S3Request, signing: SigningContext | None) -> Reply:
        self._change(request, tags=tags_of_body(read_payload(request, signing).data))
        return Reply(200)

    def delete_tags(self, request: S3Request, _: SigningContext | None) -> Reply:
        self._change(request, tags={})
        return Reply(204)

    def get_acl(self, request: S3Request, _: SigningContext | None) -> Reply:
        return Reply(200, permissions.acl_document(self.existing(request)["acl"]), MEDIA)

    def put_acl(self, request: S3Request, signing: SigningContext | None) -> Reply:
        self._change(request, acl=grants_of(request, signing))
        return Reply(200)

    def existing(self, request: S3Request) -> ObjectRecord:
        check_version(request)
        record = self._catalogue.get(request.bucket, request.key)
        if record is None:
            raise S3Error("NoSuchKey")
        return record

    def _change(self, request: S3Request, **fields: Unpack[MetadataChanges]) -> None:
        self._catalogue.put(request.bucket, request.key, {**self.existing(request), **fields})

    def _store_record(self, request: S3Request, record: Content) -> ObjectRecord:
        stamped: ObjectRecord = {**record, "modified": self._clock.now()}
        self._catalogue.put(request.bucket, request.key, stamped)
        return stamped


def source_of(request: S3Request) -> tuple[str, str]:
    """(bucket, key) of the source of a copy."""
    path, _, version = request.header("x-amz-copy-source").partition("?versionId=")
    bucket, _, key = unquote(path).removeprefix("/").partition("/")
    if not bucket or not key or version not in ("", "null"):
        raise S3Error("InvalidArgument")
    return bucket, key


def check_version(request: S3Request) -> None:
    if request.call.first("versionId", "null") not in ("", "null"):
        raise S3Error("NoSuchVersion")


def grants_of(request: S3Request, signing: SigningContext | None) -> list[list[str]]:
    """The grants from the header ``x-amz-acl``, or from the body."""
    canned_name = request.header("x-amz-acl")
    return (
        permissions.canned_acl(canned_name)
        if canned_name
        else permissions.read_grants(read_payload(request, signing).data)
    )
