"""The systemd units, checked by systemd itself; `test_production.py` runs their commands."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.examples import DOCS, ROOT

UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
ANALYZE = shutil.which("systemd-analyze")
# systemd's own scale, 0 to 100: a service that gives up nothing has 96, 20 is "OK".
EXPOSURE = 20
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="LEFT OUT: systemd's view of the units (no systemd-analyze)")


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(ANALYZE), *arguments], capture_output=True, text=True, check=False)


def options(unit: Path) -> dict[str, str]:
    lines = (line.partition("=") for line in unit.read_text().splitlines() if not line.startswith("#"))
    return {key: value for key, _, value in lines if value}


@needs_systemd
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_finds_nothing_wrong(unit: Path, tmp_path: Path) -> None:
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace("/opt/canton/bin", str(Path(sys.executable).parent)))
    judged = analyze("verify", "--man=no", str(copy))
    assert (judged.returncode, judged.stdout + judged.stderr) == (0, "")


@needs_systemd
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_service_gives_up_what_it_does_not_need(unit: Path) -> None:
    judged = analyze("security", "--offline=true", f"--threshold={EXPOSURE}", str(unit))
    assert judged.returncode == 0, judged.stdout[-300:]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_runs_as_its_own_account_and_names_its_manual(unit: Path) -> None:
    settings = options(unit)
    assert (settings["User"], settings["Group"]) == ("canton", "canton")
    assert (DOCS / "man" / settings["Documentation"].removeprefix("man:").replace("(1)", ".1")).is_file()


def test_a_stop_waits_longer_than_the_settings_let_it_take() -> None:
    """Else systemd would kill a process that still works. The defaults are api.drain 20 s and worker.grace 30 s."""
    reference = (DOCS / "reference" / "settings.md").read_text()
    for name, setting in (("canton-api", "CANTON_API_DRAIN"), ("canton-worker", "CANTON_WORKER_GRACE")):
        default = int(reference.partition(f"`{setting}` | `")[2].partition("`")[0])
        (unit,) = (unit for unit in UNITS if unit.stem == name)
        assert int(options(unit)["TimeoutStopSec"]) > default
