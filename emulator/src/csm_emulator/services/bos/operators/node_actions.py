"""What operators that do something to nodes have in common: who is next, how often it was tried, what came of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from csm_emulator.records import Record
from csm_emulator.services.bos.components.records import FAILED
from csm_emulator.services.bos.context import Bos
from csm_emulator.services.bos.failures import Failure

NO_REASON = "The retry limit has been hit for this component, but no services have reported specific errors"


def chunks(bos: Bos, records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """As many as BOS works on at once."""
    size = bos.options.number("max_component_batch_size") or max(len(records), 1)
    for start in range(0, len(records), size):
        yield records[start : start + size]


class Acting(ABC):
    name: ClassVar[str]
    frequency: ClassVar[str] = "polling_frequency"
    statuses: ClassVar[tuple[str, ...]]
    """Components with one of these are its business."""
    action: ClassVar[str]
    attempts: ClassVar[str]
    """The count of its tries, in the component's ``event_stats``."""

    def __init__(self, bos: Bos) -> None:
        self.bos = bos

    def due(self) -> float | None:
        return self.bos.now if self.bos.components.any_with_status(*self.statuses) else None

    def run(self) -> None:
        for chunk in chunks(self.bos, self._in_hsm(self.candidates())):
            self._act_on(chunk)

    def candidates(self) -> list[Record]:
        return self.bos.components.with_status(*self.statuses)

    @abstractmethod
    def act(self, components: Sequence[Record]) -> dict[str, str]:
        """Do it; errors by component, of those that had one. Raises ``Failure`` when it was for all."""

    def _in_hsm(self, components: list[Record]) -> list[Record]:
        names = {found["ID"] for found in self.bos.neighbours.hsm_components(record["id"] for record in components)}
        return [record for record in components if record["id"] in names]

    def _act_on(self, components: Sequence[Record]) -> None:
        left = self._not_failed(components)
        if not left:
            return
        try:
            errors = self.act(left)
        except Failure as failure:
            errors = {record["id"]: str(failure) for record in left}
        self.note(left, errors)

    def note(self, components: Sequence[Record], errors: dict[str, str]) -> None:
        """One more try of each, whether or not it went well."""
        self.bos.components.patch(
            {
                record["id"]: {
                    **self.last_action(errors.get(record["id"], "")),
                    "event_stats": {self.attempts: self._tries(record) + 1},
                }
                for record in components
            }
        )

    def last_action(self, error: str = "") -> Record:
        return {"error": error, "last_action": {"action": self.action, "failed": False}}

    def _tries(self, record: Record) -> int:
        return int(record.get("event_stats", {}).get(self.attempts, 0))

    def _not_failed(self, components: Sequence[Record]) -> list[Record]:
        """Those that were tried too often are marked."""
        policy = self.bos.options.number("default_retry_policy")
        left, failed = [], {}
        for record in components:
            if self._tries(record) < int(record.get("retry_policy", policy)):
                left.append(record)
            else:
                failed[record["id"]] = _failed(record)
        self.bos.components.patch(failed)
        return left


def _failed(record: Record) -> Record:
    patch: Record = {"status": {"status_override": FAILED}}
    return patch if record.get("error") else {**patch, "error": NO_REASON}
