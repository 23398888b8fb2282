"""The options of the whole service."""

from __future__ import annotations

from collections.abc import Callable

from csm_emulator.records import Record
from csm_emulator.state.tables import RecordTables

DEFAULTS: Record = {
    "additional_inventory_source": "",
    "additional_inventory_url": "",
    "batch_size": 25,
    "batch_window": 60,
    "batcher_check_interval": 10,
    "batcher_disable": False,
    "batcher_max_backoff": 3600,
    "batcher_pending_timeout": 300,
    "debug_wait_time": 3600,
    "default_ansible_config": "cfs-default-ansible-cfg",
    "default_batcher_retry_policy": 3,
    "default_page_size": 1000,
    "default_playbook": "site.yml",
    "hardware_sync_interval": 10,
    "include_ara_links": True,
    "logging_level": "INFO",
    "session_ttl": "7d",
}
"""Defaults of the API, the batcher, the operator and hardware sync, each of which writes its own at start."""
_MAX_NUMBER = 10**12


class Options:
    def __init__(self, tables: RecordTables) -> None:
        self._table = tables.open("cfs.options", DEFAULTS)
        self._all = dict(self._table)
        self.watchers: list[Callable[[], None]] = []
        """Called after a change."""

    def all(self) -> Record:
        return dict(self._all)

    def number(self, name: str) -> int:
        """The option as a number, at most ``_LARGEST``."""
        return min(int(self._all[name]), _MAX_NUMBER)

    def text(self, name: str) -> str:
        return str(self._all[name])

    def flag(self, name: str) -> bool:
        return bool(self._all[name])

    def change(self, values: Record) -> None:
        for name, value in values.items():
            self._table[name] = value
            self._all[name] = value
        for watcher in self.watchers:
            watcher()
