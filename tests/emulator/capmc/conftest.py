"""CAPMC on the machine ``tiny``."""

from __future__ import annotations

import pytest

from canton.emulator.site import Site
from emulator.pcs.stand_in import StandIn
from emulator.power_client import Client


@pytest.fixture(autouse=True)
def locks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("locks", "reservations"):
        monkeypatch.setattr(f"canton.emulator.faces.smd.{name}.routes", lambda _: ())
    monkeypatch.setattr("canton.emulator.faces.smd.reservations.routes", lambda hsm: StandIn(hsm.world).routes())


@pytest.fixture
def capmc(tiny: Site) -> Client:
    return Client(tiny, "capmc", "/capmc/v1")
