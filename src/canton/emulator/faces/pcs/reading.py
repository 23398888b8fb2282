"""Bodies of requests."""

from __future__ import annotations

from canton.emulator.faces.pcs.problems import Refusal
from canton.emulator.wire.call import Json
from canton.emulator.wire.go_json import Undecodable, decode
from canton.emulator.wire.go_kinds import Kind


def read(body: bytes, kind: Kind) -> Json:
    try:
        return decode(body, kind)
    except Undecodable as error:
        raise Refusal(400, str(error)) from error
