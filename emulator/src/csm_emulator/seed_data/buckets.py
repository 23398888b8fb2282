"""The buckets of a site's S3, and links to their objects."""

from __future__ import annotations

from hashlib import md5

BOOT_IMAGES, IMS = "boot-images", "ims"
BUCKETS = (
    "admin-tools",
    BOOT_IMAGES,
    "etcd-backup",
    "fw-update",
    IMS,
    "install-artifacts",
    "ncn-images",
    "nmd",
    "postgres-backup",
    "prs",
    "sat",
    "sds",
    "sls",
    "sma",
    "ssd",
    "ssm",
    "thanos",
    "vbis",
    "velero",
    "wlm",
)
"""As created by CSM's storage role."""


def etag(data: bytes) -> str:
    """The etag without quotes, as in IMS and BOS."""
    return md5(data, usedforsecurity=False).hexdigest()


def s3_link(bucket: str, key: str, tag: str) -> dict[str, str]:
    return {"type": "s3", "path": f"s3://{bucket}/{key}", "etag": tag}
