"""All sources, by name, and the credentials that the service keeps for them in Vault."""

from __future__ import annotations

from typing import Any

from canton.emulator.machine.shelves import Shelves

Record = dict[str, Any]


class Sources:
    def __init__(self, shelves: Shelves) -> None:
        self._shelf = shelves.open("cfs.sources")
        self._secrets = shelves.open("cfs.secrets")

    def get(self, name: str) -> Record | None:
        found: Record | None = self._shelf.get(name)
        return found

    def __contains__(self, name: str) -> bool:
        return name in self._shelf

    def names(self) -> list[str]:
        return sorted(self._shelf)

    def put(self, name: str, record: Record) -> None:
        self._shelf[name] = record

    def delete(self, name: str) -> None:
        del self._shelf[name]

    def secret(self, name: str) -> Record | None:
        """Username and password."""
        found: Record | None = self._secrets.get(name)
        return found

    def keep_secret(self, name: str, username: str, password: str) -> None:
        self._secrets[name] = {"username": username, "password": password}

    def forget_secret(self, name: str) -> None:
        self._secrets.pop(name, None)
