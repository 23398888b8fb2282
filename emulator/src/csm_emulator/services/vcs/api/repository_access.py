"""What the parts of Gitea's API that look into a repository have in common."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.services.vcs.auth.access import Access
from csm_emulator.services.vcs.git.commits import Writing
from csm_emulator.services.vcs.git.objects import Reading
from csm_emulator.services.vcs.repositories import Repositories

REPO = "/api/v1/repos/{owner}/{repo}"


class InsideApi:
    def __init__(
        self, context: Context, repositories: Repositories, access: Access, reading: Reading, writing: Writing
    ) -> None:
        self._context = context
        self._repositories = repositories
        self._access = access
        self._reading = reading
        self._writing = writing
