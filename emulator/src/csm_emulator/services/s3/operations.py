"""Which function does what is asked, and what it takes to be allowed to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from csm_emulator.services.s3.auth.authentication import Seal
from csm_emulator.services.s3.buckets import Buckets
from csm_emulator.services.s3.errors import Refused
from csm_emulator.services.s3.listing import Listing
from csm_emulator.services.s3.objects.api import Objects
from csm_emulator.services.s3.requests import Asked
from csm_emulator.services.s3.uploads.api import Uploads
from csm_emulator.services.s3.xml import MEDIA, document, leaf
from csm_emulator.transport.call import Reply

SERVICE, BUCKET, OBJECT = "service", "bucket", "object"
Act = Callable[[Asked, Seal | None], Reply]


@dataclass(frozen=True, slots=True)
class Operation:
    act: Act
    action: str
    """As policies name it."""
    grant: str = ""
    """What a list must give to all for nobody in particular to do it; empty when no list can."""


SUBRESOURCES = (
    "accelerate",
    "acl",
    "analytics",
    "attributes",
    "cors",
    "delete",
    "encryption",
    "intelligent-tiering",
    "inventory",
    "legal-hold",
    "lifecycle",
    "location",
    "logging",
    "metrics",
    "notification",
    "object-lock",
    "ownershipControls",
    "policy",
    "policyStatus",
    "publicAccessBlock",
    "replication",
    "requestPayment",
    "restore",
    "retention",
    "select",
    "tagging",
    "torrent",
    "uploadId",
    "uploads",
    "versioning",
    "versions",
    "website",
)
Key = tuple[str, str, str]
"""Level, method, and what of it."""


def key_of(asked: Asked) -> Key:
    level = OBJECT if asked.key else BUCKET if asked.bucket else SERVICE
    what = next((name for name in SUBRESOURCES if asked.call.has(name)), "")
    return level, asked.method, what


def operations(buckets: Buckets, objects: Objects, uploads: Uploads, listing: Listing) -> Mapping[Key, Operation]:
    return {**_of_buckets(buckets, objects, uploads, listing), **_of_objects(objects, uploads)}


def _of_buckets(buckets: Buckets, objects: Objects, uploads: Uploads, listing: Listing) -> Mapping[Key, Operation]:
    def listed(asked: Asked, _: Seal | None) -> Reply:
        return listing.second_version(asked) if asked.call.first("list-type") == "2" else listing.first_version(asked)

    found = {
        (SERVICE, "GET", ""): Operation(buckets.list, "s3:ListAllMyBuckets"),
        (BUCKET, "GET", ""): Operation(listed, "s3:ListBucket", "READ"),
        (BUCKET, "HEAD", ""): Operation(buckets.head, "s3:ListBucket", "READ"),
        (BUCKET, "PUT", ""): Operation(buckets.create, "s3:CreateBucket"),
        (BUCKET, "DELETE", ""): Operation(buckets.delete, "s3:DeleteBucket"),
        (BUCKET, "GET", "versions"): Operation(
            lambda asked, _: listing.versions(asked), "s3:ListBucketVersions", "READ"
        ),
        (BUCKET, "GET", "uploads"): Operation(uploads.uploads, "s3:ListBucketMultipartUploads", "READ"),
        (BUCKET, "POST", "delete"): Operation(objects.delete_many, "s3:DeleteObject", "WRITE"),
        (BUCKET, "GET", "location"): Operation(buckets.location, "s3:GetBucketLocation"),
        (BUCKET, "GET", "versioning"): Operation(buckets.versioning, "s3:GetBucketVersioning"),
        (BUCKET, "GET", "acl"): Operation(buckets.get_acl, "s3:GetBucketAcl", "READ_ACP"),
        (BUCKET, "PUT", "acl"): Operation(buckets.put_acl, "s3:PutBucketAcl", "WRITE_ACP"),
        (BUCKET, "GET", "policy"): Operation(buckets.get_policy, "s3:GetBucketPolicy"),
        (BUCKET, "PUT", "policy"): Operation(buckets.put_policy, "s3:PutBucketPolicy"),
        (BUCKET, "DELETE", "policy"): Operation(buckets.delete_policy, "s3:DeleteBucketPolicy"),
        (BUCKET, "GET", "policyStatus"): Operation(buckets.policy_status, "s3:GetBucketPolicyStatus"),
        (BUCKET, "GET", "tagging"): Operation(buckets.get_tags, "s3:GetBucketTagging"),
        (BUCKET, "PUT", "tagging"): Operation(buckets.put_tags, "s3:PutBucketTagging"),
        (BUCKET, "DELETE", "tagging"): Operation(buckets.delete_tags, "s3:PutBucketTagging"),
    }
    return found | {(BUCKET, "GET", name): operation for name, operation in _not_set_up().items()}


def _of_objects(objects: Objects, uploads: Uploads) -> Mapping[Key, Operation]:
    return {
        (OBJECT, "GET", ""): Operation(objects.get, "s3:GetObject", "READ"),
        (OBJECT, "HEAD", ""): Operation(objects.get, "s3:GetObject", "READ"),
        (OBJECT, "PUT", ""): Operation(objects.put, "s3:PutObject", "WRITE"),
        (OBJECT, "DELETE", ""): Operation(objects.delete, "s3:DeleteObject", "WRITE"),
        (OBJECT, "GET", "acl"): Operation(objects.get_acl, "s3:GetObjectAcl", "READ_ACP"),
        (OBJECT, "PUT", "acl"): Operation(objects.put_acl, "s3:PutObjectAcl", "WRITE_ACP"),
        (OBJECT, "GET", "tagging"): Operation(objects.get_tags, "s3:GetObjectTagging", "READ"),
        (OBJECT, "PUT", "tagging"): Operation(objects.put_tags, "s3:PutObjectTagging", "WRITE"),
        (OBJECT, "DELETE", "tagging"): Operation(objects.delete_tags, "s3:DeleteObjectTagging", "WRITE"),
        (OBJECT, "POST", "uploads"): Operation(uploads.create, "s3:PutObject", "WRITE"),
        (OBJECT, "PUT", "uploadId"): Operation(uploads.put_part, "s3:PutObject", "WRITE"),
        (OBJECT, "POST", "uploadId"): Operation(uploads.complete, "s3:PutObject", "WRITE"),
        (OBJECT, "DELETE", "uploadId"): Operation(uploads.abort, "s3:AbortMultipartUpload", "WRITE"),
        (OBJECT, "GET", "uploadId"): Operation(uploads.parts, "s3:ListMultipartUploadParts", "READ"),
    }


def _not_set_up() -> Mapping[str, Operation]:
    """What a bucket can have and none here has."""
    codes = {
        "cors": ("NoSuchCORSConfiguration", "s3:GetBucketCORS"),
        "encryption": ("ServerSideEncryptionConfigurationNotFoundError", "s3:GetEncryptionConfiguration"),
        "lifecycle": ("NoSuchLifecycleConfiguration", "s3:GetLifecycleConfiguration"),
        "object-lock": ("ObjectLockConfigurationNotFoundError", "s3:GetBucketObjectLockConfiguration"),
        "publicAccessBlock": ("NoSuchPublicAccessBlockConfiguration", "s3:GetBucketPublicAccessBlock"),
        "website": ("NoSuchWebsiteConfiguration", "s3:GetBucketWebsite"),
    }
    documents = {
        "logging": (document("BucketLoggingStatus"), "s3:GetBucketLogging"),
        "notification": (document("NotificationConfiguration"), "s3:GetBucketNotification"),
        "requestPayment": (
            document("RequestPaymentConfiguration", leaf("Payer", "BucketOwner")),
            "s3:GetBucketRequestPayment",
        ),
    }
    return {
        **{name: Operation(_refusing(code), action) for name, (code, action) in codes.items()},
        **{name: Operation(_showing(body), action) for name, (body, action) in documents.items()},
    }


def _refusing(code: str) -> Act:
    def refuse(_: Asked, __: Seal | None) -> Reply:
        raise Refused(code)

    return refuse


def _showing(body: bytes) -> Act:
    return lambda _, __: Reply(200, body, MEDIA)
