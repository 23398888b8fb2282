"""Parameters of HBTD and HMNFD that can be changed at runtime."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

from csm_emulator.dialects.hms.responses import SNIFFED, marshalled
from csm_emulator.records import Json
from csm_emulator.transport.call import Call, Reply


class RunningParams:
    def __init__(self, table: MutableMapping[str, Json], defaults: Mapping[str, Json]) -> None:
        self._table = table
        self._defaults = defaults

    def number(self, name: str) -> int:
        return int(self._table[name])

    def text(self, name: str) -> str:
        return str(self._table[name])

    def reset(self) -> None:
        """Restores the defaults: the real services save parameters, but do not read them at their start."""
        self._table.update(self._defaults)

    def get(self, _: Call) -> Reply:
        return marshalled(dict(self._table))

    def change(self, values: Mapping[str, Json]) -> Reply:
        self._table.update(values)
        # Content-Type is not set here, but it is for GET.
        return marshalled(dict(self._table), media=SNIFFED)
