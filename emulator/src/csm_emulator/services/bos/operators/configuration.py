"""The configuration operator: it sets the desired configuration of booted nodes in CFS."""

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
        for chunk in chunks(self._bos, self._components_to_update()):
            self._update_cfs(chunk)

    def _components_to_update(self) -> list[Record]:
        """Components that have another desired configuration in CFS.

        Those that the status operator found correct at its last run are skipped.
        """
        correct = self._status.correctly_configured
        components = [
            component for component in self._bos.components.with_status(CONFIGURING) if component["id"] not in correct
        ]
        in_cfs = self._bos.neighbours.cfs_components([record["id"] for record in components])
        return [
            component
            for component in components
            if component["id"] in in_cfs and _differs(component, in_cfs[component["id"]])
        ]

    def _update_cfs(self, components: Sequence[Record]) -> None:
        error = ""
        try:
            self._bos.neighbours.configure(components, enabled=True)
        except Failure as failure:
            error = str(failure)
        self._bos.components.patch_alike([record["id"] for record in components], {"error": error})


def _differs(record: Record, in_cfs: Record) -> bool:
    return configuration_of(record) != in_cfs.get("desired_config")
