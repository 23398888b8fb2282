"""All sources by name, and their credentials in Vault."""

from __future__ import annotations

from csm_emulator.records import Record
from csm_emulator.services.cfs.table import Table
from csm_emulator.state.tables import RecordTable, RecordTables


class Sources(Table):
    def __init__(self, tables: RecordTables) -> None:
        super().__init__(tables.open("cfs.sources"))
        self._secrets: RecordTable[Record] = tables.open("cfs.secrets")

    def secret(self, name: str) -> Record | None:
        """Username and password; None when the secret does not exist."""
        secret: Record | None = self._secrets.get(name)
        return secret

    def store_secret(self, name: str, username: str, password: str) -> None:
        self._secrets[name] = {"username": username, "password": password}

    def delete_secret(self, name: str) -> None:
        self._secrets.pop(name, None)
