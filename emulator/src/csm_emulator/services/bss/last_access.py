"""The time of each node's last request for its boot script and its user data, by which clients follow a boot."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.bss.responses import encoded, problem
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply

BOOTSCRIPT, USER_DATA = "bootscript", "user-data"


class LastAccess:
    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._table: RecordTable[int] = context.tables.open("bss.history")

    def add(self, name: str, endpoint: str) -> None:
        self._table[f"{name}/{endpoint}"] = int(self._clock.now())

    def get(self, call: Call) -> Reply:
        name, endpoint = "".join(call.all("name")), "".join(call.all("endpoint"))
        if endpoint and not name:
            return problem(500, f"Failed to search for name: {name}, endpoint: {endpoint}")
        if endpoint:
            return encoded(self._one(name, endpoint))
        keys = (
            sorted(self._table)
            if not name
            else [f"{name}/{endpoint_name}" for endpoint_name in (BOOTSCRIPT, USER_DATA)]
        )
        return encoded([_access(*_split(key), self._table[key]) for key in keys if key in self._table])

    def _one(self, name: str, endpoint: str) -> Json:
        """One entry; a node without requests has the time 0, if the endpoint exists."""
        last = self._table.get(f"{name}/{endpoint}", 0)
        if not last and endpoint.lower() not in (BOOTSCRIPT, USER_DATA):
            return []
        return [_access(name, endpoint, last)]


def _split(key: str) -> tuple[str, str]:
    name, _, endpoint = key.rpartition("/")
    return name, endpoint


def _access(name: str, endpoint: str, last: int) -> Json:
    return {"name": name, "endpoint": endpoint, "last_epoch": last}
