"""Error replies, with the codes and the XML of the RADOS gateway."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.services.s3.xml import MEDIA, document, leaf
from csm_emulator.transport.call import Reply

_STATUS = {
    "AccessDenied": 403,
    "BadDigest": 400,
    "BucketNotEmpty": 409,
    "EntityTooLarge": 400,
    "EntityTooSmall": 400,
    "IncompleteBody": 400,
    "InvalidAccessKeyId": 403,
    "InvalidArgument": 400,
    "InvalidBucketName": 400,
    "InvalidDigest": 400,
    "InvalidLocationConstraint": 400,
    "InvalidObjectName": 400,
    "InvalidPart": 400,
    "InvalidPartOrder": 400,
    "InvalidRange": 416,
    "InvalidRequest": 400,
    "InvalidStorageClass": 400,
    "InvalidTag": 400,
    "MalformedACLError": 400,
    "MalformedPolicy": 400,
    "MalformedXML": 400,
    "MethodNotAllowed": 405,
    "NoSuchBucket": 404,
    "NoSuchBucketPolicy": 404,
    "NoSuchCORSConfiguration": 404,
    "NoSuchKey": 404,
    "NoSuchLifecycleConfiguration": 404,
    "NoSuchPublicAccessBlockConfiguration": 404,
    "NoSuchTagSet": 404,
    "NoSuchUpload": 404,
    "NoSuchVersion": 404,
    "NoSuchWebsiteConfiguration": 404,
    "NotImplemented": 501,
    "NotModified": 304,
    "ObjectLockConfigurationNotFoundError": 404,
    "PreconditionFailed": 412,
    "RequestTimeTooSkewed": 403,
    "ServerSideEncryptionConfigurationNotFoundError": 404,
    "ServiceUnavailable": 503,
    "SignatureDoesNotMatch": 403,
    "XAmzContentSHA256Mismatch": 400,
}
HOST_ID = "85e8-default-default"


class S3Error(Exception):
    """The request is answered with an S3 error code."""

    def __init__(self, code: str, message: str = "", headers: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(code)
        self.code = code
        self.message = message
        self.headers = headers

    @property
    def status(self) -> int:
        return _STATUS[self.code]


def error_reply(error: S3Error, bucket: str, request_id: str) -> Reply:
    if error.status == 304:
        return Reply(304, headers=error.headers)
    elements = [leaf("Code", error.code), leaf("Message", error.message)]
    if bucket:
        elements.append(leaf("BucketName", bucket))
    elements += [leaf("RequestId", request_id), leaf("HostId", HOST_ID)]
    return Reply(error.status, document("Error", *elements, namespace=""), MEDIA, error.headers)
