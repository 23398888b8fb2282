"""Records of what jobs did to an image, appended to its root file system.

The superblock of a squashfs states its length, and bytes after that are ignored. So the new root file system is the
parent's bytes, then one record as JSON (UTF-8, names sorted, no blanks), then the length of that JSON as eight
hexadecimal digits, then ``IMSLAYER``. An image that was changed again has several records, the newest last.

A record of a customisation is ``{"job": "customize", "parent": <image id>, "layers": […], "commands": […]}``, one of
a build ``{"job": "create", "recipe": <recipe id>, "archive": <md5>, "template_dictionary": {…}}``. The same parent and
the same record give the same bytes.
"""

from __future__ import annotations

import json

from csm_emulator.records import Json

_MARK = b"IMSLAYER"
_TAIL = 8 + len(_MARK)


def with_record(data: bytes, record: Json) -> bytes:
    text = json.dumps(record, sort_keys=True, separators=(",", ":")).encode()
    return b"".join((data, text, f"{len(text):08x}".encode(), _MARK))


def read_records(data: bytes) -> list[Json]:
    """All records in the image, the oldest first."""
    parsed: list[Json] = []
    while data.endswith(_MARK):
        length = int(data[-_TAIL : -len(_MARK)], 16)
        parsed.append(json.loads(data[-_TAIL - length : -_TAIL]))
        data = data[: -_TAIL - length]
    return parsed[::-1]


def parse_signal(content: str) -> tuple[list[Json], list[Json]]:
    """Layers and commands from the file that ends a customisation; empty lists when a user created the file by hand."""
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError):
        return [], []
    if not isinstance(parsed, dict):
        return [], []
    layers, commands = parsed.get("layers"), parsed.get("commands")
    return layers if isinstance(layers, list) else [], commands if isinstance(commands, list) else []
