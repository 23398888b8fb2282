"""Help has examples, imports nothing heavy, and suggests the nearest command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from canton import __version__
from canton.cli.main import COMMANDS, main, root
from canton.cli.output.command_pages import all_pages
from canton.policy.permissions import PERMISSIONS

# Modules that help must not import.
HEAVY = (
    *("sqlalchemy", "alembic", "psycopg", "fastapi", "pydantic", "yaml", "http", "ssl"),
    *("canton.store", "canton.operations", "canton.admin", "canton.domain", "canton.client", "canton.api"),
)


PAGES = {page.path: page for page in all_pages()}


def run(*arguments: str) -> str:
    # As on a terminal of 80 columns: Click leaves two free there, and CliRunner none.
    result = CliRunner().invoke(root, arguments, catch_exceptions=False, prog_name="canton", terminal_width=78)
    assert result.exit_code == 0
    return result.stdout


def test_the_offline_commands_are_there() -> None:
    assert {("nodeset",), ("nodeset", "expand"), ("nodeset", "fold"), ("nodeset", "count")} <= set(PAGES)


@pytest.mark.parametrize("page", list(PAGES), ids=" ".join)
def test_every_page_says_what_it_does_and_shows_an_example(page: tuple[str, ...]) -> None:
    text = run(*page, "--help")
    usage, summary, *_ = text.split("\n\n")
    assert usage.startswith(" ".join(["Usage: canton", *page]))
    assert summary.endswith("."), "a sentence follows the usage"
    _, _, examples = text.rpartition("\n  Example")
    assert " ".join(["canton", *page]).strip() in examples
    assert max(map(len, text.splitlines())) <= 80


def test_the_commands_that_need_a_reason_are_those_of_the_policy() -> None:
    required = {
        page for page in PAGES if "recorded in the audit log. [required]" in " ".join(run(*page, "--help").split())
    }
    policy = {name.replace("revoke", "remove") for name, it in PERMISSIONS.items() if it.needs_reason}
    assert {".".join(page) for page in required} == policy


def test_a_dry_run_needs_no_reason(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for options, message in (
        ([], "node assign needs a reason: add --reason '…'"),
        (["--dry-run"], "no tenant is named"),
    ):
        monkeypatch.setattr(sys, "argv", ["canton", "node", "assign", "x1", *options, "--server", "http://127.0.0.1:9"])
        assert main() == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("page", [path for path in PAGES if PAGES[path].commands], ids=" ".join)
def test_a_list_of_commands_says_each_in_a_whole_sentence(page: tuple[str, ...]) -> None:
    for block in run(*page, "--help").split("\n\n")[2:]:
        for line in block.splitlines():
            entry = re.fullmatch(r"  ([a-z-]+) {2,}(.*)", line)
            if entry and (*page, entry[1]) in PAGES:
                assert entry[2][0].isupper(), line
                assert not entry[2].endswith("..."), line


def test_the_root_page_groups_the_commands_by_where_they_run() -> None:
    blocks = [block.splitlines() for block in run("--help").split("\n\n")]
    for section in {entry.section for entry in COMMANDS.values()}:
        [section_lines] = [lines for title, *lines in blocks if title == f"{section}:"]
        commands = [tuple(line.split(maxsplit=1)) for line in section_lines]
        assert commands == [(name, it.help) for name, it in COMMANDS.items() if it.section == section]


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
    ("typed", "nearest"), [("manuel", "manual"), ("tennant", "tenant"), ("audt", "audit"), ("servce", "serve")]
)
def test_an_unknown_command_suggests_the_nearest(
    typed: str, nearest: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["canton", typed])
    assert main() == 2
    message = f"canton: No such command '{typed}'. Did you mean '{nearest}'?\nTry: canton --help\n"
    assert capsys.readouterr() == ("", message)


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
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env=os.environ | environment
    )
    loaded = {line.split("|")[-1].strip() for line in result.stderr.splitlines()}
    assert "canton.cli.main" in loaded
    assert result.stdout
    assert not {name for name in loaded if name.startswith(HEAVY)} | loaded & {"canton.cli.commands.nodeset"}


def test_completion_offers_commands_and_options() -> None:
    def complete(words: str) -> str:
        environment = {"_CANTON_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        command = [sys.executable, "-m", "canton"]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=True, env=os.environ | environment
        ).stdout

    assert complete("canton n") == "plain,node\nplain,nodeset\n"
    assert complete("canton ").split() == [f"plain,{name}" for name in COMMANDS]
    assert "plain,--version" in complete("canton --v")
    assert complete("canton nodeset c") == "plain,count\n"
    assert complete("canton nodes p") == "plain,power\n"
    assert "plain,verify" in complete("canton audit ")


@pytest.mark.parametrize("arguments", [["nodeset", "count", "n[1-3]"], ["nodeset", "--help"]])
def test_an_offline_command_loads_no_database(arguments: list[str]) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "canton", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    loaded = {line.split("|")[-1].strip() for line in result.stderr.splitlines()}
    assert not {name for name in loaded if name.startswith(HEAVY) and not name.startswith("canton.domain")}


REFERENCE = (Path(__file__).parents[2] / "docs/reference/cli.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", list(PAGES), ids=" ".join)
def test_every_command_and_flag_is_in_the_reference(page: tuple[str, ...]) -> None:
    """Compared with the output of help, not with the code that writes the reference."""
    title = f"`{' '.join(('canton', *page))}`\n"
    assert title in REFERENCE, "run: make docs"
    _, _, section = REFERENCE.partition(f"# {title}")
    section = section.partition("\n#")[0]
    options = run(*page, "--help").partition("Options:")[2].partition("\n\n")[0]
    flags = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", options, re.MULTILINE)
    assert [flag for flag in flags if f"{flag}" not in section] == []
    assert flags


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_a_manual_page(name: str) -> None:
    page = Path(__file__).parents[2] / f"docs/man/canton-{name}.1"
    assert page.read_text(encoding="utf-8").startswith('.TH "CANTON')
    assert COMMANDS[name].help


def test_the_manual_is_for_man_off_a_terminal() -> None:
    text = run("manual", "node")
    assert text == (Path(__file__).parents[2] / "docs/man/canton-node.1").read_text(encoding="utf-8")
    assert "canton node power off" in text.replace("\\-", "-")


@pytest.mark.parametrize(
    ("shell", "mark"), [("bash", "complete -o"), ("zsh", "#compdef canton"), ("fish", "complete --no-files")]
)
def test_completion_scripts_name_the_command(shell: str, mark: str) -> None:
    text = run("completion", shell)
    assert mark in text
    assert "_CANTON_COMPLETE" in text


def test_a_limit_says_what_it_limits_and_a_subject_how_it_is_written() -> None:
    text = " ".join(run("audit", "list", "--help").split())
    assert "--limit N Show at most N rows." in text
    assert "op_…, tenant:psi, site:alps; for a node, see `operation list --node`" in text
