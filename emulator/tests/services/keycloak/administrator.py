"""An administrator in the realm ``master``, of a real Keycloak or of the emulator."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from csm_emulator.seed_data.secrets import keycloak_admin_password
from csm_emulator.site import Site
from csm_emulator.transport.call import Call

FORM = {"content-type": "application/x-www-form-urlencoded"}

TOKEN = "/realms/master/protocol/openid-connect/token"  # noqa: S105 (a path)
ADMIN = "/admin/realms/shasta"

Answer = tuple[int, dict[str, str], bytes]
Ask = Callable[[str, str, bytes, Mapping[str, str]], Answer]
"""(method, path below /keycloak, body, headers)."""
HERE = "https://localhost:8443"
_NAMED = {"group": "name", "role": "name", "user": "username"}


def ask_of(site: Site, base: str = HERE) -> Ask:
    """The in-process call of the emulator."""

    def ask(method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        lower = {name.lower(): value for name, value in headers.items()}
        path, _, query = path.partition("?")
        pairs = tuple(parse_qsl(query))
        reply = site.ask("keycloak", Call(method, f"/keycloak{path}", pairs, lower, body, "192.0.2.1", base))
        reply_headers = {name.lower(): value for name, value in reply.headers}
        if reply.media:
            reply_headers["content-type"] = reply.media
        return reply.status, reply_headers, reply.body

    return ask


class Administrator:
    """In paths and bodies ``<group blue>`` is replaced by the id of the group blue, even after its deletion."""

    def __init__(self, ask: Ask, password: str) -> None:
        form = {"grant_type": "password", "client_id": "admin-cli", "username": "admin", "password": password}
        self.logged_in = ask("POST", TOKEN, urlencode(form).encode(), FORM)
        self._ask = ask
        self._ids: dict[str, str] = {}

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {json.loads(self.logged_in[2])['access_token']}"}

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """``path`` is below the realm; a body of text is sent as it is."""
        text = "" if body is None else body if isinstance(body, str) else json.dumps(body)
        path, text = self._with_ids(path), self._with_ids(text)
        media = {} if body is None else {"Content-Type": "application/json"}
        return self._ask(method, f"{ADMIN}/{path}", text.encode(), {**self.headers, **media, **headers})

    def get(self, path: str) -> Any:
        status, _, body = self.ask("GET", path)
        assert status == 200, body
        return json.loads(body)

    def names(self, path: str) -> list[str]:
        return [one.get("username", one.get("name")) for one in self.get(path)]

    def _with_ids(self, text: str) -> str:
        if "<" not in text:
            return text
        for kind, field in _NAMED.items():
            self._ids |= {f"<{kind} {one[field]}>": one["id"] for one in self.get(f"{kind}s")}
        for name, identity in self._ids.items():
            text = text.replace(name, identity)
        return text


def administrator(site: Site) -> Administrator:
    """The administrator of the emulator."""
    return Administrator(ask_of(site), keycloak_admin_password(site.random))
