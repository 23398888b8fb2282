"""The files of images and recipes: small, with the headers by which tools recognise them."""

from __future__ import annotations

import gzip
import hashlib
import io
import struct
import tarfile
from collections.abc import Mapping

BLOCK = 131_072
_ROOTFS_BODY = 12 << 10
_KERNEL_BODY = 6 << 10
_GZIP, _VERSION, _NO_TABLE = 1, (4, 0), 0xFFFFFFFFFFFFFFFF
_CPIO_FIELDS = 13


def squashfs(about: str, created: int) -> bytes:
    """A superblock of squashfs 4.0 as ``file`` and ``unsquashfs -s`` read it, and a body that differs by image."""
    body = _noise(about, _ROOTFS_BODY)
    used = 96 + len(body)
    head = struct.pack(
        "<4sIIIIHHHHHH8Q",
        b"hsqs",
        1,
        created,
        BLOCK,
        0,
        _GZIP,
        BLOCK.bit_length() - 1,
        0,
        1,
        *_VERSION,
        0,
        used,
        used - 8,
        _NO_TABLE,
        96,
        96,
        _NO_TABLE,
        _NO_TABLE,
    )
    return head + body


def kernel(arch: str, release: str, about: str) -> bytes:
    """A bzImage, or the flat image that arm64 boots."""
    body = _noise(about, _KERNEL_BODY)
    if arch == "aarch64":
        return b"MZ\x00\x00" + bytes(52) + b"ARM\x64" + bytes(4) + body
    head = bytearray(0x400)
    head[0x1FE:0x200] = b"\x55\xaa"
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<HHHHH", head, 0x206, 0x020F, 0, 0, 0, 0x100)
    head[0x211] = 1  # loaded high: what makes it a bzImage
    text = f"{release} (geeko@buildhost) #1 SMP\0".encode()
    head[0x300 : 0x300 + len(text)] = text
    return bytes(head) + body


def initrd(files: Mapping[str, bytes]) -> bytes:
    """A cpio archive as the kernel unpacks it."""
    entries = [_cpio(number, name, data, 0o100755) for number, (name, data) in enumerate(files.items(), 1)]
    return b"".join([*entries, _cpio(0, "TRAILER!!!", b"", 0)])


def _cpio(number: int, name: str, data: bytes, mode: int) -> bytes:
    fields = [0] * _CPIO_FIELDS
    fields[0], fields[1], fields[4], fields[6], fields[11] = number, mode, 1, len(data), len(name) + 1
    head = b"070701" + "".join(f"{field:08x}" for field in fields).encode()
    return _padded(head + name.encode() + b"\0") + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def tarball(files: Mapping[str, bytes], created: int) -> bytes:
    """A tar.gz without compression, so that the bytes do not depend on the version of zlib."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(data), created, 0o755 if name.endswith(".sh") else 0o644
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(packed.getvalue(), compresslevel=0, mtime=created)


def _noise(about: str, size: int) -> bytes:
    """Pseudo-random bytes that depend only on the text ``about``."""
    return hashlib.shake_256(about.encode()).digest(size)
