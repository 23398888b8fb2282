"""Follows HSM: nodes that it has and CFS has not become components.

The real agent asks every ``hardware_sync_interval``. Here HSM is asked when somebody looks for the first time after
such a moment, so an idle machine asks nothing.
"""

from __future__ import annotations

from csm_emulator.clients.hsm import HsmClient
from csm_emulator.context import Context
from csm_emulator.services.cfs.components.table import BROKEN, Components, fresh
from csm_emulator.services.cfs.options.table import Options
from csm_emulator.state.tables import RecordTable


class HardwareSync:
    def __init__(self, context: Context, options: Options, components: Components) -> None:
        self._context = context
        self._hsm = HsmClient(context.mesh)
        self._options = options
        self._components = components
        self._table: RecordTable[float] = context.tables.open("cfs.hardware-sync")
        self._table.setdefault("last", context.clock.now())

    def follow(self) -> None:
        interval = self._options.number("hardware_sync_interval")
        due = self._context.clock.now() // interval * interval
        if due <= self._table["last"]:
            return
        self._table["last"] = due
        # The agent lists all components first, and that fails where one cannot be looked at.
        if not self._components.with_status(BROKEN):
            self._add_missing()

    def _add_missing(self) -> None:
        response = self._hsm.components("type=Node&type=VirtualNode&stateonly=true")
        if not response.ok:
            return
        known = self._components
        for xname in sorted(each["ID"] for each in response.value() if each["ID"] not in known):
            self._components.put(xname, fresh(xname))
