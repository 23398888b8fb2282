"""Every ``$ canton …`` in the docs is run, in order, page by page (``docs.examples`` says how).

Pages that say so are played beside `make demo EMPTY=1`, all of them on one demo, in either order. What a page leaves
running in the background is ended after it. Pages that need more have a test of their own, which they name.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from demo.stage import wait
from docs.examples import DOCS, ROOT, examples, play

PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md")), *sorted((ROOT / "emulator").glob("docs/**/*.md"))]
STAGE = "<!-- on the stage of the demo -->"
DEMO_PAGES = [page for page in PAGES if STAGE in page.read_text()]
# As the Makefile has it.
DEMO = [sys.executable, "-m", "demo.story"]
ELSEWHERE = re.compile(r"<!-- played by (.+) -->")


@contextmanager
def running_demo(folder: Path) -> Iterator[None]:
    with (folder / "demo.log").open("w") as log:
        demo = subprocess.Popen(DEMO, cwd=folder, env=environment(folder) | {"EMPTY": "1"}, stdout=log, stderr=log)
        try:
            wait(lambda: "From a second shell" in (folder / "demo.log").read_text(), "the demo is ready", 120)
            yield
        finally:
            demo.terminate()
            demo.wait(60)


def environment(folder: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CANTON_", "XDG_"))}
    return clean | {"PATH": path, "HOME": str(folder), "PYTHONPATH": str(ROOT)}


def is_played_alone(page: Path) -> bool:
    return bool(examples(page.read_text())) and not ELSEWHERE.search(page.read_text()) and page not in DEMO_PAGES


@pytest.mark.parametrize("page", [page for page in PAGES if is_played_alone(page)], ids=lambda page: page.stem)
def test_examples_do_what_the_page_says(page: Path, tmp_path: Path) -> None:
    play(examples(page.read_text()), tmp_path, environment(tmp_path))


@pytest.mark.slow(50)
@pytest.mark.parametrize("pages", [DEMO_PAGES, DEMO_PAGES[::-1]], ids=lambda pages: "-".join(it.stem for it in pages))
def test_pages_of_the_demo_can_be_followed_on_one_demo_in_either_order(pages: Sequence[Path], tmp_path: Path) -> None:
    assert len(pages) > 1
    with running_demo(tmp_path):
        for page in pages:
            play(examples(page.read_text()), tmp_path, environment(tmp_path))


def test_a_second_demo_beside_a_living_one_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    with running_demo(tmp_path):
        inode_before = (tmp_path / "build/demo/env").stat().st_ino
        second = subprocess.run(
            DEMO, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=30, check=False
        )
        assert second.returncode == 1
        assert "another demo is running in" in second.stderr
        assert (tmp_path / "build/demo/env").stat().st_ino == inode_before


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_page_waits_for_a_program_that_has_ended(page: Path) -> None:
    """A server whose port is taken never writes its file: a reader would wait for ever, without a message."""
    waits = [it.command for it in examples(page.read_text()) if re.search(r"until (test|\[) -s ", it.command)]
    assert [command for command in waits if "|| ! kill -0 $" not in command] == []


@pytest.mark.parametrize("page", [page for page in PAGES if ELSEWHERE.search(page.read_text())], ids=lambda it: it.stem)
def test_a_page_that_is_played_elsewhere_is_played_there(page: Path) -> None:
    for match in ELSEWHERE.finditer(page.read_text()):
        for name in match[1].replace(" and ", ", ").split(", "):
            assert f'"{page.name}"' in (ROOT / name).read_text(), f"{name} does not play {page.name}"
