"""Gitea as its user sees it, without a network."""

from __future__ import annotations

import base64
from typing import Any

from csm_emulator.seed_data.secrets import VCS_USER, vcs_password
from csm_emulator.site import Site
from csm_emulator.transport.call import Reply
from service_client import Service


def basic(user: str, password: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


class Gitea(Service):
    """A client as crayvcs, unless ``headers`` has other credentials; paths are those below ``/api/v1``."""

    def __init__(self, site: Site) -> None:
        super().__init__(site, "vcs", "/api/v1")
        self.known = basic(VCS_USER, vcs_password(site.random))

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
        return super().ask(method, path, body, self.known if headers is None else headers)

    def refusal(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        """Status and message of a refusal."""
        reply = self.ask(method, path, body)
        assert set(reply.json()) == {"message", "url"} | ({"errors"} if reply.status == 404 else set()), reply.body
        return reply.status, reply.json()["message"]
