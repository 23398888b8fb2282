"""The installed firmware versions, and how new ones are flashed and activated."""

from __future__ import annotations

from contextlib import suppress
from typing import TypedDict

from csm_emulator.context import Context
from csm_emulator.machine.context import Event
from csm_emulator.machine.power import ControllerUnreachable, ResetRefused
from csm_emulator.records import Record
from csm_emulator.services.fas.devices import Devices, FirmwareItem
from csm_emulator.state.tables import RecordTable

FLASH_TIME = (90.0, 180.0)
"""Seconds that a device takes to flash an image; HPE's documents speak of minutes."""

START_EVENTS = (("stage", "post"), ("controller", "up"))
"""The events of nodes and controllers that activate flashed firmware."""


class StagedVersion(TypedDict):
    version: str
    until: str
    """The version is installed when this component starts: a node or a controller."""


class Firmware:
    def __init__(self, context: Context) -> None:
        self._context = context
        self.devices = Devices(context.machine)
        self._versions: RecordTable[str] = context.tables.open("fas.firmware")
        self._flashing: RecordTable[int] = context.tables.open("fas.flashing")
        self._staged: RecordTable[StagedVersion] = context.tables.open("fas.staged")
        context.scheduler.register("fas.flashed", self._flashed)
        context.machine.watch(self._apply_staged)

    def reachable(self, bmc: str) -> bool:
        """Whether a request to the controller is answered. The call counts as a request for faults."""
        is_cut_off = self._context.faults.trigger("bmc-unreachable", bmc)
        return not is_cut_off and self._context.machine.power.reachable(bmc)

    def item(self, bmc: str, target: str) -> FirmwareItem | None:
        return next((item for item in self.devices.firmware_items(bmc) if item.target == target), None)

    def version(self, item: FirmwareItem) -> str:
        return str(self._versions.get(item.key, item.version))

    def flashing(self, item: FirmwareItem) -> bool:
        return item.key in self._flashing

    def flash(self, item: FirmwareItem, version: str, *, restart_follows: bool) -> None:
        """The controller flashes an image; with ``restart_follows``, FAS itself restarts it afterwards."""
        number = self._flashing.get(item.key, 0) + 1
        self._flashing[item.key] = number
        wait = self._context.random.between(*FLASH_TIME, "flash", item.key, self._context.clock.now())
        self._context.scheduler.after(wait, "fas.flashed", item.bmc, item.target, version, restart_follows, number)

    def _flashed(self, bmc: str, target: str, version: str, restart_follows: bool, number: int) -> None:
        item = self.item(bmc, target)
        if item is None or self._flashing.get(item.key) != number:
            return
        del self._flashing[item.key]
        if item.node and self._context.machine.power.state(item.node) == "on":
            self._staged[item.key] = {"version": version, "until": item.node}
        elif item.restarts and not item.node:
            self._staged[item.key] = {"version": version, "until": bmc}
            if not restart_follows:
                self._restart(item)
        else:
            self._install(item.key, version)

    def _restart(self, item: FirmwareItem) -> None:
        with suppress(ResetRefused, ControllerUnreachable):
            self._context.machine.power.reset(item.bmc, "ForceRestart", "new firmware")

    def _apply_staged(self, event: Event) -> None:
        if not self._staged or (event.kind, event.value) not in START_EVENTS:
            return
        for key, staged in list(self._staged.items()):
            if staged["until"] == event.xname:
                del self._staged[key]
                self._install(key, staged["version"])

    def _install(self, key: str, version: str) -> None:
        self._versions[key] = version
        bmc, _, item = key.partition("/")
        self._context.log.add("firmware", bmc, "fas", spot=item, version=version)
