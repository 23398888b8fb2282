"""VCS, as CFS asks it: which repository a clone_url means, and who asks for it."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import quote

from csm_emulator.context import Context
from csm_emulator.seed_data.secrets import VCS_USER, vcs_password
from csm_emulator.transport.call import Reply

_OF_THIS_SITE = re.compile(r"https?://[^/]+/vcs/(?P<owner>[^/]+)/(?P<repo>[^/]+?)(\.git)?/?")


class Vcs:
    def __init__(self, context: Context) -> None:
        self._mesh = context.mesh
        self._own = {"username": VCS_USER, "password": vcs_password(context.random)}

    def authorization(self, secret: Mapping[str, str] | None = None) -> str:
        """Of who has this username and password; CFS has its own."""
        known = secret or self._own
        return "Basic " + b64encode(f"{known['username']}:{known['password']}".encode(errors="replace")).decode()

    def ask(self, path: str, authorization: str) -> Reply:
        """A path below ``repos``, as ``path_of`` begins it."""
        return self._mesh.ask("vcs", "GET", f"/api/v1/repos{path}", headers={"authorization": authorization})


def path_of(clone_url: str) -> str | None:
    """Of a repository of this site; None for every other."""
    found = _OF_THIS_SITE.fullmatch(clone_url)
    return f"/{quoted(found['owner'])}/{quoted(found['repo'])}" if found else None


def quoted(name: str) -> str:
    return quote(name, errors="replace")
