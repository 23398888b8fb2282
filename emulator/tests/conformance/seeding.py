"""Puts one record into a machine, and returns the reply."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from csm_emulator.site import Site
from csm_emulator.transport.call import JSON, Call

SeededNames = Iterator[tuple[str, str]]
"""Pairs of a parameter or property of HPE's files, and a value that exists in the machine."""


def put(site: Site, service: str, request: str, body: Any) -> Any:
    method, path = request.split(" ")
    reply = site.ask(service, Call(method, path, (), {"content-type": JSON}, json.dumps(body).encode()))
    if not reply.ok:
        raise RuntimeError(f"{service} {request}: {reply.status} {reply.body!r}")
    return json.loads(reply.body) if reply.body else None
