"""Requests of CFS to VCS: the repository of a clone_url, and the credentials."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import quote

from csm_emulator.context import Context
from csm_emulator.seed_data.secrets import VCS_USER, vcs_password
from csm_emulator.transport.call import Reply

_REPOSITORY_URL = re.compile(r"https?://[^/]+/vcs/(?P<owner>[^/]+)/(?P<repo>[^/]+?)(\.git)?/?")


class Vcs:
    def __init__(self, context: Context) -> None:
        self._mesh = context.mesh
        self._own = {"username": VCS_USER, "password": vcs_password(context.random)}

    def authorization(self, secret: Mapping[str, str] | None = None) -> str:
        """The Authorization header for a username and password; those of CFS by default."""
        credentials = secret or self._own
        return (
            "Basic "
            + b64encode(f"{credentials['username']}:{credentials['password']}".encode(errors="replace")).decode()
        )

    def ask(self, path: str, authorization: str) -> Reply:
        """GET a path below ``repos`` that begins with ``path_of``."""
        return self._mesh.ask("vcs", "GET", f"/api/v1/repos{path}", headers={"authorization": authorization})


def path_of(clone_url: str) -> str | None:
    """The path of a repository in this site's VCS; None for any other repository."""
    match = _REPOSITORY_URL.fullmatch(clone_url)
    return f"/{quoted(match['owner'])}/{quoted(match['repo'])}" if match else None


def quoted(name: str) -> str:
    return quote(name, errors="replace")
