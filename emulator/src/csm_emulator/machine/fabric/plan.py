"""The planned high-speed network: switches, their ports, and the planned end of each cable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from csm_emulator.machine.parts import Nic, Topology


@dataclass(frozen=True, slots=True)
class PlannedSwitch:
    xname: str
    """A RouterModule."""
    group: int
    number: int

    @property
    def controller(self) -> str:
        return f"{self.xname}b0"


@dataclass(frozen=True, slots=True)
class PlannedPort:
    xname: str
    switch: PlannedSwitch
    number: int
    end: str
    """The planned other end: a NIC, or a port of another switch; empty for an unused port."""
    edge: bool
    """Whether the planned other end is a NIC."""

    @property
    def dfa(self) -> int:
        """The port's address in the fabric (DFA)."""
        return self.switch.group << 23 | self.switch.number << 18 | self.number << 12


class FabricPlan:
    def __init__(self, topology: Topology) -> None:
        self.nics: dict[str, Nic] = {nic.xname: nic for nic in topology.nics if nic.network == "HSN"}
        self.switches = {xname: PlannedSwitch(xname, *numbers) for xname, numbers in topology.switches.items()}
        self.ports: dict[str, PlannedPort] = {}
        self.port_of: dict[str, str] = {}
        """By NIC."""
        self._by_switch: dict[str, list[PlannedPort]] = {}
        for cable in topology.cables:
            edge = cable.end in self.nics
            self._add(cable.port, cable.end, edge=edge)
            if edge:
                self.port_of[cable.end] = cable.port
            else:
                self._add(cable.end, cable.port, edge=False)
        for ports in self._by_switch.values():
            ports.sort(key=lambda port: port.number)
        self._by_dfa: dict[int, PlannedPort] | None = None

    def _add(self, port: str, end: str, *, edge: bool) -> None:
        planned_port = self._plan_port(port, end, edge=edge)
        if planned_port is not None:
            self.ports[port] = planned_port
            self._by_switch.setdefault(planned_port.switch.xname, []).append(planned_port)

    def _plan_port(self, port: str, end: str, *, edge: bool) -> PlannedPort | None:
        switch, _, jack = port.partition("j")
        planned_switch = self.switches.get(switch)
        number = _port_number(jack)
        return (
            None if planned_switch is None or number is None else PlannedPort(port, planned_switch, number, end, edge)
        )

    def ports_of(self, switch: str) -> Sequence[PlannedPort]:
        """The ports with a cable, ordered by number."""
        return self._by_switch.get(switch, ())

    def find(self, port: str) -> PlannedPort | None:
        """A port by name, also one without a planned cable; None if no switch has it."""
        planned_port = self.ports.get(port)
        return self._plan_port(port, "", edge=False) if planned_port is None else planned_port

    def edge_port_with(self, dfa: int) -> PlannedPort | None:
        if self._by_dfa is None:
            self._by_dfa = {port.dfa: port for port in self.ports.values() if port.edge}
        return self._by_dfa.get(dfa)


PORTS = 64


def _port_number(jack: str) -> int | None:
    """5 of ``3p1``: two ports to a jack, the first is ``1p0``."""
    jack_number, _, side = jack.partition("p")
    if not (jack_number.isascii() and jack_number.isdecimal() and side in ("0", "1") and len(jack_number) <= 2):
        return None
    number = (int(jack_number) - 1) * 2 + int(side)
    return number if 0 <= number < PORTS and jack_number == str(int(jack_number)) else None
