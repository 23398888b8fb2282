"""The shapes of SLS's answers. It has two kinds of problems: a short one, and one with the path and an odd type."""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus

from canton.emulator.machine.clock import rfc3339
from canton.emulator.wire.call import JSON, Call, Json, Reply
from canton.emulator.wire.hms_base import PROBLEM, marshal


def body(value: Json, status: int = 200) -> Reply:
    return Reply(status, marshal(value).encode("utf-8", "replace"), JSON)


def line(value: Json, status: int = 200) -> Reply:
    """Where SLS uses an encoder, a newline ends the body."""
    return Reply(status, marshal(value).encode("utf-8", "replace") + b"\n", JSON)


def done(message: str, status: int = 200) -> Reply:
    return line({"code": 0, "message": message}, status)


def refusal(status: int, detail: str) -> Reply:
    fields = {"type": "about:blank", "title": HTTPStatus(status).phrase, "detail": detail, "status": status}
    return Reply(status, marshal(fields).encode("utf-8", "replace") + b"\n", PROBLEM)


def problem(call: Call, status: int, detail: str) -> Reply:
    fields = {
        "type": "about: blank",
        "title": HTTPStatus(status).phrase,
        "detail": detail,
        "instance": call.path,
        "status": status,
    }
    return Reply(status, marshal(fields).encode("utf-8", "replace") + b"\n", PROBLEM)


@lru_cache(maxsize=256)
def times(moment: float) -> Json:
    """When something was last changed: seconds, and as Go prints an instant. Most of the hardware has one moment."""
    text = rfc3339(moment).replace("T", " ").replace("Z", " +0000 UTC")
    return {"LastUpdated": int(moment), "LastUpdatedTime": text}
