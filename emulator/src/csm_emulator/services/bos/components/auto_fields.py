"""Fields that BOS sets itself whenever a component is written."""

from __future__ import annotations

from csm_emulator.records import Record
from csm_emulator.services.bos.components.records import NO_ATTEMPTS, ON_HOLD
from csm_emulator.services.bos.timestamps import stamp
from csm_emulator.state.clock import Clock
from csm_emulator.state.tables import RecordTable, RecordTables

_TOKEN_ONLY = {"bss_token"}


class AutoFields:
    def __init__(self, clock: Clock, tables: RecordTables) -> None:
        self._clock = clock
        self._tokens: RecordTable[Record] = tables.open("bos.tokens")

    def remember_token(self, token: str, artefacts: Record) -> None:
        """Remember which artefacts a node runs when it reports this BSS token."""
        self._tokens[token] = artefacts

    def with_auto_fields(self, data: Record) -> Record:
        """The data with artefacts, timestamps, status override, session and attempt counts filled in."""
        result = dict(data)
        self._set_running_artefacts(result)
        self._set_timestamps(result)
        if result.get("enabled"):
            # The status operator does not watch disabled components, so their phase is stale until its next run.
            result["status"] = {**result.get("status", {}), "status_override": ON_HOLD}
        desired = result.get("desired_state")
        if desired and not result.get("session"):
            result["session"] = ""
        if desired and ("boot_artifacts" in desired or "configuration" in desired):
            result["event_stats"] = NO_ATTEMPTS
        return result

    def _set_running_artefacts(self, data: Record) -> None:
        """A known BSS token determines the running artefacts; an unknown token changes nothing."""
        token = data.get("actual_state", {}).get("bss_token")
        if token and token in self._tokens:
            data["actual_state"] = {**data["actual_state"], "boot_artifacts": self._tokens[token]}

    def _set_timestamps(self, data: Record) -> None:
        now = stamp(self._clock.now())
        for name in ("actual_state", "desired_state"):
            if name in data and data[name].keys() != _TOKEN_ONLY:
                data[name] = {**data[name], "last_updated": now}
        for name in ("staged_state", "last_action"):
            if name in data:
                data[name] = {**data[name], "last_updated": now}
