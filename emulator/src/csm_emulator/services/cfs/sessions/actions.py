"""Operations on sessions, shared by both API versions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from csm_emulator.records import Record
from csm_emulator.services.cfs.configurations.table import Configurations
from csm_emulator.services.cfs.errors import no_session, refuse
from csm_emulator.services.cfs.options.table import Options
from csm_emulator.services.cfs.sessions.filters import SessionFilter
from csm_emulator.services.cfs.sessions.requests import check_passthrough, check_target, new_session
from csm_emulator.services.cfs.sessions.table import Sessions
from csm_emulator.services.cfs.timestamps import start_time
from csm_emulator.state.clock import Clock


class Runner(Protocol):
    """The component that runs sessions, and is notified of new and deleted ones."""

    def session_created(self, name: str) -> None: ...

    def session_deleted(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class SessionActions:
    clock: Clock
    options: Options
    table: Sessions
    configurations: Configurations
    runner: Runner

    def get(self, name: str) -> Record:
        record = self.table.get(name)
        if record is None:
            raise no_session(name)
        return record

    def select(self, session_filter: SessionFilter, start_after: str = "") -> list[Record]:
        records = (self.get(name) for name in self.table.names() if name > start_after)
        return [record for record in records if session_filter.matches(record)]

    def create(self, data: Record, is_allowed: Callable[[str], bool]) -> Record:
        """Create a session from ``data`` in v3 format; ``may_be`` accepts names without a configuration."""
        name, configuration = data["name"], data["configuration_name"]
        if name in self.table:
            raise refuse(409, "Conflicting session name", f"A session with the name {name} already exists")
        if configuration not in self.configurations and not is_allowed(configuration):
            raise refuse(400, "Invalid configuration", f"No configurations exist named {configuration}")
        check_target(data.get("target"))
        if data.get("ansible_passthrough"):
            check_passthrough(data["ansible_passthrough"])
        now = start_time(self.clock.now())
        self.table.put(name, new_session(data, self.options.text("default_ansible_config"), now))
        self.runner.session_created(name)
        return self.get(name)

    def delete(self, name: str) -> None:
        self.get(name)
        self.table.delete(name)
        self.runner.session_deleted(name)

    def delete_matching(self, session_filter: SessionFilter) -> list[str]:
        names = [record["name"] for record in self.select(session_filter)]
        for name in names:
            self.delete(name)
        return names
