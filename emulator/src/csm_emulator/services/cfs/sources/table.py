"""All sources, by name, and the credentials that the service keeps for them in Vault."""

from __future__ import annotations

from csm_emulator.records import Record
from csm_emulator.services.cfs.table import Table
from csm_emulator.state.tables import RecordTables


class Sources(Table):
    def __init__(self, tables: RecordTables) -> None:
        super().__init__(tables.open("cfs.sources"))
        self._secrets = tables.open("cfs.secrets")

    def secret(self, name: str) -> Record | None:
        """Username and password."""
        found: Record | None = self._secrets.get(name)
        return found

    def keep_secret(self, name: str, username: str, password: str) -> None:
        self._secrets[name] = {"username": username, "password": password}

    def forget_secret(self, name: str) -> None:
        self._secrets.pop(name, None)
