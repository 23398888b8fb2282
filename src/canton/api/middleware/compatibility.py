"""Refuses clients whose version differs from the server's by more than one minor version."""

from __future__ import annotations

import re

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from canton import __version__
from canton.api.rendering import problems
from canton.domain.errors import ClientTooNew, ClientTooOld, Invalid

HEADER = "Canton-Version"
# A client that is refused must still be able to ask for the server's version.
ALWAYS = "/v1/version"
_AGENT = re.compile(rb"canton/(\d{1,6})\.(\d{1,6})\.\d")


class Compatibility:
    """Sends the server's version in every answer, and refuses a ``canton`` of another minor version but the next."""

    def __init__(self, app: ASGIApp, version: str = __version__) -> None:
        self._app = app
        self._version = version

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_version(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = self._version
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send_with_version)
        else:
            await problems.respond(scope, receive, send_with_version, refusal)

    def _refusal(self, scope: Scope) -> Invalid | None:
        agent = next((value for name, value in scope["headers"] if name == b"user-agent"), b"")
        match = _AGENT.match(agent)
        if match is None or not scope["path"].startswith("/v1/") or scope["path"] == ALWAYS:
            return None
        return too_far((int(match[1]), int(match[2])), self._version)


def too_far(client: tuple[int, int], server: str) -> Invalid | None:
    """The refusal of a client of this release; None if it is accepted."""
    major, minor = (int(part) for part in server.split(".")[:2])
    if client[0] == major and abs(client[1] - minor) <= 1:
        return None
    theirs = f"{client[0]}.{client[1]}"
    message = f"this server is version {server} and the client is {theirs}; they may be one minor version apart"
    if client < (major, minor):
        return ClientTooOld(f"{message}. Install canton {major}.{minor}", client=theirs, server=server)
    return ClientTooNew(
        f"{message}. Upgrade the server, or install canton {major}.{minor}", client=theirs, server=server
    )
