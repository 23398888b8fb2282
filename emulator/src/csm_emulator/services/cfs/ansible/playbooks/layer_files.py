"""Reading the files of one layer: a cache of parsed files, and limits on their total size."""

from __future__ import annotations

from csm_emulator.services.cfs.ansible.playbooks.plays import InheritedKeywords
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import (
    MAX_FILE_VALUES,
    OTHER_ERROR,
    AnsibleError,
    estimate_values,
    load,
)
from csm_emulator.services.cfs.ansible.values import Value

MAX_TASKS = 10_000
"""Tasks in one layer, including those of roles and imports."""
MAX_VALUES_IN_LAYER = 10 * MAX_FILE_VALUES
"""Values in all files of one layer together."""
_FILE_COST = 3000
"""The cost of fetching a file, expressed in values."""
_INHERITED_PER_TASK = 16
"""Number of inherited variables, conditions and tags that count as one more task."""


class ReadingPaused(Exception):
    """Reading paused so that other runs can continue; calling again with the same ``LayerReader`` continues it."""


class LayerReader:
    def __init__(self, *, pausing: bool = True) -> None:
        self._pausing = pausing
        self._loaded: dict[str, Value] = {}
        self._values = 0
        self._since_pause = 0
        self._tasks = 0

    def restart(self) -> None:
        """Reset the count of tasks; parsed files stay cached."""
        self._tasks = 0

    def load(self, text: str, path: str) -> Value:
        """The parsed file; each path is parsed once. Raises ``AnsibleError`` and ``ReadingPaused``."""
        if path not in self._loaded:
            self._loaded[path] = self._load(text, path)
        document = self._loaded[path]
        if isinstance(document, AnsibleError):
            raise document.with_traceback(None)
        return document

    def _load(self, text: str, path: str) -> Value:
        values = estimate_values(text)
        if values <= MAX_FILE_VALUES:
            self._count_values(values, path)
        try:
            return load(text, path)
        except AnsibleError as error:
            return error

    def _count_values(self, values: int, path: str) -> None:
        if self._pausing and self._since_pause and self._since_pause + values > MAX_FILE_VALUES:
            self._since_pause = 0
            raise ReadingPaused
        self._since_pause += values + _FILE_COST
        self._values += values
        if self._values > MAX_VALUES_IN_LAYER:
            raise AnsibleError(
                f"more than {MAX_VALUES_IN_LAYER} values in the files of this layer, found in {path}; "
                "make several layers of it, with fewer files each",
                code=OTHER_ERROR,
            )

    def count_task(self, inherited: InheritedKeywords) -> None:
        self._tasks += 1 + (len(inherited.vars) + len(inherited.when) + len(inherited.tags)) // _INHERITED_PER_TASK
        if self._tasks > MAX_TASKS:
            raise AnsibleError(
                f"more than {MAX_TASKS} tasks in this layer, with those of roles and imports; "
                "look for files that import each other many times, or make several layers of it",
                code=OTHER_ERROR,
            )
