"""The base class of the APIs for the content of a repository."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.services.vcs.auth.access import Access
from csm_emulator.services.vcs.git.commits import GitWriter
from csm_emulator.services.vcs.git.objects import GitReader
from csm_emulator.services.vcs.repositories import Repositories

REPO = "/api/v1/repos/{owner}/{repo}"


class RepositoryContentApi:
    def __init__(
        self, context: Context, repositories: Repositories, access: Access, reader: GitReader, writer: GitWriter
    ) -> None:
        self._context = context
        self._repositories = repositories
        self._access = access
        self._reader = reader
        self._writer = writer
