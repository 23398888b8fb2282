"""Multipart uploads."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import md5
from itertools import pairwise
from xml.etree import ElementTree

from csm_emulator.context import Context
from csm_emulator.services.s3.auth.authentication import SigningContext
from csm_emulator.services.s3.auth.permissions import owner
from csm_emulator.services.s3.blobs import BlobStore
from csm_emulator.services.s3.catalogue import Catalogue
from csm_emulator.services.s3.errors import S3Error
from csm_emulator.services.s3.listing import limit_of
from csm_emulator.services.s3.objects import checksums, conditions
from csm_emulator.services.s3.objects.api import Objects, source_of
from csm_emulator.services.s3.objects.metadata import metadata_of
from csm_emulator.services.s3.objects.payload import Payload, read_body, read_payload
from csm_emulator.services.s3.records import ObjectRecord, PartRecord, UploadRecord
from csm_emulator.services.s3.requests import S3Request
from csm_emulator.services.s3.uploads.table import UploadTable
from csm_emulator.services.s3.xml import MEDIA, XmlError, child_text, document, element, leaf, parse, timestamp
from csm_emulator.transport.call import Reply

LEAST_PART = 5 << 20
LARGEST_PART = 64 << 20
MOST_PARTS = 10_000


class Uploads:
    def __init__(self, context: Context, catalogue: Catalogue, store: BlobStore, objects: Objects) -> None:
        self._clock = context.clock
        self._random = context.random
        self._catalogue = catalogue
        self._store = store
        self._objects = objects
        self._table = UploadTable(context.tables)

    def create(self, request: S3Request, _: SigningContext | None) -> Reply:
        algorithm = request.header("x-amz-checksum-algorithm").lower()
        if algorithm and algorithm not in checksums.ALGORITHMS:
            raise S3Error("InvalidRequest", "Checksum algorithm provided is unsupported.")
        upload = f"2~{self._random.hex(31, 's3.upload', self._store.next_number('upload'))}"
        record: UploadRecord = {
            **metadata_of(request),
            "bucket": request.bucket,
            "key": request.key,
            "started": self._clock.now(),
            "algorithm": algorithm,
            "whole": request.header("x-amz-checksum-type") == "FULL_OBJECT" or algorithm == "crc64nvme",
        }
        self._table.begin(upload, record)
        elements = [leaf("Bucket", request.bucket), leaf("Key", request.key), leaf("UploadId", upload)]
        headers = [("x-amz-checksum-algorithm", algorithm.upper())] if algorithm else []
        return Reply(200, document("InitiateMultipartUploadResult", *elements), MEDIA, headers)

    def put_part(self, request: S3Request, signing: SigningContext | None) -> Reply:
        upload, number = self._upload_of(request)[0], _number(request.call.first("partNumber"))
        if request.header("x-amz-copy-source"):
            return self._copy_part(request, upload, number)
        payload = read_payload(request, signing)
        self._objects.raise_upload_fault(request.bucket)
        part = self._store_part(upload, number, payload)
        return Reply(200, headers=[("ETag", f'"{part["etag"]}"'), *checksums.checksum_headers(part["sums"])])

    def _copy_part(self, request: S3Request, upload: str, number: int) -> Reply:
        source = self._objects.source(request, *source_of(request))
        span = request.header("x-amz-copy-source-range")
        start, end = (conditions.parse_range(span, source["size"]) if span else None) or (0, source["size"])
        if end - start > LARGEST_PART:
            raise S3Error("EntityTooLarge")
        part = self._store_part(upload, number, Payload(self._store.read(source["parts"], start, end), {}))
        elements = [leaf("LastModified", timestamp(part["modified"])), leaf("ETag", f'"{part["etag"]}"')]
        return Reply(200, document("CopyPartResult", *elements), MEDIA)

    def _store_part(self, upload: str, number: int, payload: Payload) -> PartRecord:
        previous = self._table.part(upload, number)
        part: PartRecord = {
            "blob": self._store.add(payload.data),
            "size": len(payload.data),
            "etag": md5(payload.data, usedforsecurity=False).hexdigest(),
            "modified": self._clock.now(),
            "sums": dict(payload.checksums),
        }
        self._table.set_part(upload, number, part)
        if previous is not None:
            self._store.drop([previous["blob"]])
        return part

    def complete(self, request: S3Request, signing: SigningContext | None) -> Reply:
        upload, record = self._upload_of(request)
        # The checksum header of a completion is that of the object, not of the body.
        parts = self._requested_parts(upload, read_body(request, signing)[0])
        conditions.check_writing(request.call.headers, self._catalogue.get(request.bucket, request.key))
        digest = md5(b"".join(bytes.fromhex(part["etag"]) for part in parts), usedforsecurity=False)
        completed: ObjectRecord = {
            "media": record["media"],
            "headers": record["headers"],
            "meta": record["meta"],
            "tags": record["tags"],
            "acl": record["acl"],
            "size": sum(part["size"] for part in parts),
            "etag": f"{digest.hexdigest()}-{len(parts)}",
            "modified": self._clock.now(),
            "sums": _object_checksums(request, record, parts),
            "parts": [[part["blob"], part["size"]] for part in parts],
        }
        self._catalogue.put(request.bucket, request.key, completed)
        used = {part["blob"] for part in parts}
        self._store.drop(part["blob"] for _, part in self._table.end(upload) if part["blob"] not in used)
        elements = [
            leaf("Location", f"{request.call.base}/{request.bucket}/{request.key}"),
            leaf("Bucket", request.bucket),
        ]
        elements += [leaf("Key", request.key), leaf("ETag", f'"{completed["etag"]}"')]
        return Reply(200, document("CompleteMultipartUploadResult", *elements), MEDIA)

    def abort(self, request: S3Request, _: SigningContext | None) -> Reply:
        upload, _record = self._upload_of(request)
        self._store.drop(part["blob"] for _, part in self._table.end(upload))
        return Reply(204)

    def abort_all(self, bucket: str) -> None:
        """Abort all uploads of a bucket that is deleted."""
        for upload, record in list(self._table.uploads()):
            if record["bucket"] == bucket:
                self._store.drop(part["blob"] for _, part in self._table.end(upload))

    def parts(self, request: S3Request, _: SigningContext | None) -> Reply:
        upload, _record = self._upload_of(request)
        limit, marker = limit_of(request.call, "max-parts"), limit_of(request.call, "part-number-marker", MOST_PARTS)
        marker = marker if request.call.first("part-number-marker") else 0
        remaining = [(number, part) for number, part in self._table.parts(upload) if number > marker]
        page = remaining[:limit]
        elements = [leaf("Bucket", request.bucket), leaf("Key", request.key), leaf("UploadId", upload)]
        elements += [leaf("StorageClass", "STANDARD"), leaf("PartNumberMarker", marker)]
        elements += [leaf("NextPartNumberMarker", page[-1][0] if page else 0), leaf("MaxParts", limit)]
        elements += [leaf("IsTruncated", "true" if len(remaining) > limit else "false"), owner()]
        return Reply(200, document("ListPartsResult", *elements, *(_part_element(*part) for part in page)), MEDIA)

    def uploads(self, request: S3Request, _: SigningContext | None) -> Reply:
        call = request.call
        limit, prefix = limit_of(call, "max-uploads"), call.first("prefix")
        marker = (call.first("key-marker"), call.first("upload-id-marker"))
        all_uploads = sorted(
            (record["key"], upload, record["started"]) for upload, record in self._uploads_in(request.bucket)
        )
        remaining = [
            candidate for candidate in all_uploads if candidate[0].startswith(prefix) and _is_after(candidate, marker)
        ]
        page = remaining[:limit]
        elements = [leaf("Bucket", request.bucket), leaf("KeyMarker", marker[0]), leaf("UploadIdMarker", marker[1])]
        if len(remaining) > limit and page:
            elements += [leaf("NextKeyMarker", page[-1][0]), leaf("NextUploadIdMarker", page[-1][1])]
        elements += [leaf("Prefix", prefix), leaf("MaxUploads", limit)]
        elements.append(leaf("IsTruncated", "true" if len(remaining) > limit else "false"))
        for key, upload, started in page:
            upload_elements = [leaf("Key", key), leaf("UploadId", upload), owner("Initiator"), owner()]
            elements.append(
                element(
                    "Upload", *upload_elements, leaf("StorageClass", "STANDARD"), leaf("Initiated", timestamp(started))
                )
            )
        return Reply(200, document("ListMultipartUploadsResult", *elements), MEDIA)

    def _uploads_in(self, bucket: str) -> Iterator[tuple[str, UploadRecord]]:
        return ((upload, record) for upload, record in self._table.uploads() if record["bucket"] == bucket)

    def _upload_of(self, request: S3Request) -> tuple[str, UploadRecord]:
        upload = request.call.first("uploadId")
        record = self._table.upload(upload)
        if record is None or (record["bucket"], record["key"]) != (request.bucket, request.key):
            raise S3Error("NoSuchUpload")
        return upload, record

    def _requested_parts(self, upload: str, body: bytes) -> list[PartRecord]:
        """The parts that the client lists, in order; raises ``S3Error`` when one differs from what was uploaded."""
        try:
            nodes = parse(body, "CompleteMultipartUpload").findall("Part")
        except XmlError as error:
            raise S3Error("MalformedXML") from error
        if not nodes or len(nodes) > MOST_PARTS:
            raise S3Error("MalformedXML")
        numbers = [_number(child_text(node, "PartNumber")) for node in nodes]
        if any(current >= following for current, following in pairwise(numbers)):
            raise S3Error("InvalidPartOrder")
        parts = [self._part(upload, number, node) for number, node in zip(numbers, nodes, strict=True)]
        if any(part["size"] < LEAST_PART for part in parts[:-1]):
            raise S3Error("EntityTooSmall")
        return parts

    def _part(self, upload: str, number: int, node: ElementTree.Element) -> PartRecord:
        part = self._table.part(upload, number)
        if part is None or child_text(node, "ETag").strip('"') != part["etag"]:
            raise S3Error("InvalidPart")
        for name, value in part["sums"].items():
            if child_text(node, f"Checksum{name.upper()}", value) != value:
                raise S3Error("InvalidPart")
        return part


def _object_checksums(request: S3Request, record: UploadRecord, parts: list[PartRecord]) -> dict[str, str]:
    """The object's checksum, when each part has one; it must match the client's, if the client sent it."""
    name = record["algorithm"]
    if not name or any(name not in part["sums"] for part in parts):
        return {}
    part_checksums = [(part["sums"][name], part["size"]) for part in parts]
    object_checksum = checksums.checksum_of_parts(
        name, part_checksums, full_object=record["whole"] and checksums.supports_full_object(name)
    )
    if request.header(checksums.HEADER + name, object_checksum) != object_checksum:
        raise S3Error("BadDigest")
    return {name: object_checksum}


def _is_after(candidate: tuple[str, str, float], marker: tuple[str, str]) -> bool:
    key, upload = marker
    return candidate[:2] > marker if upload else candidate[0] > key or not key


def _part_element(number: int, part: PartRecord) -> str:
    elements = [leaf("PartNumber", number), leaf("LastModified", timestamp(part["modified"]))]
    elements += [leaf("ETag", f'"{part["etag"]}"'), leaf("Size", part["size"])]
    elements += [leaf(f"Checksum{name.upper()}", value) for name, value in part["sums"].items()]
    return element("Part", *elements)


def _number(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    if not 1 <= number <= MOST_PARTS:
        raise S3Error("InvalidArgument")
    return number
