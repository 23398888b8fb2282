"""Creates components in CFS for nodes that are new in HSM.

The real agent asks HSM every ``hardware_sync_interval``. Here HSM is asked by the first request after that interval,
so that an idle machine asks nothing.
"""

from __future__ import annotations

from csm_emulator.clients.hsm import HsmClient
from csm_emulator.context import Context
from csm_emulator.services.cfs.components.table import BROKEN, Components, new_component
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

    def run_if_due(self) -> None:
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
        new = [node["ID"] for node in response.value() if node["ID"] not in self._components]
        for xname in sorted(new):
            self._components.put(xname, new_component(xname))
