"""The S3 service: authenticates a request, checks rights, and calls the operation's handler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count

from csm_emulator.context import Context
from csm_emulator.seed_data.buckets import BUCKETS, etag
from csm_emulator.seed_data.images import BUILT
from csm_emulator.seed_data.s3_objects import SeedObject, first_objects
from csm_emulator.services.s3.auth import permissions
from csm_emulator.services.s3.auth.authentication import Authenticator
from csm_emulator.services.s3.blobs import SEED, BlobStore
from csm_emulator.services.s3.buckets import Buckets
from csm_emulator.services.s3.catalogue import Catalogue
from csm_emulator.services.s3.errors import S3Error, error_reply
from csm_emulator.services.s3.listing import Listing
from csm_emulator.services.s3.objects.api import Objects
from csm_emulator.services.s3.objects.metadata import MEDIA
from csm_emulator.services.s3.operations import BUCKET, Operation, key_of, operations
from csm_emulator.services.s3.records import BucketRecord, ObjectRecord
from csm_emulator.services.s3.requests import S3Request, parse_request
from csm_emulator.services.s3.uploads.api import LARGEST_PART, Uploads
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import EmulatedService, Route

METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT")
_FRAMES = 4 << 20
"""Bytes for the chunk headers of the largest part."""


def create_service(context: Context) -> EmulatedService:
    service = Service(context)
    routes = [Route(method, "/{rest...}", service.answer) for method in METHODS]
    return EmulatedService(
        "s3", (), routes, service.answer, service.wrong_method, LARGEST_PART + _FRAMES, has_own_listener=True
    )


class Service:
    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._authenticator = Authenticator(context.random, context.clock)
        self._requests = count(1)
        seeds = first_objects(context.machine.topology, context.random)
        store = BlobStore(context.blobs, context.tables.open("s3.numbers"), lambda place: _seed_bytes(seeds, place))
        self._catalogue = Catalogue(
            context.tables,
            store,
            {name: {"created": BUILT, "acl": permissions.PRIVATE, "tags": {}} for name in BUCKETS},
            {bucket_and_key: _record(bucket_and_key, seed) for bucket_and_key, seed in seeds.items()},
        )
        objects = Objects(self._catalogue, store, context.clock, context.faults)
        uploads = Uploads(context, self._catalogue, store, objects)
        buckets = Buckets(self._catalogue, uploads, context.clock)
        self._operations = operations(buckets, objects, uploads, Listing(self._catalogue))

    def answer(self, call: Call) -> Reply:
        request_id = f"tx{next(self._requests):021x}-{int(self._clock.now()):010x}-85e8-default"
        bucket = ""
        try:
            request = parse_request(call)
            bucket = request.bucket
            reply = self._perform(request)
        except S3Error as error:
            reply = error_reply(error, bucket, request_id)
        return replace(reply, headers=[*reply.headers, ("x-amz-request-id", request_id)])

    def wrong_method(self, call: Call, _: object) -> Reply:
        return self.answer(call)

    def _perform(self, request: S3Request) -> Reply:
        key = key_of(request)
        operation = self._operations.get(key)
        if operation is None:
            raise S3Error("NotImplemented" if key[2] else "MethodNotAllowed")
        signing = self._authenticator.authenticate(request)
        if key[:2] != (BUCKET, "PUT") or key[2]:
            self._check_bucket(request)
        self._check_rights(request, operation, anonymous=signing is None)
        return operation.handler(request, signing)

    def _check_bucket(self, request: S3Request) -> None:
        if request.bucket and self._catalogue.bucket(request.bucket) is None:
            raise S3Error("NoSuchBucket")

    def _check_rights(self, request: S3Request, operation: Operation, *, anonymous: bool) -> None:
        if not request.bucket:
            return
        bucket = self._catalogue.bucket(request.bucket)
        policy = bucket.get("policy") if bucket else None
        decision = (
            permissions.verdict(policy, operation.action, request.resource, anonymous=anonymous) if policy else ""
        )
        # The owner can always remove a policy.
        if decision == "Deny" and (anonymous or not operation.action.endswith("BucketPolicy")):
            raise S3Error("AccessDenied")
        if anonymous and decision != "Allow" and not self._is_open(request, operation, bucket):
            raise S3Error("AccessDenied")

    def _is_open(self, request: S3Request, operation: Operation, bucket: BucketRecord | None) -> bool:
        """Whether an ACL allows it to all: the bucket's ACL for writing, the object's (if it exists) for reading.

        A copy also reads another object: only the owner may do it.
        """
        if not operation.grant or request.header("x-amz-copy-source"):
            return False
        grants = bucket["acl"] if bucket else []
        if request.key and operation.grant != "WRITE":
            record = self._catalogue.get(request.bucket, request.key)
            grants = record["acl"] if record else grants
        return permissions.open_to_all(grants, operation.grant)


def _record(bucket_and_key: tuple[str, str], seed: SeedObject) -> ObjectRecord:
    return {
        "media": seed.media or MEDIA,
        "headers": {},
        "meta": {},
        "tags": {},
        "acl": permissions.PRIVATE,
        "size": len(seed.data),
        "etag": etag(seed.data),
        "modified": seed.created,
        "sums": {},
        "parts": [[f"{SEED}{'/'.join(bucket_and_key)}", len(seed.data)]],
    }


def _seed_bytes(seeds: Mapping[tuple[str, str], SeedObject], place: str) -> bytes:
    bucket, _, key = place.partition("/")
    return seeds[bucket, key].data
