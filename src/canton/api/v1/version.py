"""The server's version and the issuer to log in at, which a client reads before it has a token."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field

from canton import __version__
from canton.api.rendering.documents import Body, answers
from canton.api.rendering.responses import json_response
from canton.api.services import Services, services
from canton.domain.json_types import JsonObject

router = APIRouter(tags=["version"])
API = "1"
# What the embedded issuer knows the command line as, and what its tokens are for.
EMBEDDED = {"client_id": "canton", "audience": "canton"}


class Login(Body):
    """The issuer that a person logs in at."""

    issuer: str
    client_id: str
    audience: str


class Version(Body):
    version: str
    api: str
    login: Annotated[Login | None, Field(description="Null if the server trusts no issuer.")]


@router.get(
    "/version", responses={code: response for code, response in answers(Version).items() if code not in (401, 404)}
)
def show_version(request: Request) -> Response:
    """The server's version, and the issuer to log in at. Needs no token, and answers clients of any version."""
    return json_response({"version": __version__, "api": API, "login": _login(request, services(request))})


def _login(request: Request, server: Services) -> JsonObject | None:
    first = next(iter(server.settings.issuers.values()), None)
    if first is not None:
        return {"issuer": first.url, "client_id": first.client_id, "audience": first.audience[0]}
    if server.issuer is None:
        return None
    base_url = server.settings.api.public_url or str(request.base_url)
    return {"issuer": f"{base_url.rstrip('/')}/issuer", **EMBEDDED}
