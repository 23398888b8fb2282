"""Follows HSM: nodes that it has and CFS has not become components.

The real agent asks every ``hardware_sync_interval``. Here HSM is asked when somebody looks for the first time after
such a moment, so an idle machine asks nothing.
"""

from __future__ import annotations

from csm_emulator.context import World
from csm_emulator.services.cfs.components.table import BROKEN, Components, fresh
from csm_emulator.services.cfs.options.table import Options

_NODES = "/hsm/v2/State/Components?type=Node&type=VirtualNode&stateonly=true"


class HardwareSync:
    def __init__(self, world: World, options: Options, components: Components) -> None:
        self._world = world
        self._options = options
        self._components = components
        self._shelf = world.shelves.open("cfs.hardware-sync")
        self._shelf.setdefault("last", world.clock.now())

    def follow(self) -> None:
        interval = self._options.number("hardware_sync_interval")
        due = self._world.clock.now() // interval * interval
        if due <= self._shelf["last"]:
            return
        self._shelf["last"] = due
        # The agent lists all components first, and that fails where one cannot be looked at.
        if not self._components.with_status(BROKEN):
            self._add_missing()

    def _add_missing(self) -> None:
        reply = self._world.mesh.ask("smd", "GET", _NODES)
        if not reply.ok:
            return
        known = self._components
        for xname in sorted(each["ID"] for each in reply.json()["Components"] if each["ID"] not in known):
            self._components.put(xname, fresh(xname))
