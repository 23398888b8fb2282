"""Buckets, and what is said of them."""

from __future__ import annotations

import re

from csm_emulator.records import Json
from csm_emulator.services.s3.auth import permissions as access
from csm_emulator.services.s3.auth.authentication import Seal
from csm_emulator.services.s3.errors import Refused
from csm_emulator.services.s3.index import Catalogue
from csm_emulator.services.s3.objects.api import grants_of
from csm_emulator.services.s3.objects.metadata import refuse_unsupported, shown_tags, tags_of_body
from csm_emulator.services.s3.objects.payload import read_payload
from csm_emulator.services.s3.requests import Asked
from csm_emulator.services.s3.uploads.api import Uploads
from csm_emulator.services.s3.xml import MEDIA, Unreadable, document, element, instant, leaf, parsed, said
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

    def list(self, _: Asked, seal: Seal | None) -> Reply:
        """Nobody in particular owns nothing."""
        owned = self._catalogue.buckets() if seal else iter(())
        listed = [
            element("Bucket", leaf("Name", name), leaf("CreationDate", instant(record["created"])))
            for name, record in owned
        ]
        who = access.owner() if seal else element("Owner", leaf("ID", "anonymous"), leaf("DisplayName"))
        return Reply(200, document("ListAllMyBucketsResult", who, element("Buckets", *listed)), MEDIA)

    def create(self, asked: Asked, seal: Seal | None) -> Reply:
        """Once more does no harm to one's own."""
        if not _NAME.fullmatch(asked.bucket) or _ADDRESS.fullmatch(asked.bucket):
            raise Refused("InvalidBucketName")
        refuse_unsupported(asked.call.headers)
        _check_location(read_payload(asked, seal).data)
        grants = access.canned(asked.header("x-amz-acl") or "private")
        if self._catalogue.bucket(asked.bucket) is None:
            self._catalogue.set_bucket(asked.bucket, {"created": self._clock.now(), "acl": grants, "tags": {}})
        return Reply(200, headers=[("Location", f"/{asked.bucket}")])

    def head(self, asked: Asked, _: Seal | None) -> Reply:
        count = str(len(self._catalogue.keys(asked.bucket)))
        return Reply(200, headers=[("X-RGW-Object-Count", count), ("x-amz-bucket-region", REGION)])

    def delete(self, asked: Asked, _: Seal | None) -> Reply:
        if self._catalogue.keys(asked.bucket):
            raise Refused("BucketNotEmpty")
        self._uploads.abort_all(asked.bucket)
        self._catalogue.drop_bucket(asked.bucket)
        return Reply(204)

    def location(self, _asked: Asked, _: Seal | None) -> Reply:
        return Reply(200, document("LocationConstraint", REGION), MEDIA)

    def versioning(self, _asked: Asked, _: Seal | None) -> Reply:
        """No bucket keeps versions: there is no Status."""
        return Reply(200, document("VersioningConfiguration"), MEDIA)

    def get_acl(self, asked: Asked, _: Seal | None) -> Reply:
        return Reply(200, access.shown(self._record(asked)["acl"]), MEDIA)

    def put_acl(self, asked: Asked, seal: Seal | None) -> Reply:
        refuse_unsupported(asked.call.headers)
        self._change(asked, acl=grants_of(asked, seal))
        return Reply(200)

    def get_policy(self, asked: Asked, _: Seal | None) -> Reply:
        if "policy" not in self._record(asked):
            raise Refused("NoSuchBucketPolicy", "The bucket policy does not exist")
        return Reply(200, self._record(asked)["policy"].encode(), JSON)

    def put_policy(self, asked: Asked, seal: Seal | None) -> Reply:
        text = read_payload(asked, seal).data
        if len(text) > LARGEST_POLICY:
            raise Refused("InvalidArgument", "Policy is too large")
        self._change(asked, policy=access.check_policy(text))
        return Reply(204)

    def delete_policy(self, asked: Asked, _: Seal | None) -> Reply:
        left = {name: value for name, value in self._record(asked).items() if name != "policy"}
        self._catalogue.set_bucket(asked.bucket, left)
        return Reply(204)

    def policy_status(self, asked: Asked, _: Seal | None) -> Reply:
        policy, where = self._record(asked).get("policy"), f"arn:aws:s3:::{asked.bucket}/any"
        public = bool(policy) and access.verdict(policy, "s3:GetObject", where, nobody=True) == "Allow"
        return Reply(200, document("PolicyStatus", leaf("IsPublic", "true" if public else "false")), MEDIA)

    def get_tags(self, asked: Asked, _: Seal | None) -> Reply:
        tags = self._record(asked)["tags"]
        if not tags:
            raise Refused("NoSuchTagSet")
        return Reply(200, shown_tags(tags), MEDIA)

    def put_tags(self, asked: Asked, seal: Seal | None) -> Reply:
        self._change(asked, tags=tags_of_body(read_payload(asked, seal).data))
        return Reply(204)

    def delete_tags(self, asked: Asked, _: Seal | None) -> Reply:
        self._change(asked, tags={})
        return Reply(204)

    def _record(self, asked: Asked) -> Json:
        return self._catalogue.bucket(asked.bucket)

    def _change(self, asked: Asked, **facts: Json) -> None:
        self._catalogue.set_bucket(asked.bucket, {**self._record(asked), **facts})


def _check_location(body: bytes) -> None:
    if not body:
        return
    try:
        place = said(parsed(body, "CreateBucketConfiguration"), "LocationConstraint")
    except Unreadable as error:
        raise Refused("MalformedXML") from error
    if place.partition(":")[0] not in ("", REGION):
        raise Refused("InvalidLocationConstraint")
