"""Reachability between many NICs: pair by pair, or between whole groups.

Between groups, NICs are put into classes: no frame can distinguish NICs whose ports have the same state and whose
switches reach the same ones, so one pair is probed for each pair of classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from csm_emulator.errors import InvalidMachine
from csm_emulator.machine.fabric.ports import FrameDropped
from csm_emulator.machine.machine import Machine

MOST_PAIRS = 10_000
ETHERNET, IP, VNI = "ethernet", "ip", "vni"


@dataclass(frozen=True, slots=True)
class ProbeRequest:
    kind: str
    vlan: int | None
    vni: int | None


@dataclass(slots=True)
class EndpointClasses:
    """The sources or targets of one group, by class."""

    counts: Counter[Hashable] = field(default_factory=Counter)
    members: dict[Hashable, list[str]] = field(default_factory=dict)
    """The first two members of each class that have different owners."""
    class_of: dict[str, Hashable] = field(default_factory=dict)


class Prober:
    """Computes reachability for one request; caches the result for each pair of classes."""

    def __init__(self, machine: Machine, request: ProbeRequest) -> None:
        self._machine = machine
        self._fabric = machine.fabric
        self._links = machine.fabric.links()
        self._request = request
        self._verdicts: dict[tuple[Hashable, Hashable], bool] = {}

    def pairs(self, sources: Sequence[str], targets: Sequence[str]) -> dict[str, Any]:
        starts = self._sources(sources)
        if len(starts) * len(targets) > MOST_PAIRS:
            raise InvalidMachine(
                f"{len(starts)} × {len(targets)} pairs are more than {MOST_PAIRS}; use groups= to count them"
            )
        results = [
            self._probe(source, target) for source in starts for target in targets if self._owner(target) != source
        ]
        reached = sum(result["reached"] for result in results)
        return {"pairs": results, "counts": {"pairs": len(results), "reached": reached}}

    def between(self, groups: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        sources = {name: self._classify(self._sources(nics), self._source_class) for name, nics in groups.items()}
        targets = {name: self._classify(nics, self._target_class) for name, nics in groups.items()}
        results = [
            {"from": source, "to": target, **self._compare(sources[source], targets[target])}
            for source in groups
            for target in groups
        ]
        return {"groups": {name: {"nics": len(nics)} for name, nics in groups.items()}, "between": results}

    def _compare(self, sources: EndpointClasses, targets: EndpointClasses) -> dict[str, Any]:
        own = Counter(
            (sources.class_of[owner], kind)
            for target, kind in targets.class_of.items()
            if (owner := self._owner(target)) in sources.class_of
        )
        pairs = reached = 0
        examples: dict[bool, tuple[str, str]] = {}
        for start, source_count in sources.counts.items():
            for end, target_count in targets.counts.items():
                pair_count = source_count * target_count - own[start, end]
                if not pair_count:
                    continue
                example = self._example(sources.members[start], targets.members[end])
                verdict = self._verdict(start, end, example)
                examples.setdefault(verdict, example)
                pairs += pair_count
                reached += pair_count if verdict else 0
        return {
            "pairs": pairs,
            "reached": reached,
            "reaching": self._probe(*examples[True]) if True in examples else None,
            "stopped": self._probe(*examples[False]) if False in examples else None,
        }

    def _example(self, sources: Sequence[str], targets: Sequence[str]) -> tuple[str, str]:
        """A source and a target of these classes that differ; the caller has counted at least one pair."""
        return next((source, target) for source in sources for target in targets if self._owner(target) != source)

    def _verdict(self, start: Hashable, end: Hashable, example: tuple[str, str]) -> bool:
        if (start, end) not in self._verdicts:
            self._verdicts[start, end] = bool(self._probe(*example)["reached"])
        return self._verdicts[start, end]

    def _probe(self, source: str, target: str) -> dict[str, Any]:
        result: dict[str, Any] = {"from": source, "to": target}
        request = self._request
        if request.kind == IP:
            address = self._fabric.plan.nics[target].address
            packet = self._fabric.packet(source, address, request.vlan)
            details = {"address": address, "seconds": packet.seconds}
            return (
                result | {"reached": packet.reached, "why": packet.failure_reason, "path": list(packet.path)} | details
            )
        if request.vni is not None:
            trace = self._fabric.trace_rdma(source, target, request.vni)
        else:
            trace = self._fabric.trace_frame(source, target, request.vlan)
        details = {"at": trace.last_hop, "leaves": trace.egress_tagging or None, "carried": trace.vlan}
        return result | {"reached": trace.reached, "why": trace.drop_reason, "path": list(trace.path)} | details

    def _sources(self, nics: Sequence[str]) -> Sequence[str]:
        """The sources without duplicates: NICs send frames, nodes send packets."""
        return list(dict.fromkeys(map(self._owner, nics)))

    def _owner(self, nic: str) -> str:
        """The sender behind a NIC: its node for IP, otherwise the NIC itself."""
        return self._fabric.plan.nics[nic].owner if self._request.kind == IP else nic

    def _classify(self, names: Iterable[str], classify: Callable[[str], Hashable]) -> EndpointClasses:
        classes = EndpointClasses()
        for name in names:
            kind = classify(name)
            classes.class_of[name] = kind
            classes.counts[kind] += 1
            members = classes.members.setdefault(kind, [])
            if not members or (len(members) == 1 and self._have_different_owners(members[0], name)):
                members.append(name)
        return classes

    def _have_different_owners(self, first: str, second: str) -> bool:
        nics = self._fabric.plan.nics
        return first not in nics or self._owner(first) != self._owner(second)

    def _source_class(self, name: str) -> Hashable:
        if self._request.kind != IP:
            return self._port_class(name)
        nic = self._fabric.linked_nic(name)
        return self._is_up(name), None if nic is None else self._port_class(nic)

    def _target_class(self, nic: str) -> Hashable:
        if self._request.kind != IP:
            return self._port_class(nic)
        return self._is_up(self._owner(nic)), self._port_class(nic)

    def _is_up(self, node: str) -> bool:
        return self._machine.boot.sends_heartbeats(node)

    def _port_class(self, nic: str) -> Hashable:
        """The state of its port, and its switch: they determine where its frames go; None if it can send none."""
        try:
            port = self._fabric.connected_port(nic)
        except FrameDropped:
            return None
        switch = port.switch.xname
        return self._fabric.state(port.xname), self._links.zone(switch, None) if self._links.uniform else switch
