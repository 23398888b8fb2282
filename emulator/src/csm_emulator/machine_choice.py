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


def choose_machine(kept: StateFile, wanted: MachineRequest) -> StartOptions:
    """A state that is there wins; asking it for another machine is refused."""
    source, seed = kept.about("topology"), kept.about("seed")
    if source is None:
        source, seed = _source(wanted.topology or DEFAULT, wanted.hint), 1 if wanted.seed is None else wanted.seed
        topology = _topology(source)
        kept.set_about("topology", source)
        kept.set_about("seed", seed)
    else:
        _agree(kept, source, seed, wanted)
        topology = _topology(source)
    return StartOptions(topology, seed, wanted.speed, wanted.moment)


def _source(name: str, hint: str) -> dict[str, Any]:
    if name in topologies.names():
        return {"name": name}
    path = Path(name)
    if not path.is_file():
        raise InvalidMachine(
            f"{name} is neither a topology ({', '.join(topologies.names())}) nor a file with an SLS dump{hint}"
        )
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidMachine(f"{name} is not an SLS dump: {error}; {DUMP_SOURCE}") from error
    if not is_dump(found):
        raise InvalidMachine(f"{name} is not an SLS dump: that is an object with Hardware and Networks; {DUMP_SOURCE}")
    return {"name": path.name, "sls": found}


def _topology(source: dict[str, Any]) -> Topology:
    return load_sls(source["sls"], source["name"]) if "sls" in source else topologies.load(source["name"])


def _agree(kept: StateFile, source: dict[str, Any], seed: int, wanted: MachineRequest) -> None:
    if wanted.topology is not None and Path(wanted.topology).name != source["name"]:
        raise InvalidMachine(
            f"{kept.path} holds the machine {source['name']}, not {wanted.topology}; leave the name away to go on"
            " with it, or take another --state"
        )
    if wanted.seed is not None and wanted.seed != seed:
        raise InvalidMachine(f"{kept.path} was begun with the seed {seed}, not {wanted.seed}; leave --seed away")
    if wanted.moment is not None:
        raise InvalidMachine(f"time has begun in {kept.path} already; leave --begin away")
