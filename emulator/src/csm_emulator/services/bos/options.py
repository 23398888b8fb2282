"""BOS options: ``/options``."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.dialects.connexion import json_reply, read_body
from csm_emulator.records import Json, Record
from csm_emulator.services.bos.schemas import OPTIONS
from csm_emulator.state.tables import RecordTables
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

DEFAULTS: Record = {
    "bss_read_timeout": 20,
    "cfs_read_timeout": 20,
    "cleanup_completed_session_ttl": "7d",
    "clear_stage": False,
    "component_actual_state_ttl": "4h",
    "default_retry_policy": 3,
    "discovery_frequency": 300,
    "hsm_read_timeout": 20,
    "ims_errors_fatal": False,
    "ims_images_must_exist": False,
    "ims_read_timeout": 20,
    "logging_level": "INFO",
    "max_boot_wait_time": 1200,
    "max_component_batch_size": 2800,
    "max_power_off_wait_time": 300,
    "max_power_on_wait_time": 120,
    "pcs_read_timeout": 20,
    "polling_frequency": 15,
    "reject_nids": False,
    "session_limit_required": False,
}


class Options:
    def __init__(self, tables: RecordTables) -> None:
        self._table = tables.open("bos.options", DEFAULTS)

    def routes(self) -> Sequence[Route]:
        return (Route("GET", "/v2/options", self._get), Route("PATCH", "/v2/options", self._patch))

    def _get(self, _: Call) -> Reply:
        return json_reply(self._current())

    def _patch(self, call: Call) -> Reply:
        """Unknown options are returned in this response but not stored."""
        patch: dict[str, Json] = read_body(call, OPTIONS)
        response = {**self._current(), **patch}
        self._table.update({name: value for name, value in patch.items() if name in DEFAULTS})
        return json_reply(response)

    def _current(self) -> dict[str, Json]:
        return {name: self._table[name] for name in DEFAULTS}

    def number(self, name: str) -> int:
        return int(self._table[name])

    def text(self, name: str) -> str:
        return str(self._table[name])

    def flag(self, name: str) -> bool:
        return bool(self._table[name])
