"""Calls of the API: tokens, headers, problems, pages. The nouns are built on these."""

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
"""Items asked for at once, as many as a server gives: a page costs a round trip."""

Query: TypeAlias = Mapping[str, "str | int | bool | None"]


class Change(TypedDict, total=False):
    """What every change may carry."""

    reason: str | None
    """Why; kept in the audit. Some changes are refused without."""
    approval: str | None
    """The approval that a second person gave for this very change."""
    if_match: int | None
    """The version that the object must still have."""
    key: str | None
    """An idempotency key of your own; without it every call has a fresh one."""


class Caller(NamedTuple):
    """Who a client says it is, and what it promised."""

    credentials: Credentials
    agent: str
    tenant: str | None = None
    read_only: bool = False


def path(*parts: str) -> str:
    """``/v1/tenants/psi``; a part can never reach into another."""
    return "/v1/" + "/".join(quote(part, safe=":@") for part in parts)


class Calls:
    """Sends what a noun asks for and reads what comes back."""

    def __init__(self, transport: Transport, caller: Caller) -> None:
        self.transport = transport
        self.caller = caller
        self.last: Answer | None = None

    # The JSON of the API is typed where a noun returns it; in here it is data of no known shape.
    def get(self, at: str, query: Query | None = None) -> Any:
        """What is at an address."""
        return self._answered(Request("GET", at + encoded(query)))

    def change(
        self, method: str, at: str, body: object = None, change: Change | None = None, query: Query | None = None
    ) -> Any:
        """Change something; ``None`` when there is nothing to say about it."""
        if self.caller.read_only and not (query or {}).get("dry_run"):
            raise ReadOnly("this context is read-only, so nothing was sent; use another context to change something")
        packed = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        headers = _change_headers(change or {}) | ({} if packed is None else {"Content-Type": "application/json"})
        return self._answered(Request(method, at + encoded(query), headers, packed))

    def pages(self, at: str, query: Query | None = None, limit: int | None = None) -> Iterator[Any]:
        """Every item of a list, or the first ``limit``, page after page."""
        remaining = sys.maxsize if limit is None else limit
        parameters = dict(query or {})
        while remaining > 0:
            page = self.get(at, {**parameters, "limit": min(remaining, PAGE)})
            yield from page["items"][:remaining]
            remaining -= len(page["items"])
            parameters["after"] = page.get("next")
            if not parameters["after"]:
                return

    def prepared(self, request: Request) -> Request:
        """The request as it is sent: with a token, and with who sends it."""
        token = self.caller.credentials.token()
        with_agent = request.having(User_Agent=self.caller.agent)
        return with_agent.having(Authorization=f"Bearer {token}") if token else with_agent

    def judged(self, answer: Answer) -> Answer:
        """The answer, if it is a good one of a server that we understand."""
        if "canton-version" in answer.headers:
            version.check(answer.headers["canton-version"])
        if not 200 <= answer.status < 300:
            raise problem(answer.status, _decoded(answer.body), answer.request_id)
        return answer

    def renewed(self, request: Request, answer: Answer) -> Request | None:
        """The request with a new token, if the old one ran out and there is a way to another."""
        body = _decoded(answer.body) if answer.status == 401 else None
        if not isinstance(body, dict) or body.get("code") != "token-expired":
            return None
        used = request.headers.get("Authorization", "").removeprefix("Bearer ")
        fresh = self.caller.credentials.renew(used)
        return request.having(Authorization=f"Bearer {fresh}") if fresh else None

    def _answered(self, request: Request) -> Any:
        prepared = self.prepared(request).having(Accept="application/json", Accept_Encoding="gzip")
        answer = self.transport.exchange(prepared)
        retried = self.renewed(prepared, answer)
        if retried is not None:
            answer = self.transport.exchange(retried)
        self.last = self.judged(answer)
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
