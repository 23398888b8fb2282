"""Constructs a machine with its services: with ``context.py``, where the objects of the emulator are wired together."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypedDict

from csm_emulator import services
from csm_emulator.cluster.cluster import APP, Cluster
from csm_emulator.cluster.pods import PodEvent
from csm_emulator.cluster.service_workloads import TFTP, WORKLOADS
from csm_emulator.context import Context, PublicAddresses
from csm_emulator.errors import Unavailable
from csm_emulator.machine.faults.faults import ALL_TARGETS, Fault, Faults, names_in
from csm_emulator.machine.parts import Topology
from csm_emulator.node_agents import NodeAgents
from csm_emulator.records import Json
from csm_emulator.state.blobs import Blobs
from csm_emulator.state.clock import Clock
from csm_emulator.state.event_log import EventLog
from csm_emulator.state.file import StateFile
from csm_emulator.state.random import SeededRandom
from csm_emulator.state.scheduler import Scheduler
from csm_emulator.state.tables import RecordTable, RecordTables
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.change_signal import ChangeSignal
from csm_emulator.transport.external_servers import ExternalServers, NoExternalServers
from csm_emulator.transport.mesh import Mesh
from csm_emulator.transport.routes import EmulatedService, Router
from csm_emulator.transport_faults import CONNECTION_FAILURE, FaultInjection, ReplyWithFaults

ACTIONS_PER_TURN = 500
"""Due actions that are carried out before requests get a turn."""
REAL_TIME = 1.0
_SERVICES = {workload: [name for name, own in WORKLOADS.items() if own == workload] for workload in WORKLOADS.values()}
RESTART = 30.0
"""Virtual seconds for which a restarting service is down."""


@dataclass(frozen=True, slots=True)
class StartOptions:
    """How to start a machine; the time in its state file takes precedence over ``moment``."""

    topology: Topology
    seed: int = 1
    speed: float | None = None
    """Speed of virtual time; None is the saved speed, or real time."""
    moment: float | None = None
    """Where virtual time begins, in seconds since 1970; None is now."""


class SavedClock(TypedDict):
    moment: float | None
    """None before the first save: virtual time begins now."""
    speed: float


class Site:
    """A machine with its services, without a network; listeners and tests call it."""

    def __init__(
        self,
        start: StartOptions,
        state_file: StateFile,
        post: Callable[[str, Json], None] | None = None,
        public_addresses: PublicAddresses | None = None,
        external_servers: ExternalServers | None = None,
    ) -> None:
        self.state_file = state_file
        self.tables = RecordTables(state_file.rows())
        self._clock_table: RecordTable[SavedClock] = self.tables.open("clock")
        self.clock = self._open_clock(start)
        self.random = SeededRandom(start.seed)
        self.log = EventLog(self.clock, state_file)
        self.scheduler = Scheduler(self.tables, self.clock)
        self.faults = Faults(self.tables, self.random, self.log)
        self.mesh = Mesh(self.ask)
        self.context = Context(
            clock=self.clock,
            scheduler=self.scheduler,
            tables=self.tables,
            random=self.random,
            faults=self.faults,
            log=self.log,
            topology=start.topology,
            mesh=self.mesh,
            post=post or _drop,
            external_servers=external_servers or NoExternalServers(),
            cluster=Cluster(self.tables, self.clock, self.random),
            blobs=Blobs(state_file),
            change_signal=ChangeSignal(),
            public_addresses=public_addresses or PublicAddresses(),
        )
        self.machine = self.context.machine
        self.services: dict[str, EmulatedService] = {service.name: service for service in create_services(self.context)}
        self._routers = {name: Router(service.routes) for name, service in self.services.items()}
        self._fault_injection = FaultInjection(self.faults, self.services)
        self.machine.boot.boot_script = self._boot_script
        self.machine.boot.tftp_answers = lambda: self.context.cluster.runs(TFTP)
        self._agents = NodeAgents(self.context)
        self.scheduler.register("service.back", self._service_back)
        self.faults.absent = self._absent
        self._without_pods = set(filter(self._absent, self.services))
        self.context.cluster.watch(self._on_pod_event)

    def _open_clock(self, start: StartOptions) -> Clock:
        saved = self._clock_table.get("now", SavedClock(moment=start.moment, speed=REAL_TIME))
        begin = time.time() if saved["moment"] is None else saved["moment"]
        return Clock(begin, saved["speed"] if start.speed is None else start.speed, time.monotonic)

    def answer(self, name: str, call: Call) -> ReplyWithFaults:
        """The response of one service to a request, with injected faults."""
        service = self.services.get(name)
        if service is None:
            return ReplyWithFaults(CONNECTION_FAILURE)
        return self._fault_injection.apply(name, call, lambda call: self._routers[name].answer(call, service))

    def ask(self, service: str, call: Call) -> Reply:
        """The response as another service in the cluster gets it."""
        outcome = self.answer(service, call)
        return CONNECTION_FAILURE if outcome.lost else outcome.reply

    def catch_up(self) -> bool:
        """Carries out the actions that are due; returns whether none is left.

        Virtual time waits when the emulator cannot keep up: it never passes an action that is due.
        """
        return self._run_until(self.clock.unheld_now())

    def advance_towards(self, goal: float) -> bool:
        """Moves time towards a moment, as far as one turn goes; returns whether it got there."""
        if not self._run_until(goal):
            return False
        self.clock.jump_to(max(goal, self.clock.unheld_now()))
        return True

    def step(self, seconds: float) -> None:
        """Moves time forward by these seconds, in as many turns as it takes."""
        goal = self.clock.unheld_now() + seconds
        while not self.advance_towards(goal):
            pass

    def _run_until(self, moment: float) -> bool:
        self.scheduler.run(moment, ACTIONS_PER_TURN)
        next_moment = self.scheduler.next_moment()
        if next_moment is None or next_moment > moment:
            return True
        self.clock.jump_to(next_moment)
        return False

    def save(self) -> None:
        """Writes the changes since the last call to the state file.

        Raises ``Unavailable``; the changes are then written by the next call.
        """
        errors = [error for prepare in self.context.before_save if (error := _unavailable_error(prepare))]
        self._clock_table["now"] = {"moment": self.clock.unheld_now(), "speed": self.clock.speed}
        rows, entries = self.tables.take_changes(), self.log.take_unwritten()
        blobs = self.context.blobs.take_changes()
        try:
            self.state_file.write(rows, entries, blobs)
        except Unavailable:
            self.tables.put_back(rows)
            self.log.put_back(entries)
            self.context.blobs.put_back(blobs)
            raise
        if errors:
            raise errors[0]

    def close(self) -> None:
        """Ends watches and followed logs, and closes what services have open."""
        self.context.change_signal.close()
        for tidy in self.context.on_close:
            tidy()

    def set_fault(self, fault: Fault) -> Fault:
        """Sets a fault, with the effects that are not in the machine: expired tokens and restarting services."""
        if fault.kind == "token-expiry":
            # Tokens expire in real time, which their clients' clocks show.
            fault = replace(fault, facts={"before": time.time(), **fault.facts})
        fault = self.faults.set(fault)
        if fault.kind == "service-restart":
            self.scheduler.after(float(fault.facts.get("seconds", RESTART)), "service.back", fault.id)
        return fault

    def clear_fault(self, fault_id: str) -> Fault:
        """Clears a fault; a service that was restarting comes back and has lost what it kept in memory."""
        fault = self.faults.clear(fault_id)
        if fault.kind != "service-restart":
            return fault
        targets = names_in(fault)
        for name, service in self.services.items():
            if service.restarted and (ALL_TARGETS in targets or name in targets):
                service.restarted()
        return fault

    def _service_back(self, fault_id: str) -> None:
        if any(fault.id == fault_id for fault in self.faults):
            self.clear_fault(fault_id)

    def _absent(self, service: str) -> bool:
        workload = WORKLOADS.get(service)
        return workload is not None and not self.context.cluster.runs(workload)

    def _on_pod_event(self, event: PodEvent) -> None:
        """A service stops with its last pod; with the next pod it starts, having lost what it kept in memory."""
        workload = (event.pod.namespace, event.pod.labels.get(APP, ""))
        for name in _SERVICES.get(workload, ()):
            absent, service = self._absent(name), self.services[name]
            if absent == (name in self._without_pods):
                continue
            if absent:
                self._without_pods.add(name)
            else:
                self._without_pods.discard(name)
            callback = service.stopped if absent else service.restarted
            if callback:
                callback()

    def _boot_script(self, node: str) -> str | None:
        nic = next((nic for nic in self.machine.nics(node) if nic.network == "NMN"), None)
        if nic is None:
            return None
        reply = self.mesh.ask("bss", "GET", f"/boot/v1/bootscript?mac={nic.mac}", peer=nic.address)
        return reply.body.decode() if reply.ok else None


def _unavailable_error(prepare: Callable[[], None]) -> Unavailable | None:
    """The error of one preparation, if any: the rest is written nevertheless."""
    try:
        prepare()
    except Unavailable as error:
        return error
    return None


def _drop(url: str, body: Json) -> None:
    """Drops the notice: without a network there is no subscriber."""


def create_services(context: Context) -> Iterable[EmulatedService]:
    """The service of each package in ``services`` that has a ``routes`` module, in the order of names."""
    for module in pkgutil.iter_modules(services.__path__, f"{services.__name__}."):
        name = f"{module.name}.routes"
        if importlib.util.find_spec(name) is not None:
            yield importlib.import_module(name).create_service(context)
