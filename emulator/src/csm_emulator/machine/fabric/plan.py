"""The planned high-speed network: switches, their ports, and the planned end of each cable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from csm_emulator.machine.parts import Nic, Topology


@dataclass(frozen=True, slots=True)
class SwitchPlace:
    xname: str
    """A RouterModule."""
    group: int
    number: int

    @property
    def controller(self) -> str:
        return f"{self.xname}b0"


@dataclass(frozen=True, slots=True)
class PortPlace:
    xname: str
    switch: SwitchPlace
    number: int
    end: str
    """The planned other end: a NIC, or a port of another switch; empty for an unused port."""
    edge: bool
    """Whether that is a NIC."""

    @property
    def dfa(self) -> int:
        """The port's address in the fabric (DFA)."""
        return self.switch.group << 23 | self.switch.number << 18 | self.number << 12


class Plan:
    def __init__(self, topology: Topology) -> None:
        self.nics: dict[str, Nic] = {nic.xname: nic for nic in topology.nics if nic.network == "HSN"}
        self.switches = {xname: SwitchPlace(xname, *place) for xname, place in topology.switches.items()}
        self.ports: dict[str, PortPlace] = {}
        self.port_of: dict[str, str] = {}
        """By NIC."""
        self._by_switch: dict[str, list[PortPlace]] = {}
        for cable in topology.cables:
            edge = cable.end in self.nics
            self._add(cable.port, cable.end, edge=edge)
            if edge:
                self.port_of[cable.end] = cable.port
            else:
                self._add(cable.end, cable.port, edge=False)
        for ports in self._by_switch.values():
            ports.sort(key=lambda port: port.number)
        self._by_dfa: dict[int, PortPlace] | None = None

    def _add(self, port: str, end: str, *, edge: bool) -> None:
        place = self._place(port, end, edge=edge)
        if place is not None:
            self.ports[port] = place
            self._by_switch.setdefault(place.switch.xname, []).append(place)

    def _place(self, port: str, end: str, *, edge: bool) -> PortPlace | None:
        switch, _, jack = port.partition("j")
        place = self.switches.get(switch)
        number = _number(jack)
        return None if place is None or number is None else PortPlace(port, place, number, end, edge)

    def ports_of(self, switch: str) -> Sequence[PortPlace]:
        """The ports with a cable, ordered by number."""
        return self._by_switch.get(switch, ())

    def find(self, port: str) -> PortPlace | None:
        """A port by name, also one without a planned cable; None if no switch has it."""
        place = self.ports.get(port)
        return self._place(port, "", edge=False) if place is None else place

    def edge_port_with(self, dfa: int) -> PortPlace | None:
        if self._by_dfa is None:
            self._by_dfa = {port.dfa: port for port in self.ports.values() if port.edge}
        return self._by_dfa.get(dfa)


PORTS = 64


def _number(jack: str) -> int | None:
    """5 of ``3p1``: two ports to a jack, the first is ``1p0``."""
    which, _, side = jack.partition("p")
    if not (which.isascii() and which.isdecimal() and side in ("0", "1") and len(which) <= 2):
        return None
    number = (int(which) - 1) * 2 + int(side)
    return number if 0 <= number < PORTS and which == str(int(which)) else None
