"""Invariants of a machine and its services, which hold after any sequence of requests."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from csm_emulator.machine.power import SWITCHED
from csm_emulator.services.pcs.power_status.polling import INTERVAL
from csm_emulator.site import Site
from machine import invariants

ENDED = ("completed", "aborted")
WANTED = {"On": "on", "Off": "off", "Soft-Off": "off", "Force-Off": "off", "Hard-Restart": "on", "Init": "on"}
BEATS_NO_MORE = 120.0
"""Seconds: HBTD calls a node dead after 90 seconds without a heartbeat, and checks every 5; a longer time is an
error.
"""
_OF_THE_MACHINE = ("boot.", "power.", "controller.")


class SiteView:
    """A site with the interface that the checks of the bare machine use, and the machine's own scheduled actions."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.machine, self.clock, self.scheduler = site.machine, site.clock, site.scheduler
        self.power, self.boot = site.machine.power, site.machine.boot

    def lines(self) -> list[dict[str, Any]]:
        return self.site.log.after(0, 1_000_000)

    def table(self, name: str) -> dict[str, Any]:
        return dict(self.site.tables._tables[name])

    def contents(self) -> dict[str, list[tuple[str, Any]]]:
        """All rows of the tables, in order."""
        tables = {name: list(table.items()) for name, table in self.site.tables._tables.items() if name != "clock"}
        return tables | {
            "scheduler": [(key, due) for key, due in tables["scheduler"] if due[1].startswith(_OF_THE_MACHINE)]
        }

    def scheduled_actions(self) -> list[list[Any]]:
        return [due for due in self.table("scheduler").values() if due[1].startswith(_OF_THE_MACHINE)]

    def due(self, kind: str) -> list[list[Any]]:
        return [args for _, name, args in self.table("scheduler").values() if name == kind]


def check_machine(view: SiteView) -> None:
    invariants.check(view)  # type: ignore[arg-type]


def check_scheduler(view: SiteView) -> None:
    """No action is overdue, every action has a handler, and every live transition has its next action."""
    now, transitions = view.clock.now(), view.table("pcs.transitions")
    for moment, kind, _ in view.table("scheduler").values():
        assert moment >= now, f"{kind} is overdue"
        assert kind in view.scheduler._actions
    going = view.due("pcs.run-phase")
    assert {args[0] for args in going} <= set(transitions)
    if view.site.faults.present("service-restart", "pcs"):
        return
    for identity, transition in transitions.items():
        live = any(args[0] == identity and args[1] == transition["run"] for args in going)
        assert live or transition["status"] in ENDED, f"{transition} waits for nothing"


def running(view: SiteView) -> list[str]:
    return [key for key, transition in view.table("pcs.transitions").items() if transition["status"] not in ENDED]


def check_reservations(view: SiteView, reserved_by_others: set[str]) -> None:
    """Without a transition under way only the reservations of other clients remain."""
    if running(view):
        return
    now = view.clock.now()
    for xname, reservation in view.table("smd.reservations").items():
        live = reservation["expires"] is None or reservation["expires"] > now
        assert not live or reservation["key"] in reserved_by_others, f"{xname} stays reserved: {reservation}"


def check_successes(view: SiteView, checked_transitions: set[str]) -> None:
    """Every component of a successful ended transition was in the desired state, as a poll could see."""
    outcomes = view.table("pcs.outcomes")
    for identity, transition in view.table("pcs.transitions").items():
        if identity in checked_transitions or transition["status"] not in ENDED:
            continue
        checked_transitions.add(identity)
        if transition["deadline"] != 0 and transition["operation"] in WANTED:
            for task in outcomes[identity]:
                if task["taskStatus"] == "succeeded":
                    _check_was(view, task["xname"], WANTED[transition["operation"]], transition["created"])


def _check_was(view: SiteView, xname: str, goal: str, created: float) -> None:
    part = view.machine.part(xname)
    if part is None or part.type not in SWITCHED:
        return
    changes = [line for line in view.lines() if line["target"] == xname and line["what"] in ("power-on", "power-off")]
    late = [line["what"] for line in changes if moment(line) >= created - INTERVAL]
    states = {what.removeprefix("power-") for what in late}
    if len(late) < len(changes) or not changes:
        # The state at the last poll before the transition.
        states.add({"power-on": "off", "power-off": "on"}[late[0]] if late else view.power.state(xname))
    elif late:
        states.add({"power-on": "off", "power-off": "on"}[late[0]])
    assert goal in states, f"{xname} was never {goal}"


def check_locked(view: SiteView, locked: dict[str, int]) -> None:
    """``locked``: xname → the number of the log's last entry when it was locked."""
    for line in view.site.log.after(min(locked.values(), default=view.site.log.last), 100_000):
        if line["what"] == "power-order" and line["cause"].startswith("pcs"):
            since = locked.get(line["target"], line["number"])
            assert line["number"] <= since, f"{line['target']} was locked: {line}"


def check_ready(view: SiteView, excused: set[str], quiet_until: float) -> None:
    """A node that HSM calls Ready sends heartbeats, or did so a short while ago."""
    components = view.site.tables._tables["smd.components"]
    stopped = {line["target"]: moment(line) for line in view.lines() if line["what"] == "boot-stage"}
    for part in view.machine.parts("Node"):
        node = part.xname
        component = components.get(node)
        if component is None or component["State"] != "Ready" or node in excused or view.boot.sends_heartbeats(node):
            continue
        since = max(stopped[node], quiet_until)
        assert view.clock.now() - since <= BEATS_NO_MORE, f"{node} is {view.boot.stage(node)}, and Ready"


def moment(line: dict[str, Any]) -> float:
    return datetime.fromisoformat(line["at"]).timestamp()
