"""The status of a session, counted over its components."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import timedelta

from csm_emulator.records import Record
from csm_emulator.services.bos.components.records import (
    CONFIGURING,
    FAILED,
    ON_HOLD,
    POWERING_OFF,
    POWERING_ON,
    STABLE,
    status_of,
)
from csm_emulator.services.bos.components.table import ComponentStore
from csm_emulator.services.bos.tenants import Tenants
from csm_emulator.services.bos.timestamps import moment_of
from csm_emulator.state.clock import Clock

_MAX_LISTED = 10
"""At most 10 components are listed per error."""


class SessionStatus:
    def __init__(self, clock: Clock, components: ComponentStore, tenants: Tenants) -> None:
        self._clock = clock
        self._components = components
        self._tenants = tenants

    def of(self, session: Record) -> Record:
        """Raises ``ValueError`` for an invalid start time, and ``Failure`` when TAPMS does not know the tenant."""
        own, staged = self._members(session)
        total = len(own) + len(staged)
        statuses = Counter(status_of(record) for record in own)
        phases = Counter(_phase(record) for record in own)

        def percent(count: int) -> float:
            return round(count * 100.0 / total, 2) if total else 0.0

        report: Record = {
            "managed_components_count": total,
            "phases": {
                "percent_complete": percent(statuses[STABLE] + statuses[FAILED]),
                "percent_powering_on": percent(phases[POWERING_ON]),
                "percent_powering_off": percent(phases[POWERING_OFF]),
                "percent_configuring": percent(phases[CONFIGURING]),
            },
            "percent_staged": percent(len(staged)),
            "percent_successful": percent(statuses[STABLE]),
            "percent_failed": percent(statuses[FAILED]),
            "error_summary": _errors(own),
            "timing": self._timing(session["status"]),
        }
        if "status" in session["status"]:
            report["status"] = session["status"]["status"]
        return report

    def _members(self, session: Record) -> tuple[list[Record], list[Record]]:
        name, tenant = session["name"], session.get("tenant")
        own, staged = self._components.names_in_session(name), self._components.names_staged_for(name)
        if tenant:
            tenant_nodes = self._tenants.members(tenant)
            own, staged = ([component for component in names if component in tenant_nodes] for names in (own, staged))
        return [self._components.get(name) for name in own], [self._components.get(name) for name in staged]

    def _timing(self, status: Record) -> Record:
        end = status.get("end_time")
        until = moment_of(end) if end else self._clock.now()
        duration = str(timedelta(seconds=until - moment_of(status["start_time"])))
        return {"start_time": status["start_time"], "end_time": end, "duration": duration}


def _phase(record: Record) -> str:
    """The phase of a component that BOS works on; empty for disabled components and those on hold."""
    status = record.get("status", {})
    if not record.get("enabled") or status.get("status_override") == ON_HOLD:
        return ""
    return str(status.get("phase", ""))


def _errors(records: list[Record]) -> Record:
    names_by_error: defaultdict[str, list[str]] = defaultdict(list)
    for record in records:
        if record.get("error"):
            names_by_error[record["error"]].append(record["id"])
    return {
        error: {
            "count": len(names),
            "list": ",".join(names[:_MAX_LISTED]) + ("..." if len(names) > _MAX_LISTED else ""),
        }
        for error, names in names_by_error.items()
    }
