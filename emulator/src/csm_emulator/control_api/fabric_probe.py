"""The control API's probes of the high-speed network: which NICs reach each other, and the real state of ports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from csm_emulator import nodesets
from csm_emulator.errors import EmulatorError, InvalidMachine, NotFound
from csm_emulator.machine.fabric.port_drift import VNIS
from csm_emulator.machine.fabric.reachability import ETHERNET, IP, VNI, Prober, ProbeRequest
from csm_emulator.machine.machine import Machine
from csm_emulator.records import Json, Record

MOST_GROUPS = 256
_PROBE_FIELDS = {"from", "to", "groups", "kind", "vlan", "vni"}
_TAGS = range(4096)
"""All 12-bit tags, also the reserved 0 and 4095, which a hostile node could send."""


def probe(machine: Machine, body: Mapping[str, Json]) -> Record:
    """The response to ``POST /fabric/probe``."""
    unknown = set(body) - _PROBE_FIELDS
    if unknown:
        raise InvalidMachine(
            f"a probe has no field {sorted(unknown)[0]}; its fields are {', '.join(sorted(_PROBE_FIELDS))}"
        )
    request = _read_request(body)
    prober = Prober(machine, request)
    request_fields = {"kind": request.kind, "vlan": request.vlan, "vni": request.vni}
    if "groups" in body:
        if "from" in body or "to" in body:
            raise InvalidMachine("a probe has either from and to, or groups, not both")
        return request_fields | prober.between(_groups(machine, body["groups"]))
    return request_fields | prober.pairs(find_nics(machine, body.get("from")), find_nics(machine, body.get("to")))


def _read_request(body: Mapping[str, Json]) -> ProbeRequest:
    kind = body.get("kind", ETHERNET)
    if kind not in (ETHERNET, IP, VNI):
        raise InvalidMachine(f"kind must be {ETHERNET}, {IP} or {VNI}, not {kind!r}")
    vlan, vni = body.get("vlan"), body.get("vni")
    if vlan is not None and not _is_in(vlan, _TAGS):
        raise InvalidMachine(f"vlan must be null or a number from 0 to {_TAGS[-1]}, not {vlan!r}")
    if kind == VNI and not _is_in(vni, VNIS):
        raise InvalidMachine(f"a probe of kind vni needs vni, a number from {VNIS[0]} to {VNIS[-1]}, not {vni!r}")
    return ProbeRequest(kind, None if kind == VNI else vlan, vni if kind == VNI else None)


def _is_in(value: object, numbers: range) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in numbers


def _groups(machine: Machine, groups: object) -> dict[str, list[str]]:
    if not isinstance(groups, dict) or not 1 <= len(groups) <= MOST_GROUPS:
        raise InvalidMachine(f"groups must be an object with 1 to {MOST_GROUPS} names and the nodes of each")
    return {name: find_nics(machine, members) for name, members in groups.items()}


def find_nics(machine: Machine, selection: object) -> list[str]:
    """The HSN NICs of a nodeset, or of a list of nodesets, of nodes and NICs, without duplicates."""
    texts = [selection] if isinstance(selection, str) else selection
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise InvalidMachine(
            "from, to and the values of groups must be nodesets of nodes or NICs, or lists of nodesets"
        )
    nics: dict[str, None] = {}
    for text in texts:
        try:
            names = [text] if machine.part(text) else nodesets.expand(text)
        except EmulatorError as error:
            raise InvalidMachine(error.message) from error
        for name in names:
            nics.update(dict.fromkeys(_nics_of(machine, name)))
    if not nics:
        raise InvalidMachine(f"{texts!r} has no NIC of the high-speed network")
    return list(nics)


def _nics_of(machine: Machine, name: str) -> Iterable[str]:
    if name in machine.fabric.plan.nics:
        return (name,)
    part = machine.part(name)
    if part is None or part.type != "Node":
        raise NotFound(f"this machine has no node and no NIC {name}")
    return [nic.xname for nic in machine.nics(name) if nic.network == "HSN"]


def describe_ports(machine: Machine, names: Sequence[str], *, differs: bool) -> list[Record]:
    """Real and intended state of switch ports; ``differs`` keeps those in which the two differ."""
    ports = []
    for name in names or machine.fabric.plan.ports:
        port = machine.fabric.describe(name)
        if port is None:
            raise NotFound(f"no switch has a port {name}; port names look like x1000c0r3j1p0")
        if not differs or port["effective"] != port["intended"]:
            ports.append(port)
    return ports
