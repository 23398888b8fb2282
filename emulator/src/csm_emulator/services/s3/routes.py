"""S3's one door: every request comes through here."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

from csm_emulator.context import Context
from csm_emulator.records import Record
from csm_emulator.seed_data.buckets import BUCKETS, etag
from csm_emulator.seed_data.images import BUILT
from csm_emulator.seed_data.s3_objects import SeedObject, first_objects
from csm_emulator.services.s3.auth import permissions as access
from csm_emulator.services.s3.auth.authentication import Door
from csm_emulator.services.s3.blobs import SEED, Store
from csm_emulator.services.s3.buckets import Buckets
from csm_emulator.services.s3.errors import Refused, refusal
from csm_emulator.services.s3.index import Catalogue
from csm_emulator.services.s3.listing import Listing
from csm_emulator.services.s3.objects.api import Objects
from csm_emulator.services.s3.objects.metadata import MEDIA
from csm_emulator.services.s3.operations import BUCKET, Operation, key_of, operations
from csm_emulator.services.s3.requests import Asked, understood
from csm_emulator.services.s3.uploads.api import LARGEST_PART, Uploads
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import EmulatedService, Route

METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT")
_FRAMES = 4 << 20
"""Room for what stands between the chunks of the largest part."""


def create_service(context: Context) -> EmulatedService:
    service = Service(context)
    routes = [Route(method, "/{rest...}", service.answer) for method in METHODS]
    return EmulatedService("s3", (), routes, service.answer, service.wrong_method, LARGEST_PART + _FRAMES, outside=True)


class Service:
    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._door = Door(context.random, context.clock)
        self._requests = count(1)
        seeds = first_objects(context.machine.topology, context.random)
        store = Store(context.blobs, context.tables.open("s3.numbers"), lambda place: _seed_bytes(seeds, place))
        self._catalogue = Catalogue(
            context.tables,
            store,
            {name: {"created": BUILT, "acl": access.PRIVATE, "tags": {}} for name in BUCKETS},
            {where: _record(where, seed) for where, seed in seeds.items()},
        )
        objects = Objects(self._catalogue, store, context.clock, context.faults)
        uploads = Uploads(context, self._catalogue, store, objects)
        buckets = Buckets(self._catalogue, uploads, context.clock)
        self._operations = operations(buckets, objects, uploads, Listing(self._catalogue))

    def answer(self, call: Call) -> Reply:
        request_id = f"tx{next(self._requests):021x}-{int(self._clock.now()):010x}-85e8-default"
        bucket = ""
        try:
            asked = understood(call)
            bucket = asked.bucket
            reply = self._done(asked)
        except Refused as refused:
            reply = refusal(refused, bucket, request_id)
        return replace(reply, headers=[*reply.headers, ("x-amz-request-id", request_id)])

    def wrong_method(self, call: Call, _: Any) -> Reply:
        return self.answer(call)

    def _done(self, asked: Asked) -> Reply:
        key = key_of(asked)
        operation = self._operations.get(key)
        if operation is None:
            raise Refused("NotImplemented" if key[2] else "MethodNotAllowed")
        seal = self._door.admit(asked)
        if key[:2] != (BUCKET, "PUT") or key[2]:
            self._check_bucket(asked)
        self._check_rights(asked, operation, nobody=seal is None)
        return operation.act(asked, seal)

    def _check_bucket(self, asked: Asked) -> None:
        if asked.bucket and self._catalogue.bucket(asked.bucket) is None:
            raise Refused("NoSuchBucket")

    def _check_rights(self, asked: Asked, operation: Operation, *, nobody: bool) -> None:
        if not asked.bucket:
            return
        bucket = self._catalogue.bucket(asked.bucket) or {"acl": []}
        policy = bucket.get("policy")
        word = access.verdict(policy, operation.action, asked.resource, nobody=nobody) if policy else ""
        # The owner can always take a policy back.
        if word == "Deny" and (nobody or not operation.action.endswith("BucketPolicy")):
            raise Refused("AccessDenied")
        if nobody and word != "Allow" and not self._is_open(asked, operation, bucket):
            raise Refused("AccessDenied")

    def _is_open(self, asked: Asked, operation: Operation, bucket: Any) -> bool:
        """Writing is the bucket's to allow; reading is the object's, or the bucket's when there is none.

        A copy reads something else too: that takes the owner.
        """
        if not operation.grant or asked.header("x-amz-copy-source"):
            return False
        grants = bucket["acl"]
        if asked.key and operation.grant != "WRITE":
            record = self._catalogue.get(asked.bucket, asked.key)
            grants = record["acl"] if record else grants
        return access.open_to_all(grants, operation.grant)


def _record(where: tuple[str, str], seed: SeedObject) -> Record:
    return {
        "media": seed.media or MEDIA,
        "headers": {},
        "meta": {},
        "tags": {},
        "acl": access.PRIVATE,
        "size": len(seed.data),
        "etag": etag(seed.data),
        "modified": seed.created,
        "sums": {},
        "parts": [[f"{SEED}{'/'.join(where)}", len(seed.data)]],
    }


def _seed_bytes(seeds: Any, place: str) -> bytes:
    bucket, _, key = place.partition("/")
    data: bytes = seeds[bucket, key].data
    return data
