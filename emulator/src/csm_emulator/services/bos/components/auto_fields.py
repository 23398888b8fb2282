"""What BOS adds to whatever is written to a component."""

from __future__ import annotations

from csm_emulator.records import Record
from csm_emulator.services.bos.components.records import NO_ATTEMPTS, ON_HOLD
from csm_emulator.services.bos.timestamps import stamp
from csm_emulator.state.clock import Clock
from csm_emulator.state.tables import RecordTables

_TOKEN_ALONE = {"bss_token"}


class AutoFields:
    def __init__(self, clock: Clock, tables: RecordTables) -> None:
        self._clock = clock
        self._tokens = tables.open("bos.tokens")

    def remember_token(self, token: str, artefacts: Record) -> None:
        """What a node runs that was started with this token of BSS."""
        self._tokens[token] = artefacts

    def added(self, data: Record) -> Record:
        """The same, with what follows from it."""
        result = dict(data)
        self._know_artefacts(result)
        self._date(result)
        if result.get("enabled"):
            # Nobody watches what is disabled: its phase is old until the next look at it.
            result["status"] = {**result.get("status", {}), "status_override": ON_HOLD}
        desired = result.get("desired_state")
        if desired and not result.get("session"):
            result["session"] = ""
        if desired and ("boot_artifacts" in desired or "configuration" in desired):
            result["event_stats"] = NO_ATTEMPTS
        return result

    def _know_artefacts(self, data: Record) -> None:
        """A token that is known says what runs; one that is not is believed to say nothing."""
        token = data.get("actual_state", {}).get("bss_token")
        if token and token in self._tokens:
            data["actual_state"] = {**data["actual_state"], "boot_artifacts": self._tokens[token]}

    def _date(self, data: Record) -> None:
        now = stamp(self._clock.now())
        for name in ("actual_state", "desired_state"):
            if name in data and data[name].keys() != _TOKEN_ALONE:
                data[name] = {**data[name], "last_updated": now}
        for name in ("staged_state", "last_action"):
            if name in data:
                data[name] = {**data[name], "last_updated": now}
