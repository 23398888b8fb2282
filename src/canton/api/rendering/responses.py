"""Answers: JSON as stored rows give it, entity tags, and what is sent again for a repeated request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from canton.domain.data import JsonObject

UNCHANGED = "Canton-Unchanged"


def json_response(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    # Rows are rendered by hand and written as they are: validating our own output would cost more than reading it.
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Response(text, status, headers=dict(headers or {}), media_type="application/json")


def has_tag(request: Request, tag: str) -> bool:
    """Whether the caller says that it has the version with this entity tag."""
    return tag in (text.strip().removeprefix("W/") for text in request.headers.get("if-none-match", "").split(","))


def object_response(request: Request, body: JsonObject, version: int | None = None) -> Response:
    """One object; nothing but its tag if the caller has this version already."""
    if version is None:
        return json_response(body)
    tag = f'"{version}"'
    if has_tag(request, tag):
        return Response(status_code=304, headers={"ETag": tag})
    return json_response(body, headers={"ETag": tag})


@dataclass(frozen=True, slots=True)
class Answer:
    """What a change answers; it can be kept and given again."""

    body: JsonObject | None = None
    status: int = 200
    version: int | None = None
    location: str | None = None
    changed: bool = True
    """False when it was so already: success, and said."""

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
