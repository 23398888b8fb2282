"""Checksums that clients send with the data."""

from __future__ import annotations

import base64
import binascii
import hashlib
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence

from csm_emulator.services.s3.errors import S3Error
from csm_emulator.services.s3.objects.crc import CRC32, CRC32C, CRC64NVME, Crc

HEADER = "x-amz-checksum-"
_CRCS: Mapping[str, Crc] = {"crc32": CRC32, "crc32c": CRC32C, "crc64nvme": CRC64NVME}
_DIGESTS: Mapping[str, Callable[[bytes], bytes]] = {
    "crc32": lambda data: zlib.crc32(data).to_bytes(4, "big"),
    "crc32c": lambda data: CRC32C.compute(data).to_bytes(4, "big"),
    "crc64nvme": lambda data: CRC64NVME.compute(data).to_bytes(8, "big"),
    "sha1": lambda data: hashlib.sha1(data, usedforsecurity=False).digest(),
    "sha256": lambda data: hashlib.sha256(data).digest(),
}
ALGORITHMS = tuple(_DIGESTS)


def verified_checksums(data: bytes, headers: Mapping[str, str]) -> dict[str, str]:
    """The checksums in the headers, by algorithm; raises ``S3Error`` when one does not match the data."""
    _check_md5(data, headers.get("content-md5"))
    received = {name: headers[HEADER + name] for name in ALGORITHMS if HEADER + name in headers}
    for name, value in received.items():
        if checksum(name, data) != value:
            raise S3Error("BadDigest", f"The {name.upper()} you specified did not match the calculated checksum.")
    return received


def checksum(algorithm: str, data: bytes) -> str:
    return base64.b64encode(_DIGESTS[algorithm](data)).decode()


def checksum_of_parts(algorithm: str, parts: Sequence[tuple[str, int]], *, full_object: bool) -> str:
    """The checksum of an object from its parts, (checksum, size) each.

    It is that of the full object, or that of the parts' checksums with the number of parts.
    """
    raw = [base64.b64decode(value) for value, _ in parts]
    if not full_object:
        return f"{checksum(algorithm, b''.join(raw))}-{len(parts)}"
    crc, state = _CRCS[algorithm], 0
    for value, (_, size) in zip(raw, parts, strict=True):
        state = crc.combine(state, int.from_bytes(value, "big"), size)
    return base64.b64encode(state.to_bytes(crc.width // 8, "big")).decode()


def supports_full_object(algorithm: str) -> bool:
    return algorithm in _CRCS


def checksum_headers(sums: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """The checksums as headers."""
    return [(HEADER + name, value) for name, value in sums.items()]


def _check_md5(data: bytes, header: str | None) -> None:
    if header is None:
        return
    try:
        digest = base64.b64decode(header, validate=True)
    except (binascii.Error, ValueError) as error:
        raise S3Error("InvalidDigest") from error
    if len(digest) != 16:
        raise S3Error("InvalidDigest")
    if digest != hashlib.md5(data, usedforsecurity=False).digest():
        raise S3Error("BadDigest")
