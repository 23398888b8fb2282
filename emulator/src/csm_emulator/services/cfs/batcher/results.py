"""State that the batcher writes to components when one of its sessions is complete.

Ansible reports only on nodes in its plays. After a success, other nodes of the batch are marked as skipped; after a
failure, as failed.
"""

from __future__ import annotations

from contextlib import suppress

from csm_emulator.records import Record
from csm_emulator.services.cfs.batcher.batches import Batch, Member, as_member
from csm_emulator.services.cfs.components.actions import ComponentActions
from csm_emulator.services.cfs.components.changes import UncaughtError
from csm_emulator.services.cfs.components.layer_status import PENDING
from csm_emulator.services.cfs.components.table import Components
from csm_emulator.services.cfs.options.table import Options


class BatchResults:
    def __init__(self, options: Options, components: Components, actions: ComponentActions) -> None:
        self._options = options
        self._components = components
        self._actions = actions

    def succeeded(self, batch: Batch) -> None:
        for xname in self._unchanged(batch):
            for layer in self._pending(xname):
                self._append(xname, layer, "skipped", batch.session)

    def failed(self, batch: Batch) -> None:
        """When Ansible has reported a failure itself, nothing is written and other components are retried."""
        if self._ansible_failed(batch):
            return
        for xname in self._unchanged(batch):
            layers = self._pending(xname)
            if layers:
                errors = (self._components.get(xname) or {})["error_count"] + 1
                self._append(xname, layers[0], "failed", batch.session, error_count=errors)

    def _unchanged(self, batch: Batch) -> list[str]:
        """Members that are still pending and have the same desired layers as before."""
        waiting = (xname for xname in batch.members if xname in self._components.with_status(PENDING))
        return [
            xname
            for xname in sorted(waiting)
            if self._current_member(xname).desired_layers_hash == batch.members[xname].desired_layers_hash
        ]

    def _ansible_failed(self, batch: Batch) -> bool:
        for xname, member in batch.members.items():
            if xname in self._components:
                current = self._current_member(xname)
                if current.latest_status == "failed" and current.latest_time != member.latest_time:
                    return True
        return False

    def _current_member(self, xname: str) -> Member:
        record = self._components.get(xname) or {}
        return as_member(record, self._components.desired_layers(record))

    def _pending(self, xname: str) -> list[Record]:
        layers = self._components.desired_layers(self._components.get(xname) or {})
        return [layer for layer in layers if layer["status"] == PENDING]

    def _append(self, xname: str, layer: Record, status: str, session: str, **more: int) -> None:
        entry = {
            "commit": layer["commit"],
            "playbook": layer.get("playbook", self._options.text("default_playbook")),
            "clone_url": layer["clone_url"],
            "status": status,
            "session_name": session,
        }
        # A component whose layers cannot be compared stays unchanged; the real service logs the error.
        with suppress(UncaughtError):
            self._actions.patch(xname, {"state_append": entry, **more})
