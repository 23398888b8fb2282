"""The wheel of the emulator: complete, and able to run a machine where Canton is not installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
import venv
from pathlib import Path

import pytest

EMULATOR = Path(__file__).parents[1]
INSTALL = "CANTON_TEST_INSTALL"
LOCKED = EMULATOR.parent / "requirements" / "emulator.txt"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=EMULATOR, check=True, capture_output=True)
    return next(folder.glob("csm_emulator-*.whl"))


def start_and_stop(python: Path, environment: dict[str, str]) -> None:
    command = [str(python), "-m", "csm_emulator", "tiny", "--port", "0", "--plain", "--json", "--services"]
    with subprocess.Popen(command, env=environment, cwd="/", stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            ready = json.loads(process.stdout.readline())
            url = f"{ready['services']['smd']}/hsm/v2/State/Components?type=Node"
            with urllib.request.urlopen(url) as response:  # noqa: S310 (the address that it printed)
                assert len(json.load(response)["Components"]) >= 8
        finally:
            process.terminate()
            assert process.wait(15) == 0


def test_a_machine_runs_from_the_wheel_where_canton_cannot_be_imported(wheel: Path, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    unpack = f"import zipfile; zipfile.ZipFile({str(wheel)!r}).extractall({str(packages)!r})"
    subprocess.run([sys.executable, "-c", unpack], check=True)
    (packages / "canton.py").write_text("raise ImportError('the emulator imports Canton')\n")
    start_and_stop(Path(sys.executable), {**os.environ, "PYTHONPATH": str(packages)})


@pytest.mark.slow(40)
@pytest.mark.skipif(not os.environ.get(INSTALL), reason=f"set {INSTALL}=1 to install it from a package index")
def test_a_machine_runs_after_pip_install_in_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--require-hashes", "--requirement", str(LOCKED)], check=True)
    subprocess.run([*pip, "--no-deps", str(wheel)], check=True)
    listing = subprocess.run([*pip[:3], "list"], check=True, capture_output=True, text=True).stdout
    assert "csm-emulator" in listing
    assert not any(line.split()[0] == "canton" for line in listing.splitlines())
    start_and_stop(python, {name: value for name, value in os.environ.items() if name != "PYTHONPATH"})
