"""What clients send to be sure that their bytes arrived."""

from __future__ import annotations

import base64
import binascii
import hashlib
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence

from csm_emulator.services.s3.errors import Refused
from csm_emulator.services.s3.objects.crc import CRC32, CRC32C, CRC64NVME, Crc

HEADER = "x-amz-checksum-"
_CRCS: Mapping[str, Crc] = {"crc32": CRC32, "crc32c": CRC32C, "crc64nvme": CRC64NVME}
_DIGESTS: Mapping[str, Callable[[bytes], bytes]] = {
    "crc32": lambda data: zlib.crc32(data).to_bytes(4, "big"),
    "crc32c": lambda data: CRC32C.of(data).to_bytes(4, "big"),
    "crc64nvme": lambda data: CRC64NVME.of(data).to_bytes(8, "big"),
    "sha1": lambda data: hashlib.sha1(data, usedforsecurity=False).digest(),
    "sha256": lambda data: hashlib.sha256(data).digest(),
}
ALGORITHMS = tuple(_DIGESTS)


def checked(data: bytes, headers: Mapping[str, str]) -> dict[str, str]:
    """The checksums that came with the data, by algorithm; raises ``Refused`` when one is not the data's."""
    _check_md5(data, headers.get("content-md5"))
    found = {name: headers[HEADER + name] for name in ALGORITHMS if HEADER + name in headers}
    for name, value in found.items():
        if checksum(name, data) != value:
            raise Refused("BadDigest", f"The {name.upper()} you specified did not match the calculated checksum.")
    return found


def checksum(algorithm: str, data: bytes) -> str:
    return base64.b64encode(_DIGESTS[algorithm](data)).decode()


def of_parts(algorithm: str, parts: Sequence[tuple[str, int]], *, whole: bool) -> str:
    """Of an object in parts, (checksum, size) each: of it all, or of the parts' checksums with their number."""
    raw = [base64.b64decode(value) for value, _ in parts]
    if not whole:
        return f"{checksum(algorithm, b''.join(raw))}-{len(parts)}"
    crc, state = _CRCS[algorithm], 0
    for value, (_, size) in zip(raw, parts, strict=True):
        state = crc.combined(state, int.from_bytes(value, "big"), size)
    return base64.b64encode(state.to_bytes(crc.width // 8, "big")).decode()


def can_be_whole(algorithm: str) -> bool:
    return algorithm in _CRCS


def shown(sums: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """As headers."""
    return [(HEADER + name, value) for name, value in sums.items()]


def _check_md5(data: bytes, said: str | None) -> None:
    if said is None:
        return
    try:
        digest = base64.b64decode(said, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Refused("InvalidDigest") from error
    if len(digest) != 16:
        raise Refused("InvalidDigest")
    if digest != hashlib.md5(data, usedforsecurity=False).digest():
        raise Refused("BadDigest")
