"""Bodies of requests."""

from __future__ import annotations

from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import GoType
from csm_emulator.records import Json
from csm_emulator.services.pcs.problems import Refusal


def read(body: bytes, kind: GoType) -> Json:
    try:
        return decode(body, kind)
    except DecodeError as error:
        raise Refusal(400, str(error)) from error
