"""Topologies by name."""

from __future__ import annotations

from canton.emulator.machine.parts import Topology


def empty() -> Topology:
    """No hardware: services with empty databases."""
    return Topology("empty", "no hardware", {}, (), {}, (), (), (), frozenset(), {"Hardware": {}, "Networks": {}})


def load(name: str) -> Topology:
    return {"empty": empty}[name]()
