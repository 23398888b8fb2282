"""The operations: their handlers, and the permissions that they require."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from csm_emulator.services.s3.auth.authentication import SigningContext
from csm_emulator.services.s3.buckets import Buckets
from csm_emulator.services.s3.errors import S3Error
from csm_emulator.services.s3.listing import Listing
from csm_emulator.services.s3.objects.api import Objects
from csm_emulator.services.s3.requests import S3Request
from csm_emulator.services.s3.uploads.api import Uploads
from csm_emulator.services.s3.xml import MEDIA, document, leaf
from csm_emulator.transport.call import Reply

SERVICE, BUCKET, OBJECT = "service", "bucket", "object"
Handler = Callable[[S3Request, SigningContext | None], Reply]


@dataclass(frozen=True, slots=True)
class Operation:
    handler: Handler
    action: str
    """The name of the action in policies."""
    grant: str = ""
    """The ACL permission for all users that lets an anonymous caller do it; empty when no ACL can."""


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
OperationKey = tuple[str, str, str]
"""(level, method, subresource)."""


def key_of(request: S3Request) -> OperationKey:
    level = OBJECT if request.key else BUCKET if request.bucket else SERVICE
    subresource = next((name for name in SUBRESOURCES if request.call.has(name)), "")
    return level, request.method, subresource


def operations(
    buckets: Buckets, objects: Objects, uploads: Uploads, listing: Listing
) -> Mapping[OperationKey, Operation]:
    return {**_bucket_operations(buckets, objects, uploads, listing), **_object_operations(objects, uploads)}


def _bucket_operations(
    buckets: Buckets, objects: Objects, uploads: Uploads, listing: Listing
) -> Mapping[OperationKey, Operation]:
    def list_objects(request: S3Request, _: SigningContext | None) -> Reply:
        return listing.list_v2(request) if request.call.first("list-type") == "2" else listing.list_v1(request)

    configured = {
        (SERVICE, "GET", ""): Operation(buckets.list, "s3:ListAllMyBuckets"),
        (BUCKET, "GET", ""): Operation(list_objects, "s3:ListBucket", "READ"),
        (BUCKET, "HEAD", ""): Operation(buckets.head, "s3:ListBucket", "READ"),
        (BUCKET, "PUT", ""): Operation(buckets.create, "s3:CreateBucket"),
        (BUCKET, "DELETE", ""): Operation(buckets.delete, "s3:DeleteBucket"),
        (BUCKET, "GET", "versions"): Operation(
            lambda request, _: listing.versions(request), "s3:ListBucketVersions", "READ"
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
    return configured | {(BUCKET, "GET", name): operation for name, operation in _unconfigured().items()}


def _object_operations(objects: Objects, uploads: Uploads) -> Mapping[OperationKey, Operation]:
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


def _unconfigured() -> Mapping[str, Operation]:
    """Reading settings of a bucket that cannot be set here."""
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
        **{name: Operation(_error_handler(code), action) for name, (code, action) in codes.items()},
        **{name: Operation(_document_handler(body), action) for name, (body, action) in documents.items()},
    }


def _error_handler(code: str) -> Handler:
    def refuse(_: S3Request, __: SigningContext | None) -> Reply:
        raise S3Error(code)

    return refuse


def _document_handler(body: bytes) -> Handler:
    return lambda _, __: Reply(200, body, MEDIA)
