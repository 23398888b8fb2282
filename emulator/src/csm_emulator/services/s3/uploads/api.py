"""Objects that come in parts."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import md5
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

from csm_emulator.context import Context
from csm_emulator.services.s3.auth.authentication import Seal
from csm_emulator.services.s3.auth.permissions import owner
from csm_emulator.services.s3.blobs import Store
from csm_emulator.services.s3.errors import Refused
from csm_emulator.services.s3.index import Catalogue
from csm_emulator.services.s3.listing import limit_of
from csm_emulator.services.s3.objects import checksums, conditions
from csm_emulator.services.s3.objects.api import Objects, source_of
from csm_emulator.services.s3.objects.metadata import described
from csm_emulator.services.s3.objects.payload import Payload, read_body, read_payload
from csm_emulator.services.s3.requests import Asked
from csm_emulator.services.s3.uploads.table import PartShelf
from csm_emulator.services.s3.xml import MEDIA, Unreadable, document, element, instant, leaf, parsed, said
from csm_emulator.transport.call import Reply

LEAST_PART = 5 << 20
LARGEST_PART = 64 << 20
MOST_PARTS = 10_000


class Uploads:
    def __init__(self, context: Context, catalogue: Catalogue, store: Store, objects: Objects) -> None:
        self._clock = context.clock
        self._random = context.random
        self._catalogue = catalogue
        self._store = store
        self._objects = objects
        self._table = PartShelf(context.tables)

    def create(self, asked: Asked, _: Seal | None) -> Reply:
        algorithm = asked.header("x-amz-checksum-algorithm").lower()
        if algorithm and algorithm not in checksums.ALGORITHMS:
            raise Refused("InvalidRequest", "Checksum algorithm provided is unsupported.")
        upload = f"2~{self._random.hex(31, 's3.upload', self._store.next_number('upload'))}"
        record = {
            **described(asked),
            "bucket": asked.bucket,
            "key": asked.key,
            "started": self._clock.now(),
            "algorithm": algorithm,
            "whole": asked.header("x-amz-checksum-type") == "FULL_OBJECT" or algorithm == "crc64nvme",
        }
        self._table.begin(upload, record)
        told = [leaf("Bucket", asked.bucket), leaf("Key", asked.key), leaf("UploadId", upload)]
        headers = [("x-amz-checksum-algorithm", algorithm.upper())] if algorithm else []
        return Reply(200, document("InitiateMultipartUploadResult", *told), MEDIA, headers)

    def put_part(self, asked: Asked, seal: Seal | None) -> Reply:
        upload, number = self._named(asked)[0], _number(asked.call.first("partNumber"))
        if asked.header("x-amz-copy-source"):
            return self._copy_part(asked, upload, number)
        payload = read_payload(asked, seal)
        self._objects.cut_if_ill(asked.bucket)
        part = self._keep(upload, number, payload)
        return Reply(200, headers=[("ETag", f'"{part["etag"]}"'), *checksums.shown(part["sums"])])

    def _copy_part(self, asked: Asked, upload: str, number: int) -> Reply:
        source = self._objects.source(asked, *source_of(asked))
        span = asked.header("x-amz-copy-source-range")
        start, end = (conditions.wanted_range(span, source["size"]) if span else None) or (0, source["size"])
        if end - start > LARGEST_PART:
            raise Refused("EntityTooLarge")
        part = self._keep(upload, number, Payload(self._store.read(source["parts"], start, end), {}))
        told = [leaf("LastModified", instant(part["modified"])), leaf("ETag", f'"{part["etag"]}"')]
        return Reply(200, document("CopyPartResult", *told), MEDIA)

    def _keep(self, upload: str, number: int, payload: Payload) -> Any:
        before = self._table.part(upload, number)
        part = {
            "blob": self._store.add(payload.data),
            "size": len(payload.data),
            "etag": md5(payload.data, usedforsecurity=False).hexdigest(),
            "modified": self._clock.now(),
            "sums": dict(payload.checksums),
        }
        self._table.set_part(upload, number, part)
        if before is not None:
            self._store.drop([before["blob"]])
        return part

    def complete(self, asked: Asked, seal: Seal | None) -> Reply:
        upload, record = self._named(asked)
        # The checksum in the head of a completion is the object's, not the body's.
        parts = self._chosen(upload, read_body(asked, seal)[0])
        conditions.check_writing(asked.call.headers, self._catalogue.get(asked.bucket, asked.key))
        digest = md5(b"".join(bytes.fromhex(part["etag"]) for part in parts), usedforsecurity=False)
        kept = {name: record[name] for name in ("media", "headers", "meta", "tags", "acl")}
        kept |= {
            "size": sum(part["size"] for part in parts),
            "etag": f"{digest.hexdigest()}-{len(parts)}",
            "modified": self._clock.now(),
            "sums": _sums(asked, record, parts),
            "parts": [[part["blob"], part["size"]] for part in parts],
        }
        self._catalogue.put(asked.bucket, asked.key, kept)
        used = {part["blob"] for part in parts}
        self._store.drop(part["blob"] for _, part in self._table.end(upload) if part["blob"] not in used)
        told = [leaf("Location", f"{asked.call.base}/{asked.bucket}/{asked.key}"), leaf("Bucket", asked.bucket)]
        told += [leaf("Key", asked.key), leaf("ETag", f'"{kept["etag"]}"')]
        return Reply(200, document("CompleteMultipartUploadResult", *told), MEDIA)

    def abort(self, asked: Asked, _: Seal | None) -> Reply:
        upload, _record = self._named(asked)
        self._store.drop(part["blob"] for _, part in self._table.end(upload))
        return Reply(204)

    def abort_all(self, bucket: str) -> None:
        """The bucket goes, and with it what was on its way there."""
        for upload, record in list(self._table.uploads()):
            if record["bucket"] == bucket:
                self._store.drop(part["blob"] for _, part in self._table.end(upload))

    def parts(self, asked: Asked, _: Seal | None) -> Reply:
        upload, _record = self._named(asked)
        limit, marker = limit_of(asked.call, "max-parts"), limit_of(asked.call, "part-number-marker", MOST_PARTS)
        marker = marker if asked.call.first("part-number-marker") else 0
        behind = [(number, part) for number, part in self._table.parts(upload) if number > marker]
        shown = behind[:limit]
        told = [leaf("Bucket", asked.bucket), leaf("Key", asked.key), leaf("UploadId", upload)]
        told += [leaf("StorageClass", "STANDARD"), leaf("PartNumberMarker", marker)]
        told += [leaf("NextPartNumberMarker", shown[-1][0] if shown else 0), leaf("MaxParts", limit)]
        told += [leaf("IsTruncated", "true" if len(behind) > limit else "false"), owner()]
        return Reply(200, document("ListPartsResult", *told, *(_shown(*part) for part in shown)), MEDIA)

    def uploads(self, asked: Asked, _: Seal | None) -> Reply:
        call = asked.call
        limit, prefix = limit_of(call, "max-uploads"), call.first("prefix")
        marker = (call.first("key-marker"), call.first("upload-id-marker"))
        found = sorted((record["key"], upload, record["started"]) for upload, record in self._uploads_in(asked.bucket))
        behind = [one for one in found if one[0].startswith(prefix) and _is_behind(one, marker)]
        shown = behind[:limit]
        told = [leaf("Bucket", asked.bucket), leaf("KeyMarker", marker[0]), leaf("UploadIdMarker", marker[1])]
        if len(behind) > limit and shown:
            told += [leaf("NextKeyMarker", shown[-1][0]), leaf("NextUploadIdMarker", shown[-1][1])]
        told += [leaf("Prefix", prefix), leaf("MaxUploads", limit)]
        told.append(leaf("IsTruncated", "true" if len(behind) > limit else "false"))
        for key, upload, started in shown:
            lines = [leaf("Key", key), leaf("UploadId", upload), owner("Initiator"), owner()]
            told.append(
                element("Upload", *lines, leaf("StorageClass", "STANDARD"), leaf("Initiated", instant(started)))
            )
        return Reply(200, document("ListMultipartUploadsResult", *told), MEDIA)

    def _uploads_in(self, bucket: str) -> Iterator[tuple[str, Any]]:
        return ((upload, record) for upload, record in self._table.uploads() if record["bucket"] == bucket)

    def _named(self, asked: Asked) -> tuple[str, Any]:
        upload = asked.call.first("uploadId")
        record = self._table.upload(upload)
        if record is None or (record["bucket"], record["key"]) != (asked.bucket, asked.key):
            raise Refused("NoSuchUpload")
        return upload, record

    def _chosen(self, upload: str, body: bytes) -> list[Any]:
        """The parts that the client names, in order, each as it was sent."""
        try:
            nodes = parsed(body, "CompleteMultipartUpload").findall("Part")
        except Unreadable as error:
            raise Refused("MalformedXML") from error
        if not nodes or len(nodes) > MOST_PARTS:
            raise Refused("MalformedXML")
        numbers = [_number(said(node, "PartNumber")) for node in nodes]
        if any(left >= right for left, right in pairwise(numbers)):
            raise Refused("InvalidPartOrder")
        parts = [self._part(upload, number, node) for number, node in zip(numbers, nodes, strict=True)]
        if any(part["size"] < LEAST_PART for part in parts[:-1]):
            raise Refused("EntityTooSmall")
        return parts

    def _part(self, upload: str, number: int, node: ElementTree.Element) -> Any:
        part = self._table.part(upload, number)
        if part is None or said(node, "ETag").strip('"') != part["etag"]:
            raise Refused("InvalidPart")
        for name, value in part["sums"].items():
            if said(node, f"Checksum{name.upper()}", value) != value:
                raise Refused("InvalidPart")
        return part


def _sums(asked: Asked, record: Any, parts: list[Any]) -> dict[str, str]:
    """The checksum of the whole, when each part came with one; the client may have made it too."""
    name = record["algorithm"]
    if not name or any(name not in part["sums"] for part in parts):
        return {}
    listed = [(part["sums"][name], part["size"]) for part in parts]
    made = checksums.of_parts(name, listed, whole=record["whole"] and checksums.can_be_whole(name))
    if asked.header(checksums.HEADER + name, made) != made:
        raise Refused("BadDigest")
    return {name: made}


def _is_behind(one: tuple[str, str, float], marker: tuple[str, str]) -> bool:
    key, upload = marker
    return one[:2] > marker if upload else one[0] > key or not key


def _shown(number: int, part: Any) -> str:
    told = [leaf("PartNumber", number), leaf("LastModified", instant(part["modified"]))]
    told += [leaf("ETag", f'"{part["etag"]}"'), leaf("Size", part["size"])]
    told += [leaf(f"Checksum{name.upper()}", value) for name, value in part["sums"].items()]
    return element("Part", *told)


def _number(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    if not 1 <= number <= MOST_PARTS:
        raise Refused("InvalidArgument")
    return number
