"""What HBTD and HMNFD let be set while they run."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

from csm_emulator.dialects.hms.responses import SNIFFED, marshalled
from csm_emulator.transport.call import Call, Json, Reply


class RunningParams:
    def __init__(self, shelf: MutableMapping[str, Json], defaults: Mapping[str, Json]) -> None:
        self._shelf = shelf
        self._defaults = defaults

    def number(self, name: str) -> int:
        return int(self._shelf[name])

    def text(self, name: str) -> str:
        return str(self._shelf[name])

    def reset(self) -> None:
        """They are written down and never read: a new start has the defaults."""
        self._shelf.update(self._defaults)

    def get(self, _: Call) -> Reply:
        return marshalled(dict(self._shelf))

    def change(self, values: Mapping[str, Json]) -> Reply:
        self._shelf.update(values)
        # Content-Type is not set here, but it is for GET.
        return marshalled(dict(self._shelf), media=SNIFFED)
