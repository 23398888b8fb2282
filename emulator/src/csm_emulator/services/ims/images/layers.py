"""What a job did to an image, written behind its root file system.

A squashfs says in its superblock how long it is, and what stands behind it is not looked at. So the new root file
system is the parent's bytes, then one record as JSON (UTF-8, names sorted, no blanks), then the length of that JSON as
eight hexadecimal digits, then ``IMSLAYER``. An image that was changed again has several records, the newest last.

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
    told = json.dumps(record, sort_keys=True, separators=(",", ":")).encode()
    return b"".join((data, told, f"{len(told):08x}".encode(), _MARK))


def records(data: bytes) -> list[Json]:
    """All that were written behind it, the oldest first."""
    found: list[Json] = []
    while data.endswith(_MARK):
        length = int(data[-_TAIL : -len(_MARK)], 16)
        found.append(json.loads(data[-_TAIL - length : -_TAIL]))
        data = data[: -_TAIL - length]
    return found[::-1]


def told_by(content: str) -> tuple[list[Json], list[Json]]:
    """Layers and commands from the file that ends a customisation; nothing when somebody touched it by hand."""
    try:
        told = json.loads(content)
    except (ValueError, RecursionError):
        return [], []
    if not isinstance(told, dict):
        return [], []
    layers, commands = told.get("layers"), told.get("commands")
    return layers if isinstance(layers, list) else [], commands if isinstance(commands, list) else []
