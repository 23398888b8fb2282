"""Any sequence of requests to the services, with faults, waits and restarts: the invariants hold, and no work stays
half done.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import site_invariants
from csm_emulator.machine.faults.faults import Fault
from csm_emulator.machine.power import SWITCHED
from csm_emulator.machine.topology import catalog as topologies
from csm_emulator.services.pcs.component_types import OPERATIONS
from csm_emulator.services.pcs.power_status.polling import INTERVAL
from csm_emulator.site import Site, StartOptions
from csm_emulator.state.file import StateFile
from csm_emulator.transport.call import Call, Reply
from site_invariants import SiteView

TINY = topologies.load("tiny")
MOMENT = 1_800_000_000.0
# Fewer names than parts, so that actions meet at the same parts more often.
NODES = ("x1000c0s0b0n0", "x1000c0s0b0n1", "x1000c0s0b1n0", "x1000c0s1b0n0")
PARTS = (*NODES, "x1000c0s0", "x1000c0s1", "x1000c0", "x1000c0s0b0", "x3000m0p0v1", "x9999c0s0b0n0")
TOUCHED = "x3000c0s1b0n0"
"""The node whose state clients set themselves."""
THERE = [xname for xname in PARTS if xname in TINY.parts]
HARDWARE = [
    *(("no-power-on", xname) for xname in THERE if TINY.parts[xname].type in SWITCHED),
    *(("boot-hangs", node) for node in NODES),
    *((kind, xname) for kind in ("bmc-unreachable", "pcs-failure", "stale-inventory") for xname in THERE),
]
WIRE = ("server-error", "service-restart", "doubled-response")
SERVICES = ("smd", "pcs", "hbtd", "bss")
nodes = st.lists(st.sampled_from(NODES), min_size=1, max_size=3, unique=True)
parts = st.lists(st.sampled_from(PARTS), min_size=1, max_size=4, unique=True)
RESERVATIONS = "/hsm/v2/locks/service/reservations"


class ServiceSequences(RuleBasedStateMachine):
    site: Site

    @initialize(seed=st.integers(0, 2))
    def open(self, seed: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="canton-site-"))
        self.start = StartOptions(TINY, seed, 0.0, MOMENT)
        self.transitions: list[str] = []
        self.keys: dict[str, dict[str, str]] = {}
        self.all_keys: set[str] = set()
        self.seen: set[str] = set()
        self.locked: dict[str, int] = {}
        self.lent: set[str] = set()
        self.excused = {TOUCHED}
        self.quiet_until = 0.0
        self._enter()

    def _enter(self) -> None:
        self.kept = StateFile(self.folder / "state")
        self.site = Site(self.start, self.kept)
        self.view = SiteView(self.site)

    def ask(self, service: str, method: str, path: str, body: Any = None) -> Reply:
        path, _, query = path.partition("?")
        pairs = tuple((name, value) for name, _, value in (pair.partition("=") for pair in query.split("&") if pair))
        data = b"" if body is None else json.dumps(body).encode()
        reply = self.site.ask(service, Call(method, path, pairs, {"content-type": "application/json"}, data, "::1"))
        if "json" in reply.media and reply.body:
            json.loads(reply.body.decode("utf-8"), parse_constant=_no_json)
        return reply

    @rule(label=st.sampled_from("ab"), ids=parts, exclusive=st.booleans())
    def make_a_group(self, label: str, ids: list[str], exclusive: bool) -> None:
        """All of it or nothing."""
        body = {"label": label, "members": {"ids": ids}} | ({"exclusiveGroup": "x"} if exclusive else {})
        groups_before = self.view.table("smd.groups")
        doubled = self.smd_is_doubled()
        reply = self.ask("smd", "POST", "/hsm/v2/groups", body)
        groups_after = self.view.table("smd.groups")
        if reply.status == 201:
            assert set(groups_after[label]["members"]["ids"]) == set(ids)
        else:
            assert groups_after == groups_before or doubled, reply.body

    @rule(label=st.sampled_from("ab"), xname=st.sampled_from(PARTS), method=st.sampled_from(["POST", "DELETE"]))
    def change_a_group(self, label: str, xname: str, method: str) -> None:
        if method == "POST":
            self.ask("smd", "POST", f"/hsm/v2/groups/{label}/members", {"id": xname})
        else:
            self.ask("smd", "DELETE", f"/hsm/v2/groups/{label}/members/{xname}")

    @rule(label=st.sampled_from("ab"))
    def drop_a_group(self, label: str) -> None:
        self.ask("smd", "DELETE", f"/hsm/v2/groups/{label}")

    @rule(what=st.sampled_from(["lock", "unlock", "disable", "repair"]), ids=nodes)
    def lock(self, what: str, ids: list[str]) -> None:
        body = {"ComponentIDs": ids, "ProcessingModel": "flexible"}
        reply = self.ask("smd", "POST", f"/hsm/v2/locks/{what}", body)
        for xname in reply.json()["Success"]["ComponentIDs"] if reply.ok else ():
            if what == "lock":
                self.locked[xname] = self.site.log.last
            elif what == "unlock":
                self.locked.pop(xname, None)

    @rule(ids=nodes, more_ids=nodes, operation=st.sampled_from(["Force-Off", "Init", "On"]))
    def power_what_is_locked(self, ids: list[str], more_ids: list[str], operation: str) -> None:
        self.lock("lock", ids)
        self.power(operation, more_ids, None, False)
        self.wait(20.0)

    def smd_is_doubled(self) -> bool:
        return any(fault.kind == "doubled-response" and fault.targets == "smd" for fault in self.site.faults)

    # The first answer to a duplicated request is lost, and the keys with it.
    @precondition(lambda self: not self.smd_is_doubled())
    @rule(ids=nodes, minutes=st.sampled_from([1, 5, 15]))
    def reserve(self, ids: list[str], minutes: int) -> None:
        body = {"ComponentIDs": ids, "ProcessingModel": "flexible", "ReservationDuration": minutes}
        reply = self.ask("smd", "POST", RESERVATIONS, body)
        for reservation in (reply.json().get("Success") or ()) if reply.ok else ():
            self.keys[reservation["ID"]] = reservation
            self.all_keys.add(reservation["ReservationKey"])

    @precondition(lambda self: bool(self.keys))
    @rule(which=st.integers(0, 9), what=st.sampled_from(["release", "renew"]))
    def use_a_reservation(self, which: int, what: str) -> None:
        reservation = list(self.keys.values())[which % len(self.keys)]
        keys = [{"ID": reservation["ID"], "Key": reservation["ReservationKey"]}]
        self.ask("smd", "POST", f"{RESERVATIONS}/{what}", {"ReservationKeys": keys, "ProcessingModel": "flexible"})

    @rule(enabled=st.booleans(), ids=nodes)
    def enable(self, enabled: bool, ids: list[str]) -> None:
        self.ask("smd", "PATCH", "/hsm/v2/State/Components/BulkEnabled", {"ComponentIDs": ids, "Enabled": enabled})

    @rule(state=st.sampled_from(["Ready", "Standby", "On", "Off", "Halt", "Populated"]), force=st.booleans())
    def set_states(self, state: str, force: bool) -> None:
        body = {"ComponentIDs": [TOUCHED], "State": state, "Flag": "OK", "Force": force}
        self.ask("smd", "PATCH", "/hsm/v2/State/Components/BulkStateData", body)

    @rule(
        operation=st.sampled_from(sorted(OPERATIONS)),
        ids=parts,
        deadline=st.sampled_from([None, 0, 1, 5]),
        with_deputy_key=st.booleans(),
    )
    def power(self, operation: str, ids: list[str], deadline: int | None, with_deputy_key: bool) -> None:
        if with_deputy_key:
            # A client with a deputy key may act on a locked component.
            self.lent.update(ids)
        location = [{"xname": xname} | self._deputy(xname, with_deputy_key) for xname in ids]
        body = {"operation": operation, "location": location, "taskDeadlineMinutes": deadline}
        reply = self.ask("pcs", "POST", "/v1/transitions", body)
        if reply.status == 200:
            self.transitions.append(reply.json()["transitionID"])

    def _deputy(self, xname: str, with_deputy_key: bool) -> dict[str, str]:
        return {"deputyKey": self.keys[xname]["DeputyKey"]} if with_deputy_key and xname in self.keys else {}

    @rule(
        operation=st.sampled_from(["On", "Off", "Soft-Restart", "Init"]),
        ids=nodes,
        kind=st.sampled_from(["service-restart", "server-error"]),
        service=st.sampled_from(["pcs", "smd", "smd, pcs"]),
        seconds=st.sampled_from([0.5, 10.0, 20.0, 31.0]),
        mended=st.booleans(),
    )
    def power_in_trouble(
        self, operation: str, ids: list[str], kind: str, service: str, seconds: float, mended: bool
    ) -> None:
        self.power(operation, ids, None, False)
        self.wait(seconds)
        self._fault(kind, service, None, 1.0)
        self.wait(seconds)
        if mended and any(self.site.faults):
            self.repair(-1)

    @precondition(lambda self: bool(site_invariants.running(self.view)) and not any(self.site.faults))
    @rule()
    def follow(self) -> None:
        """All reservations end with the last transition."""
        for _ in range(1000):
            if not site_invariants.running(self.view):
                site_invariants.check_reservations(self.view, self.all_keys)
                return
            self.site.step(5.0)

    @precondition(lambda self: bool(self.transitions))
    @rule(which=st.integers(0, 30), method=st.sampled_from(["GET", "DELETE"]))
    def look_at_a_transition(self, which: int, method: str) -> None:
        reply = self.ask("pcs", method, f"/v1/transitions/{self.transitions[which % len(self.transitions)]}")
        if method == "GET" and reply.status == 200:
            record = reply.json()
            assert record["taskCounts"]["total"] == sum(
                n for name, n in record["taskCounts"].items() if name != "total"
            )
            assert record["taskCounts"]["total"] == len(record.get("tasks", ()))

    @rule(ids=parts, watts=st.sampled_from([0, 1, 350, 100_000]))
    def cap(self, ids: list[str], watts: int) -> None:
        controls = [{"name": "Node Power Limit", "value": watts}]
        body = {"components": [{"xname": xname, "controls": controls} for xname in ids]}
        self.ask("pcs", "PATCH", "/v1/power-cap", body)
        self.ask("pcs", "POST", "/v1/power-cap/snapshot", {"xnames": ids})

    @rule(ids=nodes, method=st.sampled_from(["PUT", "POST", "PATCH", "DELETE"]), kernel=st.sampled_from(["", "s3://k"]))
    def set_boot_parameters(self, ids: list[str], method: str, kernel: str) -> None:
        body = {"hosts": ids, "kernel": kernel, "params": "quiet   || goto nowhere"}
        self.ask("bss", method, "/boot/v1/bootparameters", body)

    @rule(xname=st.sampled_from([TOUCHED, "x9999c0s0b0n0"]))
    def beat(self, xname: str) -> None:
        self.ask("hbtd", "POST", f"/hmi/v1/heartbeat/{xname}", {"Status": "OK", "TimeStamp": "now"})

    @rule(ids=nodes)
    def read_controllers(self, ids: list[str]) -> None:
        bmcs = [xname.rpartition("n")[0] for xname in ids]
        self.ask("scsd", "POST", "/v1/bmc/dumpcfg", {"Force": True, "Targets": bmcs, "Params": ["NTPServerInfo"]})
        self.ask("fas", "POST", "/v1/snapshots", {"name": "s", "stateComponentFilter": {"xnames": bmcs}})

    @rule(
        path=st.sampled_from(
            ["smd /hsm/v2/State/Components", "pcs /v1/power-status", "pcs /v1/transitions", "smd /hsm/v2/locks/status"]
        )
    )
    def read(self, path: str) -> None:
        service, _, path = path.partition(" ")
        self.ask(service, "GET", path)

    @rule(
        fault=st.sampled_from(HARDWARE),
        remaining=st.none() | st.integers(1, 3),
        probability=st.sampled_from([1.0, 0.5]),
    )
    def break_hardware(self, fault: tuple[str, str], remaining: int | None, probability: float) -> None:
        kind, xname = fault
        self._fault(kind, xname, remaining, probability)
        if kind == "stale-inventory":
            self.excused.add(xname)

    @rule(kind=st.sampled_from(WIRE), service=st.sampled_from(SERVICES), remaining=st.none() | st.integers(1, 4))
    def break_the_wire(self, kind: str, service: str, remaining: int | None) -> None:
        self._fault(kind, service, None if kind == "service-restart" else remaining, 1.0)

    def _fault(self, kind: str, targets: str, remaining: int | None, probability: float) -> None:
        self.site.set_fault(Fault(self.site.faults.new_id(), kind, targets, probability, remaining))

    @precondition(lambda self: any(self.site.faults))
    @rule(which=st.integers(0, 20))
    def repair(self, which: int) -> None:
        faults = list(self.site.faults)
        self._note_trouble()
        self.site.clear_fault(faults[which % len(faults)].id)

    @rule(seconds=st.sampled_from([0.0, 1.0, 14.9, 30.0, 61.0, 130.0, 600.0]) | st.floats(0, 200))
    def wait(self, seconds: float) -> None:
        self._note_trouble()
        self.site.step(seconds)
        self._note_trouble()

    def _note_trouble(self) -> None:
        """Services that cannot reach one another are late."""
        if any(fault.kind in WIRE or fault.kind == "bmc-unreachable" for fault in self.site.faults):
            self.quiet_until = self.site.clock.now()

    @rule()
    def open_again(self) -> None:
        """A restart leaves everything as it was."""
        self.site.save()
        contents, lines, now = self.view.contents(), self.view.lines(), self.site.clock.now()
        self.kept.close()
        self._enter()
        assert self.view.contents() == contents
        assert self.view.lines() == lines
        assert self.site.clock.now() == now

    @rule()
    def settle(self) -> None:
        """Without faults all work ends within two hours."""
        for fault in list(self.site.faults):
            self.site.clear_fault(fault.id)
        self._note_trouble()
        self.quiet_until = self.site.clock.now()
        self.site.step(7200.0)
        assert site_invariants.running(self.view) == []
        assert self.view.due("pcs.run-phase") == []
        site_invariants.check_ready(self.view, self.excused, 0.0)

    @invariant()
    def invariants_hold(self) -> None:
        if not hasattr(self, "site"):
            return
        site_invariants.check_machine(self.view)
        site_invariants.check_scheduler(self.view)
        site_invariants.check_successes(self.view, self.seen)
        site_invariants.check_ready(self.view, self.excused, self.quiet_until)
        site_invariants.check_locked(self.view, {x: since for x, since in self.locked.items() if x not in self.lent})
        if self.site.clock.now() - self.quiet_until > INTERVAL * 3:
            site_invariants.check_reservations(self.view, self.all_keys)

    def teardown(self) -> None:
        if hasattr(self, "site"):
            self.settle()
            self.invariants_hold()
            self.kept.close()
            shutil.rmtree(self.folder)


def _no_json(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


TestServiceSequences = ServiceSequences.TestCase
TestServiceSequences.settings = settings(max_examples=15, stateful_step_count=40, deadline=None)
