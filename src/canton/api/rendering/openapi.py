"""The OpenAPI description: FastAPI's own, corrected where Canton differs."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from canton.api.rendering.documents import PROBLEM, Problem
from canton.api.rendering.responses import has_tag
from canton.api.services import services


def openapi_maker(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """A function that makes the description once, at its first call; an answer of 405 calls it too, in a thread."""
    making = threading.Lock()

    def openapi() -> dict[str, Any]:
        with making:
            if app.openapi_schema is None:
                app.openapi_schema = _make_description(app)
            return app.openapi_schema

    return openapi


def _make_description(app: FastAPI) -> dict[str, Any]:
    spec = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        routes=app.routes,
        tags=app.openapi_tags,
    )
    schemas = spec["components"]["schemas"]
    schemas["Problem"] = Problem.model_json_schema(ref_template=PROBLEM.replace("Problem", "{model}"))
    # Its definitions belong beside it, where its references point.
    schemas |= schemas["Problem"].pop("$defs", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    _allow_sparse_items(schemas)
    for operation in operations(spec):
        # A request that is not valid gets a problem with status 400, as any other mistake of the caller.
        operation["responses"].pop("422", None)
        for parameter in operation.get("parameters", ()):
            parameter["schema"] = _without_null(parameter["schema"])
            # The default description of a filter.
            parameter.setdefault("description", f"Only objects with this {parameter['name']}.")
    return spec


def description_route(app: FastAPI) -> Callable[[Request], Awaitable[Response]]:
    """The route of the description: serialised and compressed once, since it is large and needs no token.

    Only that is done in a thread: callers without a token must not take threads from others. An answer with the
    description counts against the rate limit of the address.
    """
    once: list[tuple[bytes, bytes, str]] = []
    writing = asyncio.Lock()

    def written() -> tuple[bytes, bytes, str]:
        plain = json.dumps(app.openapi(), ensure_ascii=False, separators=(",", ":")).encode()
        return plain, gzip.compress(plain, 9, mtime=0), f'"{hashlib.sha256(plain).hexdigest()[:16]}"'

    async def show(request: Request) -> Response:
        async with writing:
            if not once:
                once.append(await run_in_threadpool(written))
        plain, packed, tag = once[0]
        headers = {"ETag": tag, "Vary": "Accept-Encoding"}
        if has_tag(request, tag):
            return Response(status_code=304, headers=headers)
        services(request).rate_limits.charge_address(request.client.host if request.client else "")
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(packed, headers=headers | {"Content-Encoding": "gzip"}, media_type="application/json")
        return Response(plain, headers=headers, media_type="application/json")

    return show


def operations(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for methods in spec["paths"].values():
        yield from methods.values()


def _allow_sparse_items(schemas: dict[str, Any]) -> None:
    """In a list no field is required, since ``fields`` selects some."""
    for name, schema in schemas.items():
        if name.startswith("Items_"):
            whole = schemas[schema["properties"]["items"]["items"]["$ref"].rpartition("/")[2]]
            sparse = {key: value for key, value in whole.items() if key != "required"}
            schema["properties"]["items"]["items"] = sparse


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without null: a parameter is left out, but never null."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) != 1:
        return schema
    rest_of_schema = {name: value for name, value in schema.items() if name not in ("anyOf", "title", "description")}
    return {**rest_of_schema, **choices[0]}
