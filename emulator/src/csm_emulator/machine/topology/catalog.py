"""Topologies by name."""

from __future__ import annotations

from importlib import resources

from csm_emulator.errors import InvalidMachine
from csm_emulator.machine.parts import Topology
from csm_emulator.machine.topology.blades import read_data
from csm_emulator.machine.topology.builder import build

_NOT_MACHINES = frozenset({"blades"})


def empty() -> Topology:
    """No hardware: services with empty databases."""
    return Topology("empty", "no hardware", {}, (), {}, (), (), (), frozenset(), {"Hardware": {}, "Networks": {}})


def names() -> tuple[str, ...]:
    """The names that ``load`` accepts."""
    files = resources.files("csm_emulator.machine.topology").joinpath("data").iterdir()
    file_names = {file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml")}
    return ("empty", *sorted(file_names - _NOT_MACHINES))


def load(name: str) -> Topology:
    if name == "empty":
        return empty()
    if name not in names():
        raise InvalidMachine(f"no topology is called {name!r}; topologies: {', '.join(names())}")
    return build(name, read_data(name))
