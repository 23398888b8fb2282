"""What can be done to sessions, in either version."""

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
    """Who hears of sessions, and runs them."""

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
        found = self.table.get(name)
        if found is None:
            raise no_session(name)
        return found

    def select(self, wanted: SessionFilter, after: str = "") -> list[Record]:
        found = (self.get(name) for name in self.table.names() if name > after)
        return [record for record in found if wanted.fits(record)]

    def create(self, data: Record, may_be: Callable[[str], bool]) -> Record:
        """``data`` in the words of version 3; ``may_be`` says which names are good without a configuration."""
        name, configuration = data["name"], data["configuration_name"]
        if name in self.table:
            raise refuse(409, "Conflicting session name", f"A session with the name {name} already exists")
        if configuration not in self.configurations and not may_be(configuration):
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

    def delete_matching(self, wanted: SessionFilter) -> list[str]:
        names = [record["name"] for record in self.select(wanted)]
        for name in names:
            self.delete(name)
        return names
