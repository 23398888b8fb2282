"""Calls of the administration API of a real Keycloak, for the tests that compare the emulated one with it."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from typing import Any

ADMIN = {"grant_type": "password", "client_id": "admin-cli", "username": "admin", "password": "admin"}


def call(base: str, method: str, path: str, body: object = None) -> Any:
    """One call of the admin API, with a new token: tokens of an administrator live for a minute."""
    token = _request("POST", f"{base}/realms/master/protocol/openid-connect/token", urllib.parse.urlencode(ADMIN))
    data = None if body is None else json.dumps(body)
    headers = {"Authorization": f"Bearer {token['access_token']}", "Content-Type": "application/json"}
    return _request(method, base + path, data, headers)


def _request(method: str, url: str, data: str | None, headers: dict[str, str] | None = None) -> Any:
    request = urllib.request.Request(url, None if data is None else data.encode(), headers or {}, method=method)  # noqa: S310
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        text = answer.read()
    return json.loads(text) if text else None
