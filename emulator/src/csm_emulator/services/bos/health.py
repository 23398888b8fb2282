"""Version and health endpoints of BOS."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.dialects.connexion import json_reply
from csm_emulator.records import Json
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_VERSION = {"major": "2", "minor": "50", "patch": "0"}


def routes() -> Sequence[Route]:
    return (
        Route("GET", "", _versions),
        Route("GET", "/", _versions),
        Route("GET", "/v2", _version),
        Route("GET", "/v2/version", _version),
        Route("GET", "/v2/healthz", _health),
    )


def _versions(call: Call) -> Reply:
    return json_reply([{**_VERSION, "links": [_link(call, "self", "/")]}])


def _version(call: Call) -> Reply:
    return json_reply({**_VERSION, "links": [_link(call, "self", "/"), _link(call, "versions", "/v2")]})


def _link(call: Call, relation: str, path: str) -> Json:
    return {"rel": relation, "href": call.base + path}


def _health(_: Call) -> Reply:
    return json_reply({"dbStatus": "ok", "apiStatus": "ok"})
