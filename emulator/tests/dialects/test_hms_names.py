"""Names of components as hms-xname v1.4.0 accepts them."""

from __future__ import annotations

import pytest

from csm_emulator.dialects.hms.names import hms_type, normal, verified


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("s0", "System"),
        ("x0", "Cabinet"),
        ("x0123", "Cabinet"),
        ("x01234", ""),
        ("x1c7", "Chassis"),
        ("x1c8", ""),
        ("x1c07", ""),
        ("x1000c0s007b0n0", "Node"),
        ("x0c0s0j1", "NodePowerConnector"),
        ("x0c0s0v1", "NodePowerConnector"),
        ("p1.2", "Partition"),
        ("p1x2", "Partition"),
        ("all", "All"),
        ("X0", ""),
        (" x0", ""),
        ("x0\n", ""),
        ("x\u0660", ""),
        ("", ""),
        ("x" + "0" * 2000, ""),
    ],
)
def test_types(name: str, type_: str) -> None:
    assert hms_type(name) == type_


def test_the_one_spelling() -> None:
    assert normal(" X0010C0S00B0 ") == "x10c0s0b0"
    assert verified(" X0010C0 ") == "x10c0"
    assert verified("nonsense") == ""
