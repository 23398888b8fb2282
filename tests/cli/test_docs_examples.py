"""Every ``$ canton …`` in the docs is run, in order, page by page; ``…`` stands for output that varies, and lines
that begin with ``> `` go on with a command.

A page that says so is played on the stage of the demo: a machine and a server of its own, with the demo's people logged
in. What a page leaves running in the background is ended after it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from demo.stage import PEOPLE, Stage

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
STAGE = "<!-- on the stage of the demo -->"
BLOCK = re.compile(r"^```\n(\$ .*?)^```$", re.MULTILINE | re.DOTALL)


def examples(page: Path) -> list[tuple[str, str]]:
    """Commands and what they print, as written."""
    found: list[tuple[str, str]] = []
    for block in BLOCK.findall(page.read_text()):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            while output.startswith("> "):
                line, _, output = output[2:].partition("\n")
                command += f"\n{line}"
            found.append((command, output))
    return found


@contextmanager
def surroundings(page: Path, folder: Path) -> Iterator[tuple[dict[str, str], Path]]:
    """The environment and the folder that the page's commands run in."""
    if STAGE in page.read_text():
        stage = Stage(folder / "stage", 0)
        try:
            stage.build()
            url = stage.start()
            for who in PEOPLE:
                stage.log_in(who, url)
            yield stage.environment, stage.folder
        finally:
            stage.stop()
    else:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("CANTON_", "XDG_"))}
        yield clean | {"PATH": path, "HOME": str(folder)}, folder


def play(script: Path, environment: dict[str, str], folder: Path) -> tuple[int, str, str]:
    """Into files: a pipe would stay open for as long as something runs in the background."""
    printed, errors = script.with_suffix(".out"), script.with_suffix(".err")
    with printed.open("w") as out, errors.open("w") as err:
        shell = subprocess.Popen(
            ["/bin/sh", script], cwd=folder, env=environment, stdout=out, stderr=err, start_new_session=True
        )
        try:
            status = shell.wait(timeout=240)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGTERM)
            shell.wait()
    return status, printed.read_text(), errors.read_text()


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=lambda page: page.stem)
def test_examples_do_what_the_page_says(page: Path, tmp_path: Path) -> None:
    script = tmp_path / "commands.sh"
    marker = "--- end of output ---"
    lines = [f"{command}\necho '{marker}'" for command, _ in examples(page)]
    script.write_text("\n".join(["set -eu", *lines]))
    with surroundings(page, tmp_path) as (environment, folder):
        status, printed, errors = play(script, environment, folder)
    assert status == 0, errors
    outputs = printed.split(f"{marker}\n")
    for (command, expected), output in zip(examples(page), outputs, strict=False):
        pattern = re.escape(expected.strip()).replace("…", r"[\s\S]*")
        assert re.fullmatch(pattern, output.strip()), f"$ {command}\n{output}"
