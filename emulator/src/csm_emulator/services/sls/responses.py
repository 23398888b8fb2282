"""The replies of SLS. It has two kinds of problem documents: a short one, and one with the path and an odd type."""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus

from csm_emulator.dialects.hms import responses as hms_base
from csm_emulator.dialects.hms.responses import PROBLEM, encoded
from csm_emulator.records import Json
from csm_emulator.state.clock import rfc3339
from csm_emulator.transport.call import Call, Reply


def success(message: str, status: int = 200) -> Reply:
    return encoded({"code": 0, "message": message}, status)


def short_problem(status: int, detail: str) -> Reply:
    return hms_base.problem(status, HTTPStatus(status).phrase, detail)


def problem(call: Call, status: int, detail: str) -> Reply:
    fields = {
        "type": "about: blank",
        "title": HTTPStatus(status).phrase,
        "detail": detail,
        "instance": call.path,
        "status": status,
    }
    return encoded(fields, status, PROBLEM)


@lru_cache(maxsize=256)
def times(updated: float) -> Json:
    """The time of the last change, in seconds and as Go prints a time. Most of the hardware shares one time."""
    text = rfc3339(updated).replace("T", " ").replace("Z", " +0000 UTC")
    return {"LastUpdated": int(updated), "LastUpdatedTime": text}
