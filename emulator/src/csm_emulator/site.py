"""Puts a machine and its faces together; the only place of the emulator that constructs things."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from csm_emulator import services as faces
from csm_emulator.cluster.cluster import APP, Cluster
from csm_emulator.cluster.pods import PodEvent
from csm_emulator.cluster.service_workloads import TFTP, WORKLOADS
from csm_emulator.context import Context, PublicAddresses
from csm_emulator.errors import Unavailable
from csm_emulator.fault_injection import AWAY, Answered, FaultInjection
from csm_emulator.machine.context import MachineContext
from csm_emulator.machine.faults.faults import EVERYTHING, Fault, Faults, names_in
from csm_emulator.machine.machine import Machine
from csm_emulator.machine.parts import Topology
from csm_emulator.node_agents import NodeAgents
from csm_emulator.nodes.consoles import Consoles
from csm_emulator.nodes.terminals import Terminals
from csm_emulator.records import Json
from csm_emulator.seed_data.secrets import node_password
from csm_emulator.state.blobs import Blobs
from csm_emulator.state.clock import Clock
from csm_emulator.state.event_log import EventLog
from csm_emulator.state.file import StateFile
from csm_emulator.state.random import SeededRandom
from csm_emulator.state.scheduler import Scheduler
from csm_emulator.state.tables import RecordTables
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.change_signal import ChangeSignal
from csm_emulator.transport.external_servers import ExternalServers, NoExternalServers
from csm_emulator.transport.mesh import Mesh
from csm_emulator.transport.routes import EmulatedService, Router

AT_ONCE = 500
"""So many things that are due are done before requests get a turn."""
REAL_TIME = 1.0
_SERVICES = {workload: [name for name, own in WORKLOADS.items() if own == workload] for workload in WORKLOADS.values()}
RESTART = 30.0
"""Virtual seconds that a service is away when it restarts."""


@dataclass(frozen=True, slots=True)
class Start:
    """How a machine begins; what its state says of time goes before."""

    topology: Topology
    seed: int = 1
    speed: float | None = None
    """As before, or real time, when not said."""
    moment: float | None = None
    """Where virtual time begins; now, when not said."""


class Site:
    """A machine with its services, in one process, without a network: what listeners and tests talk to."""

    def __init__(
        self,
        start: Start,
        kept: StateFile,
        post: Callable[[str, Json], None] | None = None,
        public_addresses: PublicAddresses | None = None,
        outside: ExternalServers | None = None,
    ) -> None:
        self.kept = kept
        self.tables = RecordTables(kept.rows())
        self._clock_shelf = self.tables.open("clock")
        self.clock = self._open_clock(start)
        self.random = SeededRandom(start.seed)
        self.log = EventLog(self.clock, kept)
        self.scheduler = Scheduler(self.tables, self.clock)
        self.faults = Faults(self.tables, self.random, self.log)
        means = MachineContext(self.clock, self.scheduler, self.tables, self.random, self.faults, self.log)
        self.machine = Machine(start.topology, means)
        self.mesh = Mesh(self.ask)
        consoles = Consoles(self.machine, self.clock, self.tables)
        self.context = Context(
            self.machine,
            self.clock,
            self.scheduler,
            self.tables,
            self.random,
            self.faults,
            self.log,
            self.mesh,
            post or _drop,
            outside or NoExternalServers(),
            Cluster(self.tables, self.clock, self.random),
            consoles,
            Terminals(self.machine, means, consoles, node_password(self.random)),
            Blobs(kept),
            ChangeSignal(),
            public_addresses or PublicAddresses(),
        )
        self.services: dict[str, EmulatedService] = {face.name: face for face in create_services(self.context)}
        self._routers = {name: Router(face.routes) for name, face in self.services.items()}
        self._trouble = FaultInjection(self.faults, self.services)
        self.machine.boot.boot_script = self._boot_script
        self.machine.boot.tftp_answers = lambda: self.context.cluster.runs(TFTP)
        self._agents = NodeAgents(self.context)
        self.scheduler.answer("service.back", self._service_back)
        self.faults.absent = self._absent
        self._without_pods = set(filter(self._absent, self.services))
        self.context.cluster.watch(self._hear_of_pod)

    def _open_clock(self, start: Start) -> Clock:
        known = self._clock_shelf.get("now", {"moment": start.moment, "speed": REAL_TIME})
        begin = time.time() if known["moment"] is None else known["moment"]
        return Clock(begin, known["speed"] if start.speed is None else start.speed, time.monotonic)

    def answer(self, service: str, call: Call) -> Answered:
        """One request to one service, with the faults of the wire."""
        face = self.services.get(service)
        if face is None:
            return Answered(AWAY)
        return self._trouble.lay_over(service, call, lambda asked: self._routers[service].answer(asked, face))

    def ask(self, service: str, call: Call) -> Reply:
        """The same as services inside the cluster see it."""
        answered = self.answer(service, call)
        return AWAY if answered.lost else answered.reply

    def catch_up(self) -> bool:
        """Do what is due by now; whether nothing is left.

        Time waits for a machine that cannot keep up: it never runs ahead of what was done.
        """
        return self._run_until(self.clock.reach())

    def go_towards(self, goal: float) -> bool:
        """Move time to this moment, or as far as one turn goes; whether it got there."""
        if not self._run_until(goal):
            return False
        self.clock.leap(max(goal, self.clock.reach()))
        return True

    def step(self, seconds: float) -> None:
        """Move time on, however much is to be done."""
        goal = self.clock.reach() + seconds
        while not self.go_towards(goal):
            pass

    def _run_until(self, moment: float) -> bool:
        self.scheduler.run(moment, AT_ONCE)
        undone = self.scheduler.next_moment()
        if undone is None or undone > moment:
            return True
        self.clock.leap(undone)
        return False

    def keep(self) -> None:
        """Write down what changed since the last time; raises ``Unavailable``, and tries again the next time."""
        troubles = [trouble for prepare in self.context.before_keep if (trouble := _tried(prepare))]
        self._clock_shelf["now"] = {"moment": self.clock.reach(), "speed": self.clock.speed}
        rows, entries = self.tables.take_changes(), self.log.take_unwritten()
        blobs = self.context.blobs.take_changes()
        try:
            self.kept.write(rows, entries, blobs)
        except Unavailable:
            self.tables.put_back(rows)
            self.log.put_back(entries)
            self.context.blobs.put_back(blobs)
            raise
        if troubles:
            raise troubles[0]

    def close(self) -> None:
        """Everything that follows this machine ends."""
        self.context.change_signal.end()
        for tidy in self.context.at_end:
            tidy()

    def set_fault(self, fault: Fault) -> Fault:
        """Some faults are more than a thing to be asked for."""
        if fault.kind == "token-expiry":
            # Tokens live by the clocks of those who carry them.
            fault = replace(fault, facts={"before": time.time(), **fault.facts})
        fault = self.faults.set(fault)
        if fault.kind == "service-restart":
            self.scheduler.after(float(fault.facts.get("seconds", RESTART)), "service.back", fault.id)
        return fault

    def clear_fault(self, fault_id: str) -> Fault:
        """A service that was away comes back, and knows nothing of what it had in mind."""
        fault = self.faults.clear(fault_id)
        if fault.kind != "service-restart":
            return fault
        targets = names_in(fault)
        for name, face in self.services.items():
            if face.restarted and (EVERYTHING in targets or name in targets):
                face.restarted()
        return fault

    def _service_back(self, fault_id: str) -> None:
        if any(fault.id == fault_id for fault in self.faults):
            self.clear_fault(fault_id)

    def _absent(self, service: str) -> bool:
        workload = WORKLOADS.get(service)
        return workload is not None and not self.context.cluster.runs(workload)

    def _hear_of_pod(self, event: PodEvent) -> None:
        """A service ends with its last pod; when one runs again, it knows nothing of what that one had in mind."""
        workload = (event.pod.namespace, event.pod.labels.get(APP, ""))
        for service in _SERVICES.get(workload, ()):
            absent, face = self._absent(service), self.services[service]
            if absent == (service in self._without_pods):
                continue
            if absent:
                self._without_pods.add(service)
            else:
                self._without_pods.discard(service)
            told = face.stopped if absent else face.restarted
            if told:
                told()

    def _boot_script(self, node: str) -> str | None:
        nic = next((nic for nic in self.machine.nics(node) if nic.network == "NMN"), None)
        if nic is None:
            return None
        reply = self.mesh.ask("bss", "GET", f"/boot/v1/bootscript?mac={nic.mac}", peer=nic.address)
        return reply.body.decode() if reply.ok else None


def _tried(prepare: Callable[[], None]) -> Unavailable | None:
    """What came of it: the rest is written all the same."""
    try:
        prepare()
    except Unavailable as trouble:
        return trouble
    return None


def _drop(url: str, body: Json) -> None:
    """Without a network nobody hears of it."""


def create_services(context: Context) -> Iterable[EmulatedService]:
    """Every folder of ``services`` that has a ``routes.py``, in the order of their names."""
    for found in pkgutil.iter_modules(faces.__path__, f"{faces.__name__}."):
        name = f"{found.name}.routes"
        if importlib.util.find_spec(name) is not None:
            yield importlib.import_module(name).create_service(context)
