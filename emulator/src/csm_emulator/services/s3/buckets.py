"""Buckets: create, list, delete, and their ACL, policy and tags."""

from __future__ import annotations

import re
from typing import Unpack

from csm_emulator.services.s3.auth import permissions
from csm_emulator.services.s3.auth.authentication import SigningContext
from csm_emulator.services.s3.catalogue import Catalogue
from csm_emulator.services.s3.errors import S3Error
from csm_emulator.services.s3.objects.api import grants_of
from csm_emulator.services.s3.objects.metadata import refuse_unsupported, tags_document, tags_of_body
from csm_emulator.services.s3.objects.payload import read_payload
from csm_emulator.services.s3.records import BucketChanges, BucketRecord
from csm_emulator.services.s3.requests import S3Request
from csm_emulator.services.s3.uploads.api import Uploads
from csm_emulator.services.s3.xml import MEDIA, XmlError, child_text, document, element, leaf, parse, timestamp
from csm_emulator.state.clock import Clock
from csm_emulator.transport.call import JSON, Reply
from csm_emulator.transport.sigv4 import REGION

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]|\.(?!\.)){1,61}[a-z0-9]")
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")
LARGEST_POLICY = 20 << 10


class Buckets:
    def __init__(self, catalogue: Catalogue, uploads: Uploads, clock: Clock) -> None:
        self._catalogue = catalogue
        self._uploads = uploads
        self._clock = clock

    def list(self, _: S3Request, signing: SigningContext | None) -> Reply:
        """The caller's buckets; an anonymous caller owns none."""
        owned = self._catalogue.buckets() if signing else iter(())
        elements = [
            element("Bucket", leaf("Name", name), leaf("CreationDate", timestamp(record["created"])))
            for name, record in owned
        ]
        owner = permissions.owner() if signing else element("Owner", leaf("ID", "anonymous"), leaf("DisplayName"))
        return Reply(200, document("ListAllMyBucketsResult", owner, element("Buckets", *elements)), MEDIA)

    def create(self, request: S3Request, signing: SigningContext | None) -> Reply:
        """Create the bucket; creating one's own bucket again changes nothing."""
        if not _NAME.fullmatch(request.bucket) or _ADDRESS.fullmatch(request.bucket):
            raise S3Error("InvalidBucketName")
        refuse_unsupported(request.call.headers)
        _check_location(read_payload(request, signing).data)
        grants = permissions.canned_acl(request.header("x-amz-acl") or "private")
        if self._catalogue.bucket(request.bucket) is None:
            self._catalogue.set_bucket(request.bucket, {"created": self._clock.now(), "acl": grants, "tags": {}})
        return Reply(200, headers=[("Location", f"/{request.bucket}")])

    def head(self, request: S3Request, _: SigningContext | None) -> Reply:
        count = str(len(self._catalogue.keys(request.bucket)))
        return Reply(200, headers=[("X-RGW-Object-Count", count), ("x-amz-bucket-region", REGION)])

    def delete(self, request: S3Request, _: SigningContext | None) -> Reply:
        if self._catalogue.keys(request.bucket):
            raise S3Error("BucketNotEmpty")
        self._uploads.abort_all(request.bucket)
        self._catalogue.drop_bucket(request.bucket)
        return Reply(204)

    def location(self, _request: S3Request, _: SigningContext | None) -> Reply:
        return Reply(200, document("LocationConstraint", REGION), MEDIA)

    def versioning(self, _request: S3Request, _: SigningContext | None) -> Reply:
        """Versioning is never enabled: the document has no Status."""
        return Reply(200, document("VersioningConfiguration"), MEDIA)

    def get_acl(self, request: S3Request, _: SigningContext | None) -> Reply:
        return Reply(200, permissions.acl_document(self._record(request)["acl"]), MEDIA)

    def put_acl(self, request: S3Request, signing: SigningContext | None) -> Reply:
        refuse_unsupported(request.call.headers)
        self._change(request, acl=grants_of(request, signing))
        return Reply(200)

    def get_policy(self, request: S3Request, _: SigningContext | None) -> Reply:
        if "policy" not in self._record(request):
            raise S3Error("NoSuchBucketPolicy", "The bucket policy does not exist")
        return Reply(200, self._record(request)["policy"].encode(), JSON)

    def put_policy(self, request: S3Request, signing: SigningContext | None) -> Reply:
        text = read_payload(request, signing).data
        if len(text) > LARGEST_POLICY:
            raise S3Error("InvalidArgument", "Policy is too large")
        self._change(request, policy=permissions.check_policy(text))
        return Reply(204)

    def delete_policy(self, request: S3Request, _: SigningContext | None) -> Reply:
        record = self._record(request).copy()
        record.pop("policy", None)
        self._catalogue.set_bucket(request.bucket, record)
        return Reply(204)

    def policy_status(self, request: S3Request, _: SigningContext | None) -> Reply:
        policy, resource = self._record(request).get("policy"), f"arn:aws:s3:::{request.bucket}/any"
        public = policy is not None and permissions.verdict(policy, "s3:GetObject", resource, anonymous=True) == "Allow"
        return Reply(200, document("PolicyStatus", leaf("IsPublic", "true" if public else "false")), MEDIA)

    def get_tags(self, request: S3Request, _: SigningContext | None) -> Reply:
        tags = self._record(request)["tags"]
        if not tags:
            raise S3Error("NoSuchTagSet")
        return Reply(200, tags_document(tags), MEDIA)

    def put_tags(self, request: S3Request, signing: SigningContext | None) -> Reply:
        self._change(request, tags=tags_of_body(read_payload(request, signing).data))
        return Reply(204)

    def delete_tags(self, request: S3Request, _: SigningContext | None) -> Reply:
        self._change(request, tags={})
        return Reply(204)

    def _record(self, request: S3Request) -> BucketRecord:
        record = self._catalogue.bucket(request.bucket)
        if record is None:
            raise S3Error("NoSuchBucket")
        return record

    def _change(self, request: S3Request, **fields: Unpack[BucketChanges]) -> None:
        self._catalogue.set_bucket(request.bucket, {**self._record(request), **fields})


def _check_location(body: bytes) -> None:
    if not body:
        return
    try:
        place = child_text(parse(body, "CreateBucketConfiguration"), "LocationConstraint")
    except XmlError as error:
        raise S3Error("MalformedXML") from error
    if place.partition(":")[0] not in ("", REGION):
        raise S3Error("InvalidLocationConstraint")
