"""All sources, by name, and the credentials that the service keeps for them in Vault."""

from __future__ import annotations

from csm_emulator.services.cfs.table import Record, Table
from csm_emulator.state.tables import Shelves


class Sources(Table):
    def __init__(self, shelves: Shelves) -> None:
        super().__init__(shelves.open("cfs.sources"))
        self._secrets = shelves.open("cfs.secrets")

    def secret(self, name: str) -> Record | None:
        """Username and password."""
        found: Record | None = self._secrets.get(name)
        return found

    def keep_secret(self, name: str, username: str, password: str) -> None:
        self._secrets[name] = {"username": username, "password": password}

    def forget_secret(self, name: str) -> None:
        self._secrets.pop(name, None)
