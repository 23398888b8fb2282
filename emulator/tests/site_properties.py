"""What is true of a machine and of what its services say of it, whatever was asked of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from csm_emulator.machine.power import SWITCHED
from csm_emulator.services.pcs.power_status.polling import INTERVAL
from csm_emulator.site import Site
from machine import properties as truths

ENDED = ("completed", "aborted")
WANTED = {"On": "on", "Off": "off", "Soft-Off": "off", "Force-Off": "off", "Hard-Restart": "on", "Init": "on"}
BEATS_NO_MORE = 120.0
"""HBTD calls a node dead after 90 seconds without a beat, and looks every 5; more is somebody's mistake."""
_OF_THE_MACHINE = ("boot.", "power.", "controller.")


class Picture:
    """A site as the checks of the bare machine look at it: with the machine's own scheduled actions."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.machine, self.clock, self.scheduler = site.machine, site.clock, site.scheduler
        self.power, self.boot = site.machine.power, site.machine.boot

    def lines(self) -> list[dict[str, Any]]:
        return self.site.log.after(0, 1_000_000)

    def table(self, name: str) -> dict[str, Any]:
        return dict(self.site.tables._tables[name])

    def contents(self) -> dict[str, list[tuple[str, Any]]]:
        """All that is on the tables, in order."""
        told = {name: list(table.items()) for name, table in self.site.tables._tables.items() if name != "clock"}
        return told | {
            "scheduler": [(key, due) for key, due in told["scheduler"] if due[1].startswith(_OF_THE_MACHINE)]
        }

    def to_come(self) -> list[list[Any]]:
        return [due for due in self.table("scheduler").values() if due[1].startswith(_OF_THE_MACHINE)]

    def due(self, kind: str) -> list[list[Any]]:
        return [args for _, found, args in self.table("scheduler").values() if found == kind]


def check_machine(picture: Picture) -> None:
    truths.check(picture)  # type: ignore[arg-type]


def check_scheduler(picture: Picture) -> None:
    """Nothing is overdue, nobody waits for what is not there, and no transition is forgotten."""
    now, transitions = picture.clock.now(), picture.table("pcs.transitions")
    for moment, kind, _ in picture.table("scheduler").values():
        assert moment >= now, f"{kind} is overdue"
        assert kind in picture.scheduler._actions
    going = picture.due("pcs.run-phase")
    assert {args[0] for args in going} <= set(transitions)
    if picture.site.faults.present("service-restart", "pcs"):
        return
    for identity, transition in transitions.items():
        live = any(args[0] == identity and args[1] == transition["run"] for args in going)
        assert live or transition["status"] in ENDED, f"{transition} waits for nothing"


def running(picture: Picture) -> list[str]:
    return [key for key, found in picture.table("pcs.transitions").items() if found["status"] not in ENDED]


def check_reservations(picture: Picture, others: set[str]) -> None:
    """Without a transition under way nothing is reserved but what others reserved."""
    if running(picture):
        return
    now = picture.clock.now()
    for xname, found in picture.table("smd.reservations").items():
        live = found["expires"] is None or found["expires"] > now
        assert not live or found["key"] in others, f"{xname} stays reserved: {found}"


def check_successes(picture: Picture, seen: set[str]) -> None:
    """Of transitions that ended since: whoever succeeded was in the state that was asked for, as a poll could see."""
    outcomes = picture.table("pcs.outcomes")
    for identity, transition in picture.table("pcs.transitions").items():
        if identity in seen or transition["status"] not in ENDED:
            continue
        seen.add(identity)
        if transition["deadline"] != 0 and transition["operation"] in WANTED:
            for task in outcomes[identity]:
                if task["taskStatus"] == "succeeded":
                    _check_was(picture, task["xname"], WANTED[transition["operation"]], transition["created"])


def _check_was(picture: Picture, xname: str, wanted: str, created: float) -> None:
    part = picture.machine.part(xname)
    if part is None or part.type not in SWITCHED:
        return
    changes = [
        line for line in picture.lines() if line["target"] == xname and line["what"] in ("power-on", "power-off")
    ]
    late = [line["what"] for line in changes if moment(line) >= created - INTERVAL]
    states = {what.removeprefix("power-") for what in late}
    if len(late) < len(changes) or not changes:
        # What it was when the last poll before the transition looked.
        states.add({"power-on": "off", "power-off": "on"}[late[0]] if late else picture.power.state(xname))
    elif late:
        states.add({"power-on": "off", "power-off": "on"}[late[0]])
    assert wanted in states, f"{xname} was never {wanted}"


def check_locked(picture: Picture, locked: dict[str, int]) -> None:
    """``locked``: xname → the number of the log's last entry when it was locked."""
    for line in picture.site.log.after(min(locked.values(), default=picture.site.log.last), 100_000):
        if line["what"] == "power-order" and line["cause"].startswith("pcs"):
            since = locked.get(line["target"], line["number"])
            assert line["number"] <= since, f"{line['target']} was locked: {line}"


def check_ready(picture: Picture, excused: set[str], quiet_until: float) -> None:
    """HSM calls a node Ready that beats, or did so a short while ago."""
    components = picture.site.tables._tables["smd.components"]
    stopped = {line["target"]: moment(line) for line in picture.lines() if line["what"] == "boot-stage"}
    for part in picture.machine.parts("Node"):
        node = part.xname
        told = components.get(node)
        if told is None or told["State"] != "Ready" or node in excused or picture.boot.sends_heartbeats(node):
            continue
        since = max(stopped[node], quiet_until)
        assert picture.clock.now() - since <= BEATS_NO_MORE, f"{node} is {picture.boot.stage(node)}, and Ready"


def moment(line: dict[str, Any]) -> float:
    return datetime.fromisoformat(line["at"]).timestamp()
