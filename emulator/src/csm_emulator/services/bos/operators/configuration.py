"""The configuration operator: what CFS is to make of a node that is up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from csm_emulator.records import Record
from csm_emulator.services.bos.components.records import CONFIGURING, configuration_of
from csm_emulator.services.bos.context import Bos
from csm_emulator.services.bos.failures import Failure
from csm_emulator.services.bos.operators.node_actions import chunks
from csm_emulator.services.bos.operators.status import Status


class Configuration:
    name: ClassVar[str] = "configuration"
    frequency: ClassVar[str] = "polling_frequency"

    def __init__(self, bos: Bos, status: Status) -> None:
        self._bos = bos
        self._status = status

    def due(self) -> float | None:
        return self._bos.now if self._bos.components.any_with_status(CONFIGURING) else None

    def run(self) -> None:
        for chunk in chunks(self._bos, self._unlike_cfs()):
            self._act_on(chunk)

    def _unlike_cfs(self) -> list[Record]:
        """CFS is asked for those alone that the status operator did not find right when it last looked."""
        known = self._status.configured_as_wanted
        components = [each for each in self._bos.components.with_status(CONFIGURING) if each["id"] not in known]
        found = self._bos.neighbours.cfs_components([record["id"] for record in components])
        return [each for each in components if each["id"] in found and _differs(each, found[each["id"]])]

    def _act_on(self, components: Sequence[Record]) -> None:
        error = ""
        try:
            self._bos.neighbours.configure(components, enabled=True)
        except Failure as failure:
            error = str(failure)
        self._bos.components.patch_alike([record["id"] for record in components], {"error": error})


def _differs(record: Record, in_cfs: Record) -> bool:
    return configuration_of(record) != in_cfs.get("desired_config")
