"""The gateway: finds the service for a path, and asks the policy whether the client may call it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import parse_qsl, quote, unquote, urlencode

from csm_emulator.context import Context
from csm_emulator.gateway.policy import Deny, decide
from csm_emulator.gateway.tokens import AmbiguousToken, Tokens, bearer
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import EmulatedService

SERVER = ("server", "istio-envoy")
SERVICE_TIME = "x-envoy-upstream-service-time"

# Responses of Envoy and of OPA; those of OPA are in templates/policies/base.yaml.
BAD_REQUEST = Reply(400, headers=(SERVER,))
NO_ROUTE = Reply(404, headers=(SERVER,))
REFUSED = Reply(403, b"Unauthorized Request", "text/plain", (("x-ext-auth-allow", "no"), SERVER))
UNDECIDED = Reply(503, headers=(SERVER,))

FORWARDED = "x-forwarded-for"
_DECORATED = "x-envoy-decorator-operation"
_UNRESERVED = re.compile(r"%(2[dDeE]|3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]|5[fF]|7[eE])")


class Gateway:
    """``answer`` returns the service for a request, or a response; ``decorate`` adds Envoy's headers to a reply."""

    def __init__(self, context: Context, services: Iterable[EmulatedService]) -> None:
        self.tokens = Tokens(context.mesh, context.faults)
        mounts = [(outer, inner, service) for service in services for outer, inner in service.mounts]
        self._mounts = sorted(mounts, key=lambda mount: len(mount[0]), reverse=True)

    def answer(self, call: Call) -> tuple[str, Call] | Reply:
        """The service's name with the call for it, or a response; ``call`` has the whole path."""
        path, mark, query = (call.target or _target(call)).partition("?")
        if not path.startswith("/") or "#" in path or "\0" in path:
            return BAD_REQUEST
        path = normalize(path)
        mount = self._find(path)
        if mount is None:
            # Envoy asks OPA only about requests with a route.
            return NO_ROUTE
        outer, inner, service = mount
        refusal = self._refuse(call, path + mark + query, service)
        if refusal is not None:
            return refusal
        return service.name, replace(
            call,
            path=unquote(inner + path[len(outer) :]),
            query=call.query or tuple(parse_qsl(query, keep_blank_values=True)),
            base=call.base + outer,
            headers={**call.headers, FORWARDED: _forwarded(call)},
        )

    def _find(self, path: str) -> tuple[str, str, EmulatedService] | None:
        for outer, inner, service in self._mounts:
            # The routes of services end in "/": /apis/smd alone has none.
            if path.startswith(outer) and (path[len(outer) : len(outer) + 1] == "/" or (path == outer and inner)):
                return outer, inner, service
        return None

    def _refuse(self, call: Call, target: str, service: EmulatedService) -> Reply | None:
        if target.startswith(tuple(service.open_paths)):
            return None
        # Envoy removes its own headers from requests of clients.
        headers = call.headers
        if _DECORATED in headers:
            headers = {name: value for name, value in headers.items() if name != _DECORATED}
        if not isinstance(decide(None, call.method, target, headers), Deny):
            return None
        try:
            token = bearer(headers)
        except AmbiguousToken:
            return UNDECIDED
        claims = self.tokens.claims(token, call.base) if token else None
        return REFUSED if isinstance(decide(claims, call.method, target, headers), Deny) else None

    def decorate(self, reply: Reply, seconds: float = 0.0) -> Reply:
        """The reply with the headers that Envoy adds; ``seconds`` is how long the service took."""
        headers = [(name, value) for name, value in reply.headers if name.lower() not in (SERVER[0], SERVICE_TIME)]
        return replace(reply, headers=(*headers, (SERVICE_TIME, str(int(seconds * 1000))), SERVER))


def _target(call: Call) -> str:
    path = quote(call.path, safe="/:@!$&'()*+,;=~")
    return f"{path}?{urlencode(call.query)}" if call.query else path


def normalize(path: str) -> str:
    """Envoy's normalize_path, which Istio enables: unreserved characters are decoded, dot segments removed; double
    slashes and %2F stay.
    """
    if "%" in path or "\\" in path:
        path = _UNRESERVED.sub(lambda found: chr(int(found[1], 16)), path.replace("\\", "/"))
    return _without_dots(path) if "/." in path else path


def _without_dots(path: str) -> str:
    result: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del result[-1:]
        elif segment != ".":
            result.append(segment)
    if segments[-1] in (".", ".."):
        result.append("")
    return "/" + "/".join(result)


def _forwarded(call: Call) -> str:
    """X-Forwarded-For with the client's address appended by Envoy, so that no client can pose as another node."""
    forwarded = call.headers.get(FORWARDED, "")
    return f"{forwarded},{call.peer}" if forwarded else call.peer
