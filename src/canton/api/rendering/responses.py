"""Answers: JSON, entity tags, and the stored answer for a repeated request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from canton.domain.json_types import JsonObject

UNCHANGED = "Canton-Unchanged"


def json_response(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    # Our own output is not validated: that would take longer than reading the rows.
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Response(text, status, headers=dict(headers or {}), media_type="application/json")


def has_tag(request: Request, tag: str) -> bool:
    """Whether If-None-Match has this entity tag."""
    return tag in (text.strip().removeprefix("W/") for text in request.headers.get("if-none-match", "").split(","))


def object_response(request: Request, body: JsonObject, version: int | None = None) -> Response:
    """The response with one object; 304 if the caller has this version already."""
    if version is None:
        return json_response(body)
    tag = f'"{version}"'
    if has_tag(request, tag):
        return Response(status_code=304, headers={"ETag": tag})
    return json_response(body, headers={"ETag": tag})


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a change; it can be stored and sent again."""

    body: JsonObject | None = None
    status: int = 200
    version: int | None = None
    location: str | None = None
    changed: bool = True
    """False if the object already was as requested; the header Canton-Unchanged says so."""

    def response(self) -> Response:
        headers = {
            "ETag": f'"{self.version}"' if self.version is not None else None,
            "Location": self.location,
            UNCHANGED: None if self.changed else "true",
        }
        present = {name: value for name, value in headers.items() if value is not None}
        if self.body is None:
            return Response(status_code=self.status, headers=present)
        return json_response(self.body, self.status, present)

    def stored(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}
