"""Which machine to run: as the state says, or else as was asked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from csm_emulator.errors import InvalidMachine
from csm_emulator.machine.parts import Topology
from csm_emulator.machine.sls_import.dump import load_sls
from csm_emulator.machine.sls_import.entries import is_dump
from csm_emulator.machine.topology import catalog as topologies
from csm_emulator.site import StartOptions
from csm_emulator.state.file import StateFile

DEFAULT = "tiny"
DUMP_SOURCE = "GET /v1/dumpstate of SLS answers one, and `cray sls dumpstate list --format json` prints it"


@dataclass(frozen=True, slots=True)
class MachineRequest:
    """What somebody asked for; what is None is left to the state or to the default."""

    topology: str | None = None
    """A name, or a file with an SLS dump."""
    seed: int | None = None
    speed: float | None = None
    moment: float | None = None
    hint: str = ""
    """What to say when the topology is none, such as which command it may be meant for."""


def choose_machine(state_file: StateFile, request: MachineRequest) -> StartOptions:
    """A state that is there wins; asking it for another machine is refused."""
    source, seed = state_file.about("topology"), state_file.about("seed")
    if source is None:
        source, seed = _source(request.topology or DEFAULT, request.hint), 1 if request.seed is None else request.seed
        topology = _topology(source)
        state_file.set_about("topology", source)
        state_file.set_about("seed", seed)
    else:
        _check_same_machine(state_file, source, seed, request)
        topology = _topology(source)
    return StartOptions(topology, seed, request.speed, request.moment)


def _source(name: str, hint: str) -> dict[str, Any]:
    if name in topologies.names():
        return {"name": name}
    path = Path(name)
    if not path.is_file():
        raise InvalidMachine(
            f"{name} is neither a topology ({', '.join(topologies.names())}) nor a file with an SLS dump{hint}"
        )
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidMachine(f"{name} is not an SLS dump: {error}; {DUMP_SOURCE}") from error
    if not is_dump(data):
        raise InvalidMachine(f"{name} is not an SLS dump: that is an object with Hardware and Networks; {DUMP_SOURCE}")
    return {"name": path.name, "sls": data}


def _topology(source: dict[str, Any]) -> Topology:
    return load_sls(source["sls"], source["name"]) if "sls" in source else topologies.load(source["name"])


def _check_same_machine(state_file: StateFile, source: dict[str, Any], seed: int, request: MachineRequest) -> None:
    if request.topology is not None and Path(request.topology).name != source["name"]:
        raise InvalidMachine(
            f"{state_file.path} holds the machine {source['name']}, not {request.topology}; leave the name away to go on"
            " with it, or take another --state"
        )
    if request.seed is not None and request.seed != seed:
        raise InvalidMachine(f"{state_file.path} was begun with the seed {seed}, not {request.seed}; leave --seed away")
    if request.moment is not None:
        raise InvalidMachine(f"time has begun in {state_file.path} already; leave --begin away")
