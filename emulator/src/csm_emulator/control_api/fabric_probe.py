"""The side channel's questions about the high-speed network: who reaches whom, and what do ports really do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from csm_emulator import nodesets
from csm_emulator.errors import EmulatorError, InvalidMachine, NotFound
from csm_emulator.machine.fabric.port_drift import VNIS
from csm_emulator.machine.fabric.reachability import ETHERNET, IP, VNI, Prober, ProbeRequest
from csm_emulator.machine.machine import Machine

MOST_GROUPS = 256
_PROBE_FIELDS = {"from", "to", "groups", "kind", "vlan", "vni"}
_TAGS = range(4096)
"""What fits into a tag: also what no VLAN may be, as a hostile node would send it."""


def probe(machine: Machine, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What ``POST /fabric/probe`` answers."""
    unknown = set(asked) - _PROBE_FIELDS
    if unknown:
        raise InvalidMachine(f"a probe has no {sorted(unknown)[0]}; it has {', '.join(sorted(_PROBE_FIELDS))}")
    question = _question(asked)
    prober = Prober(machine, question)
    told = {"kind": question.kind, "vlan": question.vlan, "vni": question.vni}
    if "groups" in asked:
        if "from" in asked or "to" in asked:
            raise InvalidMachine("a probe is from= and to=, or between groups=, not both")
        return told | prober.between(_groups(machine, asked["groups"]))
    return told | prober.pairs(find_nics(machine, asked.get("from")), find_nics(machine, asked.get("to")))


def _question(asked: Mapping[str, Any]) -> ProbeRequest:
    kind = asked.get("kind", ETHERNET)
    if kind not in (ETHERNET, IP, VNI):
        raise InvalidMachine(f"a probe is of the kind {ETHERNET}, {IP} or {VNI}, not {kind!r}")
    vlan, vni = asked.get("vlan"), asked.get("vni")
    if vlan is not None and not _is_in(vlan, _TAGS):
        raise InvalidMachine(f"vlan must be null or a number from 0 to {_TAGS[-1]}, not {vlan!r}")
    if kind == VNI and not _is_in(vni, VNIS):
        raise InvalidMachine(f"a probe of the kind vni needs vni, a number from {VNIS[0]} to {VNIS[-1]}, not {vni!r}")
    return ProbeRequest(kind, None if kind == VNI else vlan, vni if kind == VNI else None)


def _is_in(value: object, numbers: range) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in numbers


def _groups(machine: Machine, asked: object) -> dict[str, list[str]]:
    if not isinstance(asked, dict) or not 1 <= len(asked) <= MOST_GROUPS:
        raise InvalidMachine(f"groups must be an object of 1 to {MOST_GROUPS} names, each with its nodes")
    return {name: find_nics(machine, members) for name, members in asked.items()}


def find_nics(machine: Machine, asked: object) -> list[str]:
    """The HSN NICs that nodesets of nodes and NICs stand for, each once."""
    texts = [asked] if isinstance(asked, str) else asked
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise InvalidMachine("from, to and each of groups are nodes or NICs: a nodeset, or a list of them")
    found: dict[str, None] = {}
    for text in texts:
        try:
            names = [text] if machine.part(text) else nodesets.expand(text)
        except EmulatorError as error:
            raise InvalidMachine(error.message) from error
        for name in names:
            found.update(dict.fromkeys(_nics_of(machine, name)))
    if not found:
        raise InvalidMachine(
            f"{texts!r} stands for no NIC of the high-speed network, and a probe of nobody shows nothing"
        )
    return list(found)


def _nics_of(machine: Machine, name: str) -> Iterable[str]:
    if name in machine.fabric.plan.nics:
        return (name,)
    part = machine.part(name)
    if part is None or part.type != "Node":
        raise NotFound(f"no node and no NIC {name} in this machine")
    return [nic.xname for nic in machine.nics(name) if nic.network == "HSN"]


def describe_ports(machine: Machine, names: Sequence[str], *, differs: bool) -> list[dict[str, Any]]:
    """What ports do beside what the documents want of them."""
    told = []
    for name in names or machine.fabric.plan.ports:
        port = machine.fabric.describe(name)
        if port is None:
            raise NotFound(f"no switch has a port {name}; a port is named as x1000c0r3j1p0")
        if not differs or port["effective"] != port["intended"]:
            told.append(port)
    return told
