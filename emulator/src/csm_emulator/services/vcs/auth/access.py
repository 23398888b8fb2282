"""Find the repository of a request and check access to it."""

from __future__ import annotations

from csm_emulator.services.vcs.auth.accounts import Accounts
from csm_emulator.services.vcs.repositories import Repositories, Repository
from csm_emulator.services.vcs.responses import ApiError, not_found
from csm_emulator.transport.call import Call


class Access:
    """There is one user, who may do everything."""

    def __init__(self, accounts: Accounts, repositories: Repositories) -> None:
        self._accounts = accounts
        self._repositories = repositories

    def is_authenticated(self, call: Call) -> bool:
        return self._accounts.caller(call) is not None

    def require_caller(self, call: Call) -> None:
        self._accounts.require(call)

    def to_read(self, call: Call) -> Repository:
        """The repository; raises ``ApiError`` (404) also for a private one when the caller is not authenticated."""
        repository = self._repositories.find(call.args["owner"], call.args["repo"])
        if repository is None or (repository.private and not self.is_authenticated(call)):
            raise not_found()
        return repository

    def to_read_filled(self, call: Call) -> Repository:
        repository = self.to_read(call)
        if not self._repositories.refs(repository):
            raise ApiError(409, "Git Repository is empty.")
        return repository

    def to_write(self, call: Call) -> Repository:
        repository = self.to_read(call)
        self._accounts.require(call)
        return repository
