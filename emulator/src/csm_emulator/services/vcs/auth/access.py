"""Which repository a call is about, and whether its caller may."""

from __future__ import annotations

from csm_emulator.services.vcs.auth.accounts import Accounts
from csm_emulator.services.vcs.repositories import Repositories, Repository
from csm_emulator.services.vcs.responses import Refusal, not_found
from csm_emulator.transport.call import Call


class Access:
    """There is one user, and he may do everything."""

    def __init__(self, accounts: Accounts, repositories: Repositories) -> None:
        self._accounts = accounts
        self._repositories = repositories

    def is_known(self, call: Call) -> bool:
        return self._accounts.caller(call) is not None

    def require_caller(self, call: Call) -> None:
        self._accounts.require(call)

    def to_read(self, call: Call) -> Repository:
        """A private repository is not there for a stranger."""
        found = self._repositories.find(call.args["owner"], call.args["repo"])
        if found is None or (found.private and not self.is_known(call)):
            raise not_found()
        return found

    def to_read_filled(self, call: Call) -> Repository:
        found = self.to_read(call)
        if not self._repositories.refs(found):
            raise Refusal(409, "Git Repository is empty.")
        return found

    def to_write(self, call: Call) -> Repository:
        found = self.to_read(call)
        self._accounts.require(call)
        return found
