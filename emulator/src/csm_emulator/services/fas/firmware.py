"""Which firmware is on what, and how a new one gets there."""

from __future__ import annotations

from contextlib import suppress

from csm_emulator.context import Context
from csm_emulator.machine.context import Event
from csm_emulator.machine.power import ControllerUnreachable, ResetRefused
from csm_emulator.services.fas.devices import Devices, Spot

FLASH = (90.0, 180.0)
"""Seconds until a device has written what it was sent; HPE's documents speak of minutes."""

STARTS = (("stage", "post"), ("controller", "up"))
"""The events by which nodes and controllers begin to run what was written."""


class Firmware:
    def __init__(self, context: Context) -> None:
        self._context = context
        self.devices = Devices(context.machine)
        self._versions = context.tables.open("fas.firmware")
        self._flashing = context.tables.open("fas.flashing")
        self._staged = context.tables.open("fas.staged")
        context.scheduler.register("fas.flashed", self._flashed)
        context.machine.watch(self._hear)

    def reachable(self, bmc: str) -> bool:
        """Whether a request to it comes back. Asking counts as a request."""
        struck = self._context.faults.strikes("bmc-unreachable", bmc)
        return not struck and self._context.machine.power.reachable(bmc)

    def spot(self, bmc: str, target: str) -> Spot | None:
        return next((spot for spot in self.devices.spots(bmc) if spot.target == target), None)

    def version(self, spot: Spot) -> str:
        return str(self._versions.get(spot.key, spot.version))

    def flashing(self, spot: Spot) -> bool:
        return spot.key in self._flashing

    def flash(self, spot: Spot, version: str, *, restart_follows: bool) -> None:
        """The controller took an image; ``restart_follows`` when whoever sent it will restart it."""
        number = self._flashing.get(spot.key, 0) + 1
        self._flashing[spot.key] = number
        wait = self._context.random.between(*FLASH, "flash", spot.key, self._context.clock.now())
        self._context.scheduler.after(wait, "fas.flashed", spot.bmc, spot.target, version, restart_follows, number)

    def _flashed(self, bmc: str, target: str, version: str, restart_follows: bool, number: int) -> None:
        spot = self.spot(bmc, target)
        if spot is None or self._flashing.get(spot.key) != number:
            return
        del self._flashing[spot.key]
        if spot.node and self._context.machine.power.state(spot.node) == "on":
            self._staged[spot.key] = {"version": version, "until": spot.node}
        elif spot.restarts and not spot.node:
            self._staged[spot.key] = {"version": version, "until": bmc}
            if not restart_follows:
                self._restart(spot)
        else:
            self._take(spot.key, version)

    def _restart(self, spot: Spot) -> None:
        with suppress(ResetRefused, ControllerUnreachable):
            self._context.machine.power.reset(spot.bmc, "ForceRestart", "new firmware")

    def _hear(self, event: Event) -> None:
        if not self._staged or (event.kind, event.value) not in STARTS:
            return
        for key, staged in list(self._staged.items()):
            if staged["until"] == event.xname:
                del self._staged[key]
                self._take(key, staged["version"])

    def _take(self, key: str, version: str) -> None:
        self._versions[key] = version
        bmc, _, spot = key.partition("/")
        self._context.log.add("firmware", bmc, "fas", spot=spot, version=version)
