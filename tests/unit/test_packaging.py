"""What a user gets: a wheel with its pages, manual pages and units, and a set-up that says what it does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# A stand-in for Python, pip and uv in turn: it writes down how it was called, and makes what `-m venv` would make.
STUB = """\
#!/bin/sh
echo "$(basename "$0") $*" >>{log}
case "$*" in
    *"-m venv"*) mkdir -p {venv}/bin; for name in python pip uv; do cp "$0" {venv}/bin/$name; done ;;
    "config list") echo "{config}" ;;
    "pip install"*) exit {uv} ;;
esac
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names of the files in the wheel."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        return archive.namelist()


@pytest.mark.parametrize(
    ("folder", "place"),
    [
        ("docs/man", "share/man/man1"),
        ("deploy/systemd", "share/canton/systemd"),
        ("deploy/keycloak", "share/canton/keycloak"),
    ],
)
def test_the_wheel_brings_manual_pages_and_units(wheel: list[str], folder: str, place: str) -> None:
    files = {path.name for path in (ROOT / folder).iterdir()}
    assert files
    assert {Path(name).name for name in wheel if f".data/data/{place}/" in name} == files


def test_every_link_of_the_pages_in_the_wheel_leads_to_a_page_in_it(wheel: list[str]) -> None:
    marker = ".data/data/share/doc/canton/"
    pages = {name.partition(marker)[2] for name in wheel if marker in name}
    assert {"README.md", "docs/README.md", "docs/tutorial/first-hour.md"} <= pages
    folders = {str(folder) for page in pages for folder in Path(page).parents}
    broken = [
        f"{page}: {link}"
        for page in sorted(pages)
        if page.endswith(".md")
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text())
        if os.path.normpath(Path(page).parent / link) not in pages | folders
    ]
    assert broken == []


def set_up(folder: Path, *, uv: int = 0, config: str = "") -> tuple[str, list[str]]:
    """What `make setup` prints, and the commands that it ran."""
    log, venv, stub = folder / "log", folder / "venv", folder / "python3"
    stub.write_text(STUB.format(log=log, venv=venv, uv=uv, config=config))
    stub.chmod(0o755)
    command = ["make", "--no-print-directory", "setup", f"PYTHON={stub}", f"VENV={venv}"]
    process = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert not process.stderr
    return process.stdout, log.read_text().splitlines()


def test_the_first_set_up_says_what_it_does_and_how_long_it_takes(tmp_path: Path) -> None:
    printed, result = set_up(tmp_path)
    first, *steps = printed.splitlines()
    assert re.search(r"once: about \d+ s", first)
    assert [step.split()[0] for step in steps] == [f"{number}/5" for number in range(1, 6)]
    assert all(re.search(r"\(.*\d+ s\)$", step) for step in steps)
    assert sum("requirements/dev.txt" in command for command in result) == 1


def test_pip_does_what_uv_cannot(tmp_path: Path) -> None:
    printed, result = set_up(tmp_path, uv=2)
    assert "uv could not" in printed
    assert [command.split()[0] for command in result if "requirements/dev.txt" in command] == ["uv", "pip"]


@pytest.mark.parametrize("where", ["global", "user", ":env:"])
def test_a_mirror_that_pip_was_told_of_is_used(tmp_path: Path, where: str) -> None:
    mirror = "https://pypi.example.org/simple"
    _, result = set_up(tmp_path, config=f"{where}.index-url='{mirror}'")
    assert any(command.startswith("uv ") and f"--default-index {mirror}" in command for command in result)


def test_uv_is_locked_at_one_version() -> None:
    locked = [
        re.search(r"^uv==(\S+)", (ROOT / "requirements" / name).read_text(), re.M) for name in ("uv.txt", "dev.txt")
    ]
    assert all(locked)
    assert len({match[1] for match in locked if match}) == 1
