"""A mistyped command is refused with what is wrong, where, and what helps; no request is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command_result import Run
from client.scripted_server import Script

ZONE = "'2027-01-31' has no time of day; write 2027-01-31T18:00Z, in UTC"


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("get nods", "No such command 'nods'. (Did you mean one of: 'node', 'nodeset'?)"),
        ("get", "No such command 'get'."),
        ("node power x1000c0s0b0n0 off", "No such command 'x1000c0s0b0n0'. There are: off, on."),
        ("context remove alps", "No such command 'remove'. There are: delete, list, set, show, use."),
        ("node lst", "No such command 'lst'. Did you mean 'list'?"),
        ("tenant list --server alps", '"alps" is not the address of a server; write it as https://canton.example.org'),
        ("member add cscs:ann tenant-viewer --tenant psi --until 2027-01-31", ZONE),
        ("member add cscs:ann tenant-viewer --tenant psi --until soon", "'soon' is not a time; write 8h, 2d or 2027-"),
        ("event list --since soon", "'soon' is not a time; write 1h, 2d, 2026-11-15 or 2026-11-15T18:00:00Z"),
        (
            "quota show",
            "no tenant is named; give --tenant, set CANTON_TENANT, or: canton context set NAME --tenant TENANT",
        ),
        ("node list --limit abc", "Invalid value for '--limit': 'abc' is not a whole number."),
        ("node list --limit 0", "Invalid value for '--limit': 0 is less than 1."),
        ("version --server alps", '"alps" is not the address of a server; write it as https://canton.example.org'),
        ("nodeset expand @", "use letters, digits and -_.: in names, and @tenant or @tenant/site for the nodes of a"),
    ],
)
def test_a_mistake_is_named_with_what_helps(canton: Run, script: Script, command: str, complaint: str) -> None:
    result = canton(*command.split())
    assert (result.status, script.lines()) == (2, [])
    assert complaint in result.err


def test_the_time_that_a_refusal_tells_to_write_is_taken(canton: Run, script: Script) -> None:
    canton("member", "add", "cscs:ann", "tenant-viewer", "--tenant", "psi", "--until", "2027-01-31T18:00Z")
    assert len(script.lines()) > 0


class TestADatabase:
    @pytest.mark.parametrize("command", ["db check", "db upgrade", "audit head"])
    def test_that_cannot_be_reached_is_not_said_to_have_refused_a_statement(
        self, canton: Run, monkeypatch: pytest.MonkeyPatch, command: str
    ) -> None:
        monkeypatch.setenv("CANTON_DATABASE", "postgresql://canton@127.0.0.1:1/canton")
        result = canton(*command.split())
        assert result.status in (1, 8)
        assert "the database cannot be reached; try again;" in result.out + result.err
        assert "Connection refused" in result.out + result.err
        assert "canton db check" not in result.out + result.err

    def test_that_is_a_folder_cannot_be_reached(self, canton: Run, tmp_path: Path) -> None:
        result = canton("db", "upgrade", "--database", f"sqlite:///{tmp_path}")
        assert (result.status, "the database cannot be reached" in result.err) == (8, True)

    def test_that_cannot_be_made_is_no_unexpected_error(self, canton: Run, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        path = tmp_path / "file" / "canton.db"
        result = canton("db", "upgrade", "--database", f"sqlite:///{path}")
        assert result.status == 2
        assert f"canton: cannot create {path.parent} for the database {path}: File exists; name a file in" in result.err
