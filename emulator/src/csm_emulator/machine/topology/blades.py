"""The catalogue of blades, servers and their parts in ``data/blades.yaml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

import yaml

from csm_emulator.machine.parts import Fitting, Fru, NodeModel
from csm_emulator.records import Json, Record

_ORDINALS = re.compile(r"b(\d+)n(\d+)")


@dataclass(frozen=True, slots=True)
class Blade:
    """A blade of a liquid-cooled chassis, or a server in a rack."""

    nodes: tuple[tuple[int, int], ...]
    """The ordinals of BMC and node, for each of its nodes."""
    model: NodeModel
    enclosure: Fru
    bmc: Fru

    @property
    def controllers(self) -> tuple[int, ...]:
        return tuple(sorted({bmc for bmc, _ in self.nodes}))


@dataclass(frozen=True, slots=True)
class Catalogue:
    frus: Mapping[str, Fru]
    blades: Mapping[str, Blade]


def read_data(name: str) -> Json:
    """A data file of ``machine/topology/data``."""
    text = resources.files("csm_emulator.machine.topology").joinpath("data", f"{name}.yaml").read_bytes()
    return yaml.load(text, yaml.CSafeLoader)


def load_catalogue() -> Catalogue:
    data = read_data("blades")
    frus = {name: Fru(**fru) for name, fru in data["frus"].items()}
    return Catalogue(frus, {name: _blade(name, model, frus) for name, model in data["models"].items()})


def _blade(name: str, data: Record, frus: Mapping[str, Fru]) -> Blade:
    fittings = tuple(Fitting(frus[fru], f"{ending}{{}}", count) for fru, ending, count in data["fit"])
    model = NodeModel(
        name,
        data["arch"],
        frus[data["board"]],
        fittings,
        sum(fitting.count for fitting in fittings if fitting.fru.kind == "NodeHsnNic"),
        data["firmware"],
        data["watts_idle"],
        tuple(data["power_limits"]),
        tuple(data["accelerator_limits"]) if "accelerator_limits" in data else None,
    )
    pairs = [_ORDINALS.fullmatch(node) for node in data["nodes"]]
    places = tuple((int(pair[1]), int(pair[2])) for pair in pairs if pair)
    return Blade(places, model, frus[data["enclosure"]], frus[data["bmc"]])
