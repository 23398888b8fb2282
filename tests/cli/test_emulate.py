"""``canton emulate`` hands over to ``csm-emulator``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from canton.cli.commands import emulate
from cli.running import Run

CANTON = Path(sys.executable).with_name("canton")


@pytest.mark.parametrize("arguments", [["--version"], ["fault", "kinds", "--help"], ["statsu"]])
def test_it_prints_and_returns_what_csm_emulator_does(arguments: list[str]) -> None:
    results = [
        subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, timeout=60)
        for command in ([CANTON, "emulate"], [CANTON.with_name("csm-emulator")])
    ]
    ours, theirs = [(result.returncode, result.stdout, result.stderr) for result in results]
    assert ours == theirs


def test_without_the_emulator_it_names_the_package_to_install(canton: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulate, "EMULATOR", "no_such_emulator")
    ran = canton("emulate", "psi")
    assert ran.status == 1
    assert "pip install 'canton[emulator]'" in ran.err
