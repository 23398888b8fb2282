"""``canton nodeset`` and the command line's rules: data on stdout, messages on stderr, exit codes of the error tree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner, Result

from canton.cli import main as cli
from canton.cli.lazy import Entry
from canton.domain.errors import DatabaseUnavailable, NodesClaimed, UnknownNodes

CANTON = str(Path(sys.executable).with_name("canton"))


def invoke(*arguments: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(cli.root, ["nodeset", *arguments], input=stdin, catch_exceptions=False)


def canton(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The installed command, as a user runs it."""
    return subprocess.run([CANTON, *arguments], input=stdin, capture_output=True, timeout=60, check=False)


class TestOutput:
    @pytest.mark.parametrize(
        ("arguments", "printed"),
        [
            (["expand", "n[9-10]", "a1"], "a1\nn9\nn10\n"),
            (["expand", "-S", ",", "n[9-10]"], "n9,n10\n"),
            (["expand", "--separator= ", "n[1-2]"], "n1 n2\n"),
            (["expand", "n1!n1"], ""),
            (["fold", "n2", "n1", "n3,n5!n5"], "n[1-3]\n"),
            (["fold", "n1!n1"], "\n"),
            (["fold", "n[1-3]!n2", "n2"], "n[1-3]\n"),
            (["count", "x1000c[0-7]s[0-7]b[0-1]n[0-1]"], "256\n"),
            (["count", "n[1-3]", "n[2-4]"], "4\n"),
            (["count", "--limit", "200000", "n[1-200000]"], "200000\n"),
        ],
    )
    def test_is_the_answer_and_nothing_else(self, arguments: list[str], printed: str) -> None:
        result = invoke(*arguments)
        assert (result.exit_code, result.stdout, result.stderr) == (0, printed, "")

    @pytest.mark.parametrize("arguments", [["fold"], ["fold", "-"]])
    def test_names_come_from_standard_input(self, arguments: list[str]) -> None:
        assert invoke(*arguments, stdin="n3 n1\n\n n2\tlogin1\r\nn[7-9] ! n8").stdout == "login1,n[1-3,7,9]\n"

    def test_standard_input_and_arguments_are_united(self) -> None:
        assert invoke("fold", "n1", "-", "n4", stdin="n2\nn3").stdout == "n[1-4]\n"

    def test_no_input_is_no_nodes(self) -> None:
        assert invoke("count").stdout == "0\n"


class TestFailure:
    @pytest.mark.parametrize(
        ("arguments", "stdin", "message"),
        [
            (["expand", "n[1-2"], b"", "canton: invalid nodeset: this bracket is not closed"),
            (["fold", "@psi"], b"", "canton: invalid nodeset: the group @psi cannot be looked up here"),
            (["count", "n[0-999999999]"], b"", "canton: the nodeset is too large: "),
            (["count", "--limit", "3", "n[1-2]", "m[1-2]"], b"", "canton: the nodesets have more than 3 nodes"),
            (["fold"], b"n1\n\xff\xfe\n", "canton: invalid nodeset: the character '\\ufffd' cannot stand here"),
            (["fold"], b"n" * 2**21, "canton: the nodeset is too large: it has 1,048,577 characters"),
            (["count", "--limit", "0", "n1"], b"", "canton: Invalid value for '--limit'"),
            (["count", "--limti", "3", "n1"], b"", "canton: No such option '--limti'. Did you mean '--limit'?"),
            (["cuont", "n1"], b"", "canton: No such command 'cuont'. Did you mean 'count'?"),
        ],
    )
    def test_is_said_on_stderr_and_exits_with_2(self, arguments: list[str], stdin: bytes, message: str) -> None:
        result = canton("nodeset", *arguments, stdin=stdin)
        assert result.stderr.decode("ascii").startswith(message)
        assert (result.returncode, result.stdout) == (2, b"")

    def test_the_caret_stands_below_the_mistake(self) -> None:
        assert canton("nodeset", "fold", "a,n[1-2").stderr.decode().splitlines()[1:] == ["  a,n[1-2", "     ^"]

    def test_a_reader_that_goes_away_is_no_error(self) -> None:
        command = [CANTON, "nodeset", "expand", "n[0-9999]", "-S", "\n" * 1000]  # 10 MB: more than any pipe holds
        # With PYTHONUNBUFFERED Python takes a write cut short for a whole one, and there is no error to be quiet about.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
            assert process.stdout
            assert process.stderr
            assert process.stdout.readline() == b"n0\n"
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 141


class TestExitCodes:
    @pytest.fixture
    def failing(self, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
        """A command ``boom`` that raises the parameter."""

        def raise_it() -> None:
            raise request.param

        boom = SimpleNamespace(boom=click.Command("boom", callback=raise_it))
        monkeypatch.setitem(sys.modules, "canton_boom", boom)
        monkeypatch.setitem(cli.COMMANDS, "boom", Entry("canton_boom:boom", "fail", "Offline"))
        monkeypatch.setattr(sys, "argv", ["canton", "boom"])

    @pytest.mark.parametrize(
        ("failing", "status"),
        [
            (UnknownNodes("no such nodes: n1"), 3),
            (NodesClaimed("taken"), 5),
            (DatabaseUnavailable("no answer"), 8),
            (KeyboardInterrupt(), 130),
            (click.FileError("x", "is a folder"), 1),
            (ValueError("unforeseen"), 1),
        ],
        indirect=["failing"],
    )
    @pytest.mark.usefixtures("failing")
    def test_come_from_the_error(self, status: int) -> None:
        assert cli.main() == status

    @pytest.mark.parametrize("failing", [UnknownNodes("no such nodes: n1")], indirect=True)
    @pytest.mark.usefixtures("failing")
    def test_an_error_of_canton_is_only_its_message(self, capsys: pytest.CaptureFixture[str]) -> None:
        cli.main()
        assert capsys.readouterr() == ("", "canton: no such nodes: n1\n")

    @pytest.mark.parametrize("failing", [ValueError("two\nlines")], indirect=True)
    @pytest.mark.usefixtures("failing")
    def test_an_unforeseen_error_is_one_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        cli.main()
        message = "canton: unexpected ValueError: two lines; set CANTON_DEBUG=1 to see the traceback\n"
        assert capsys.readouterr() == ("", message)

    @pytest.mark.parametrize("failing", [ValueError("deep"), UnknownNodes("deep")], indirect=True)
    @pytest.mark.usefixtures("failing")
    def test_the_traceback_is_there_on_request(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CANTON_DEBUG", "1")
        cli.main()
        assert "in raise_it" in capsys.readouterr().err
