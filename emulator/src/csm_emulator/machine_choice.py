"""Which machine to run: the one of the state file if it has one, otherwise the requested one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from csm_emulator.errors import InvalidMachine
from csm_emulator.machine.parts import Topology
from csm_emulator.machine.sls_import.dump import load_sls
from csm_emulator.machine.sls_import.entries import is_dump
from csm_emulator.machine.topology import catalog as topologies
from csm_emulator.records import Record
from csm_emulator.site import StartOptions
from csm_emulator.state.file import StateFile

DEFAULT = "tiny"
DUMP_SOURCE = "`cray sls dumpstate list --format json` prints one"


@dataclass(frozen=True, slots=True)
class MachineRequest:
    """The options of the command line; None leaves the choice to the state file or to the default."""

    topology: str | None = None
    """The name of a topology, or the path of an SLS dump."""
    seed: int | None = None
    speed: float | None = None
    moment: float | None = None
    hint: str = ""
    """Added to the error for an unknown topology, such as a command that was probably meant."""


def choose_machine(state_file: StateFile, request: MachineRequest) -> StartOptions:
    """The machine to run; raises ``InvalidMachine`` when the state file holds another one than requested."""
    source, seed = state_file.metadata("topology"), state_file.metadata("seed")
    if source is None:
        source, seed = _source(request.topology or DEFAULT, request.hint), 1 if request.seed is None else request.seed
        topology = _topology(source)
        state_file.set_metadata("topology", source)
        state_file.set_metadata("seed", seed)
    else:
        _check_same_machine(state_file, source, seed, request)
        topology = _topology(source)
    return StartOptions(topology, seed, request.speed, request.moment)


def _source(name: str, hint: str) -> Record:
    if name in topologies.names():
        return {"name": name}
    path = Path(name)
    if not path.is_file():
        raise InvalidMachine(
            f"no topology and no file is called {name}; topologies: {', '.join(topologies.names())}{hint}"
        )
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidMachine(f"{name} is not an SLS dump: {error}; {DUMP_SOURCE}") from error
    if not is_dump(data):
        raise InvalidMachine(
            f"{name} is not an SLS dump: it must be an object with Hardware and Networks; {DUMP_SOURCE}"
        )
    return {"name": path.name, "sls": data}


def _topology(source: Record) -> Topology:
    return load_sls(source["sls"], source["name"]) if "sls" in source else topologies.load(source["name"])


def _check_same_machine(state_file: StateFile, source: Record, seed: int, request: MachineRequest) -> None:
    if request.topology is not None and Path(request.topology).name != source["name"]:
        raise InvalidMachine(
            f"{state_file.path} holds the machine {source['name']}, not {request.topology}; omit TOPOLOGY to run it,"
            " or use another file with --state"
        )
    if request.seed is not None and request.seed != seed:
        raise InvalidMachine(f"{state_file.path} was created with --seed {seed}, not {request.seed}; omit --seed")
    if request.moment is not None:
        raise InvalidMachine(f"{state_file.path} already has a virtual time; omit --begin")
