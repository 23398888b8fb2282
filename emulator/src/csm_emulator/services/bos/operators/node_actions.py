"""The common part of operators that act on nodes: selecting nodes, counting attempts, recording results."""

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
    """The records in groups of at most ``max_component_batch_size``."""
    size = bos.options.number("max_component_batch_size") or max(len(records), 1)
    for start in range(0, len(records), size):
        yield records[start : start + size]


class NodeOperator(ABC):
    name: ClassVar[str]
    frequency: ClassVar[str] = "polling_frequency"
    statuses: ClassVar[tuple[str, ...]]
    """The operator acts on components with one of these statuses."""
    action: ClassVar[str]
    attempts_field: ClassVar[str]
    """The field of the component's ``event_stats`` that counts this operator's attempts."""

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
        """Act on the components; return errors by component. Raises ``Failure`` when the action failed for all."""

    def _in_hsm(self, components: list[Record]) -> list[Record]:
        names = {
            component["ID"] for component in self.bos.neighbours.hsm_components(record["id"] for record in components)
        }
        return [record for record in components if record["id"] in names]

    def _act_on(self, components: Sequence[Record]) -> None:
        retryable = self._with_attempts_left(components)
        if not retryable:
            return
        try:
            errors = self.act(retryable)
        except Failure as failure:
            errors = {record["id"]: str(failure) for record in retryable}
        self.record_attempts(retryable, errors)

    def record_attempts(self, components: Sequence[Record], errors: dict[str, str]) -> None:
        """Record one more attempt for every component, successful or not."""
        self.bos.components.patch(
            {
                record["id"]: {
                    **self.last_action(errors.get(record["id"], "")),
                    "event_stats": {self.attempts_field: self._attempts_of(record) + 1},
                }
                for record in components
            }
        )

    def last_action(self, error: str = "") -> Record:
        return {"error": error, "last_action": {"action": self.action, "failed": False}}

    def _attempts_of(self, record: Record) -> int:
        return int(record.get("event_stats", {}).get(self.attempts_field, 0))

    def _with_attempts_left(self, components: Sequence[Record]) -> list[Record]:
        """Components that have attempts left; the others are marked as failed."""
        policy = self.bos.options.number("default_retry_policy")
        retryable, failed = [], {}
        for record in components:
            if self._attempts_of(record) < int(record.get("retry_policy", policy)):
                retryable.append(record)
            else:
                failed[record["id"]] = _failure_patch(record)
        self.bos.components.patch(failed)
        return retryable


def _failure_patch(record: Record) -> Record:
    patch: Record = {"status": {"status_override": FAILED}}
    return patch if record.get("error") else {**patch, "error": NO_REASON}
