"""A recipe's archive: its files, and the repositories that its description names."""

from __future__ import annotations

import io
import tarfile
import zlib
from xml.etree import ElementTree

_LARGEST = 32 << 20
"""Unpacked; nobody writes so long a recipe, and nothing is to stop a whole machine."""
_MOST_FILES = 10_000


class Unpackable(Exception):
    """It is no archive, or a bad one."""


def unpack(data: bytes) -> dict[str, bytes]:
    """Its plain files by name, packed with gzip or not."""
    if data[:2] == b"\x1f\x8b":
        data = _gunzip(data)
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for entry in archive:
                content = archive.extractfile(entry) if entry.isfile() else None
                if content is not None and len(files) < _MOST_FILES:
                    files[entry.name.removeprefix("./")] = content.read()
    except (tarfile.TarError, EOFError, OSError, ValueError, UnicodeError) as error:
        raise Unpackable(str(error) or "file could not be opened successfully") from None
    return files


def _gunzip(data: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(data, _LARGEST)
    except zlib.error as error:
        raise Unpackable(str(error)) from None


def repositories(config: bytes) -> list[str]:
    """The sources over HTTP that kiwi's description names; raises ``Unpackable`` when it cannot be read."""
    if b"<!ENTITY" in config:
        raise Unpackable("entities are not expanded")
    try:
        root = ElementTree.fromstring(config)  # noqa: S314 (without entities there is nothing to expand)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise Unpackable(str(error)) from None
    paths = [source.get("path") or "" for source in root.findall("repository/source")]
    return [path for path in paths if path.lower().startswith(("http://", "https://"))]
