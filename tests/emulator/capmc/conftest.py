"""CAPMC on the machine ``tiny``."""

from __future__ import annotations

import importlib

import pytest

from canton.emulator.site import Site
from emulator.pcs.stand_in import StandIn
from emulator.power_client import Client


@pytest.fixture(autouse=True)
def few_faces(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("pcs", "capmc")
    monkeypatch.setattr(
        "canton.emulator.site.open_faces",
        lambda world: [
            StandIn(world).face(),
            *(importlib.import_module(f"canton.emulator.faces.{n}.face").open_face(world) for n in names),
        ],
    )


@pytest.fixture
def capmc(tiny: Site) -> Client:
    return Client(tiny, "capmc", "/capmc/v1")
