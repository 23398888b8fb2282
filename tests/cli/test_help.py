"""Help reads like a manual, costs no import, and points to the nearest command."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

import click
import pytest
from click.testing import CliRunner

from canton import __version__
from canton.cli.main import COMMANDS, main, root

# What the command line must not load to say what it can do.
HEAVY = ("sqlalchemy", "alembic", "psycopg", "canton.store", "canton.operations", "canton.admin", "canton.domain")


def pages(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from pages((*path, name), inner)


def every_page() -> Iterator[tuple[str, ...]]:
    yield ()
    for name, entry in COMMANDS.items():
        module, attribute = entry.target.split(":")
        if find_spec(module):
            yield from pages((name,), getattr(importlib.import_module(module), attribute))


def run(*arguments: str) -> str:
    result = CliRunner().invoke(root, arguments, catch_exceptions=False, prog_name="canton")
    assert result.exit_code == 0
    return result.stdout


def test_the_offline_commands_are_there() -> None:
    assert {("nodeset",), ("nodeset", "expand"), ("nodeset", "fold"), ("nodeset", "count")} <= set(every_page())


@pytest.mark.parametrize("page", list(every_page()), ids=" ".join)
def test_every_page_says_what_it_does_and_shows_an_example(page: tuple[str, ...]) -> None:
    text = run(*page, "--help")
    usage, said, *_ = text.split("\n\n")
    assert usage.startswith(" ".join(["Usage: canton", *page]))
    assert said.endswith("."), "a sentence follows the usage"
    _, _, examples = text.partition("Example")
    assert " ".join(["canton", *page]).strip() in examples
    assert max(map(len, text.splitlines())) <= 80


def test_the_root_page_groups_the_commands_by_where_they_run() -> None:
    blocks = [block.splitlines() for block in run("--help").split("\n\n")]
    for section in {entry.section for entry in COMMANDS.values()}:
        [listed] = [lines for title, *lines in blocks if title == f"{section}:"]
        told = [tuple(line.split(maxsplit=1)) for line in listed]
        assert told == [(name, it.help) for name, it in COMMANDS.items() if it.section == section]


def test_short_help_is_help() -> None:
    assert run("-h") == run("--help")


def test_the_version_is_the_package_s() -> None:
    assert run("--version") == f"canton {__version__}\n"


def test_no_command_is_a_mistake_that_shows_the_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["canton"])
    assert main() == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.split() == run("--help").split()


@pytest.mark.parametrize(
    ("typed", "nearest"), [("nodset", "nodeset"), ("nodesets", "nodeset"), ("adit", "audit"), ("dbs", "db")]
)
def test_an_unknown_command_suggests_the_nearest(
    typed: str, nearest: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["canton", typed])
    assert main() == 2
    said = f"canton: No such command '{typed}'. Did you mean '{nearest}'?\nTry: canton --help\n"
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (["--help"], {}),
        (["--version"], {}),
        ([], {"_CANTON_COMPLETE": "bash_complete", "COMP_WORDS": "canton ", "COMP_CWORD": "1"}),
    ],
    ids=["help", "version", "completion"],
)
def test_asking_what_there_is_loads_nothing_heavy(arguments: list[str], environment: dict[str, str]) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "canton", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=os.environ | environment)
    loaded = {line.split("|")[-1].strip() for line in ran.stderr.splitlines()}
    assert "canton.cli.main" in loaded
    assert ran.stdout
    assert not {name for name in loaded if name.startswith(HEAVY)} | loaded & {"canton.cli.nodeset"}


def test_completion_offers_commands_and_options() -> None:
    def complete(words: str) -> str:
        environment = {"_CANTON_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        command = [sys.executable, "-m", "canton"]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=True, env=os.environ | environment
        ).stdout

    assert complete("canton n") == "plain,nodeset\n"
    assert complete("canton ").split() == [f"plain,{name}" for name in COMMANDS]
    assert "plain,--version" in complete("canton --v")
    assert complete("canton nodeset c") == "plain,count\n"


@pytest.mark.parametrize("arguments", [["nodeset", "count", "n[1-3]"], ["nodeset", "--help"]])
def test_an_offline_command_loads_no_database(arguments: list[str]) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "canton", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    loaded = {line.split("|")[-1].strip() for line in ran.stderr.splitlines()}
    assert not {name for name in loaded if name.startswith(HEAVY) and not name.startswith("canton.domain")}
