"""All components, with indexes by status and by desired configuration."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence, Set

from csm_emulator.context import Context
from csm_emulator.records import Record
from csm_emulator.services.cfs.components.layer_status import PENDING, Defaults, component_status, layer_statuses
from csm_emulator.services.cfs.configurations.table import Configurations
from csm_emulator.services.cfs.options.table import Options

BROKEN = ""
"""The status of a component without ``state``, which the real service accepts and then fails to evaluate (500)."""


def new_component(xname: str) -> Record:
    """The record that hardware sync creates for a node."""
    return {"state": [], "desired_config": "", "error_count": 0, "enabled": True, "id": xname}


class Components:
    def __init__(self, context: Context, options: Options, configurations: Configurations) -> None:
        nodes = (node.xname for node in context.machine.parts("Node"))
        self._table = context.tables.open("cfs.components", {xname: new_component(xname) for xname in nodes})
        self._options = options
        self._configurations = configurations
        self._defaults = self._read_defaults()
        self._sorted: list[str] | None = None
        self._status: dict[str, str] = {}
        self._by_status: defaultdict[str, set[str]] = defaultdict(set)
        self._configuration_of: dict[str, str] = {}
        self._by_configuration: defaultdict[str, set[str]] = defaultdict(set)
        self._ready: set[str] = set()
        self.when_ready: Callable[[], None] = _ignore
        """Called when a component becomes pending."""
        for key, record in self._table.items():
            self._index(key, record)
        options.watchers.append(self._options_changed)
        configurations.watchers.append(self._configuration_changed)

    def get(self, key: str) -> Record | None:
        record: Record | None = self._table.get(key)
        return record

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def put(self, key: str, record: Record) -> None:
        if key not in self._table:
            self._sorted = None
        self._table[key] = record
        self._index(key, record)

    def delete(self, key: str) -> None:
        del self._table[key]
        self._sorted = None
        self._by_status[self._status.pop(key)].discard(key)
        self._by_configuration[self._configuration_of.pop(key)].discard(key)
        self._ready.discard(key)

    def keys_after(self, start_after: str) -> Sequence[str]:
        """All names after this one, sorted."""
        if self._sorted is None:
            self._sorted = sorted(self._table)
        return self._sorted[bisect_right(self._sorted, start_after) :] if start_after else self._sorted

    def status(self, key: str) -> str:
        return self._status[key]

    def with_status(self, status: str) -> Set[str]:
        return self._by_status[status]

    def with_configuration(self, configuration: str) -> Set[str]:
        return self._by_configuration[configuration]

    def ready(self) -> Set[str]:
        """Names of pending and enabled components, which the batcher works on."""
        return self._ready

    def desired_layers(self, record: Record) -> list[Record]:
        """The layers of the desired configuration, each with its status."""
        layers = self._configurations.layers(record.get("desired_config", "")) or []
        words = layer_statuses(record, layers, self._defaults)
        return [{**layer, "status": word} for layer, word in zip(layers, words, strict=True)]

    def _index(self, key: str, record: Record) -> None:
        configuration = record.get("desired_config", "")
        if self._configuration_of.get(key) != configuration:
            self._by_configuration[self._configuration_of.get(key, "")].discard(key)
            self._configuration_of[key] = configuration
            self._by_configuration[configuration].add(key)
        status = self._compute(record)
        previous = self._status.get(key)
        if previous != status:
            if previous is not None:
                self._by_status[previous].discard(key)
            self._status[key] = status
            self._by_status[status].add(key)
        self._set_ready(key, status == PENDING and record.get("enabled") is True)

    def _set_ready(self, key: str, ready: bool) -> None:
        if not ready:
            self._ready.discard(key)
        elif key not in self._ready:
            self._ready.add(key)
            self.when_ready()

    def _compute(self, record: Record) -> str:
        try:
            layers = self._configurations.layers(record.get("desired_config", ""))
            return component_status(record, layers, self._defaults)
        except KeyError:
            return BROKEN

    def _options_changed(self) -> None:
        defaults = self._read_defaults()
        if defaults != self._defaults:
            self._defaults = defaults
            self._reindex(list(self._table))

    def _configuration_changed(self, name: str) -> None:
        self._reindex(list(self._by_configuration[name]))

    def _reindex(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._index(key, self._table[key])

    def _read_defaults(self) -> Defaults:
        return Defaults(self._options.number("default_batcher_retry_policy"), self._options.text("default_playbook"))


def _ignore() -> None:
    """The default before the batcher sets ``when_ready``."""
