"""The path of a newcomer, to the letter: the first hour, the restore drill on SQLite, a CSM site on the emulator.

What a person does with eyes and a browser, the test does: it reads the password in the log and allows the login.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from demo import browser
from docs.examples import DOCS, ROOT, Example, examples, play, section, substitute
from free_ports import in_a_row

FIRST_HOUR = DOCS / "tutorial" / "first-hour.md"
INSTALL = "CANTON_TEST_INSTALL"
LOGIN = re.compile(r"in any browser:\s+(\S+)\s.*?shows the code:\s+(\S+)\s", re.DOTALL)


def administrator() -> Callable[[str], None]:
    """Somebody who allows every login that appears, once, with the password that appeared before."""
    seen: set[str] = set()

    def look(output: str) -> None:
        for address, code in LOGIN.findall(output):
            if code not in seen:
                seen.add(code)
                password = re.search(r"^  password  (\S+)$", output, re.MULTILINE)
                assert password is not None, output
                browser.allow(address, code, "admin", password[1])

    return look


PROGRAMS = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def run(parts: list[Example], folder: Path, programs: str, port: int | None = None) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CANTON_", "XDG_"))}
    listen = f"127.0.0.1:{port or in_a_row(1)}"
    # Only the port differs from what a reader has: another server may be running on this machine.
    environment = {"HOME": str(folder), "PATH": programs, "CANTON_API_LISTEN": listen}
    placed = [Example(substitute(part.command, {"127.0.0.1:8700": listen}), part.output) for part in parts]
    play(placed, folder, clean | environment, administrator())


def first_hour(*, installed: bool) -> list[Example]:
    text = FIRST_HOUR.read_text()
    return examples(text.replace(section(FIRST_HOUR, "Install"), "") if installed else text)


@pytest.mark.skipif(INSTALL not in os.environ, reason=f"LEFT OUT: Canton from its wheel needs PyPI (set {INSTALL}=1)")
@pytest.mark.slow(50)
def test_a_newcomer_needs_two_files_and_the_page(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    shutil.copy(ROOT / "requirements" / "run.txt", tmp_path / "canton-requirements.txt")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    run(first_hour(installed=False), tmp_path, f"{tmp_path / 'bin'}:/usr/bin:/bin")
    assert (tmp_path / "canton" / "share" / "man" / "man1" / "canton-node.1").is_file()


def test_what_goes_on_from_the_first_hour(tmp_path: Path) -> None:
    """Plays "csm-site.md", twice, then "restore.md": a page leaves the server so that the others still work."""
    site = examples(section(DOCS / "howto" / "csm-site.md", "Try it on the emulator"))
    drill = examples(section(DOCS / "howto" / "restore.md", "SQLite"))
    run([*first_hour(installed=True), *site * 2, *drill], tmp_path, PROGRAMS)
    assert "alps" not in (tmp_path / ".local/state/canton/dev/server.toml").read_text()


def test_pretend_nodes_can_be_removed_before_a_real_site_takes_their_names(tmp_path: Path) -> None:
    """Plays "csm-site.md" where it says so, with the site of the first hour."""
    parts = FIRST_HOUR.read_text().replace(section(FIRST_HOUR, "Install"), "").split("## Stop the server")
    removal = section(DOCS / "howto" / "csm-site.md", "First remove pretend nodes").replace("site=alps", "site=laptop")
    nothing_left = "```\n$ canton site delete laptop --reason 'pretend' --yes\n```\n"
    run(examples(f"{parts[0]}{removal}{nothing_left}\n## End it{parts[1]}"), tmp_path, PROGRAMS)


def test_a_port_that_is_taken_ends_the_wait_for_the_server_and_says_why(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(AssertionError, match="cannot listen on"):
        run(examples(section(FIRST_HOUR, "Start a server")), tmp_path, PROGRAMS, taken.getsockname()[1])
