"""Calls of the API: tokens, headers, problems, pages. The collections (``nodes``, ``tenants``, …) use them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias, TypedDict
from urllib.parse import quote, urlencode

from canton.client import version
from canton.client.credentials import Credentials
from canton.client.errors import ReadOnly, Unreachable, problem
from canton.client.transport import Answer, Request, Transport

PAGE = 1000
"""Items requested at a time: the most that a server sends, since every page costs a round trip."""

Query: TypeAlias = Mapping[str, "str | int | bool | None"]


class Change(TypedDict, total=False):
    """The optional headers of a request that changes something."""

    reason: str | None
    """The reason; the audit keeps it. Some changes are refused without one."""
    approval: str | None
    """The id of the approval that a second person gave for exactly this change."""
    if_match: int | None
    """The version that the object must still have; otherwise the change is refused."""
    key: str | None
    """An idempotency key of your own; without it every call has a new one."""


class Caller(NamedTuple):
    """The credentials, user agent, default tenant and read-only flag of a client."""

    credentials: Credentials
    agent: str
    tenant: str | None = None
    read_only: bool = False


def path(*parts: str) -> str:
    """The path of a resource, such as ``/v1/tenants/psi``; characters that would split a part are quoted."""
    return "/v1/" + "/".join(quote(part, safe=":@") for part in parts)


class ApiClient:
    """Sends the requests of the collections, and decodes the responses."""

    def __init__(self, transport: Transport, caller: Caller) -> None:
        self.transport = transport
        self.caller = caller
        self.last: Answer | None = None

    # The collections give the API's JSON its types; this class does not know its shape.
    def get(self, at: str, query: Query | None = None) -> Any:
        """The JSON at this path; None if the response has no body."""
        return self._send(Request("GET", at + encoded(query)))

    def change(
        self, method: str, at: str, body: object = None, change: Change | None = None, query: Query | None = None
    ) -> Any:
        """Send a change, and return the JSON of the response; None if it has no body."""
        if self.caller.read_only and not (query or {}).get("dry_run"):
            raise ReadOnly("this context is read-only, so nothing was sent; use another context to change something")
        packed = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        headers = _change_headers(change or {}) | ({} if packed is None else {"Content-Type": "application/json"})
        return self._send(Request(method, at + encoded(query), headers, packed))

    def pages(self, at: str, query: Query | None = None, limit: int | None = None) -> Iterator[Any]:
        """All items of a list, or the first ``limit``; requests the next page when it is needed."""
        remaining = sys.maxsize if limit is None else limit
        parameters = dict(query or {})
        while remaining > 0:
            page = self.get(at, {**parameters, "limit": min(remaining, PAGE)})
            yield from page["items"][:remaining]
            remaining -= len(page["items"])
            parameters["after"] = page.get("next")
            if not parameters["after"]:
                return

    def with_credentials(self, request: Request) -> Request:
        """The request with the token and the user agent."""
        token = self.caller.credentials.token()
        with_agent = request.with_headers(User_Agent=self.caller.agent)
        return with_agent.with_headers(Authorization=f"Bearer {token}") if token else with_agent

    def require_success(self, answer: Answer) -> Answer:
        """The response, if its status is 2xx and its server's version compatible; otherwise raises the error."""
        if "canton-version" in answer.headers:
            version.check(answer.headers["canton-version"])
        if not 200 <= answer.status < 300:
            raise problem(answer.status, _decoded(answer.body), answer.request_id)
        return answer

    def with_renewed_token(self, request: Request, answer: Answer) -> Request | None:
        """The request with a new token, if the old one expired and can be renewed; otherwise None."""
        body = _decoded(answer.body) if answer.status == 401 else None
        if not isinstance(body, dict) or body.get("code") != "token-expired":
            return None
        used = request.headers.get("Authorization", "").removeprefix("Bearer ")
        fresh = self.caller.credentials.renew(used)
        return request.with_headers(Authorization=f"Bearer {fresh}") if fresh else None

    def _send(self, request: Request) -> Any:
        authorized = self.with_credentials(request).with_headers(Accept="application/json", Accept_Encoding="gzip")
        answer = self.transport.exchange(authorized)
        retried = self.with_renewed_token(authorized, answer)
        if retried is not None:
            answer = self.transport.exchange(retried)
        self.last = self.require_success(answer)
        if not answer.body:
            return None
        body = _decoded(answer.body)
        if body is None:
            raise Unreachable(
                f"{self.transport.address.url} answers, but not as Canton does "
                f"({answer.headers.get('content-type', 'no content type')}); check the address of the server"
            )
        return body


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def encoded(query: Query | None) -> str:
    parameters = {name: _text(value) for name, value in (query or {}).items() if value is not None}
    return f"?{urlencode(parameters, quote_via=quote, safe=',:@')}" if parameters else ""


def _text(value: str | int | bool | None) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _change_headers(change: Change) -> dict[str, str]:
    headers = {"Idempotency-Key": change.get("key") or os.urandom(16).hex()}
    reason, approval, expected = change.get("reason"), change.get("approval"), change.get("if_match")
    if reason:
        headers["Canton-Reason"] = quote(reason, safe=" ")
    if approval:
        headers["Canton-Approval"] = approval
    if expected is not None:
        headers["If-Match"] = f'"{expected}"'
    return headers
