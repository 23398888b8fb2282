"""A recipe's archive: its files, and the repositories that its kiwi description names."""

from __future__ import annotations

import io
import tarfile
import zlib
from xml.etree import ElementTree

_MAX_UNPACKED_SIZE = 32 << 20
"""Bytes of an unpacked archive, so that a compressed bomb cannot exhaust the emulator's memory."""
_MAX_FILES = 10_000


class InvalidArchive(Exception):
    """The data is not an archive, or the archive is damaged."""


def unpack(data: bytes) -> dict[str, bytes]:
    """The regular files of a tar archive by name; gzip is optional."""
    if data[:2] == b"\x1f\x8b":
        data = _gunzip(data)
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for entry in archive:
                content = archive.extractfile(entry) if entry.isfile() else None
                if content is not None and len(files) < _MAX_FILES:
                    files[entry.name.removeprefix("./")] = content.read()
    except (tarfile.TarError, EOFError, OSError, ValueError, UnicodeError) as error:
        raise InvalidArchive(str(error) or "file could not be opened successfully") from None
    return files


def _gunzip(data: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(data, _MAX_UNPACKED_SIZE)
    except zlib.error as error:
        raise InvalidArchive(str(error)) from None


def repositories(config: bytes) -> list[str]:
    """HTTP repository URLs in a kiwi description; raises ``InvalidArchive`` when it cannot be parsed."""
    if b"<!ENTITY" in config:
        raise InvalidArchive("entities are not expanded")
    try:
        root = ElementTree.fromstring(config)  # noqa: S314 (without entities there is nothing to expand)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise InvalidArchive(str(error)) from None
    paths = [source.get("path") or "" for source in root.findall("repository/source")]
    return [path for path in paths if path.lower().startswith(("http://", "https://"))]
