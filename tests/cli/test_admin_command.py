"""``canton admin add``, for the person who sets a server up."""

from __future__ import annotations

import io
import json
import os
import pwd
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from canton.cli.main import main
from canton.issuer.passwords import check_password, is_hash
from canton.store import audit, outbox, schema
from canton.store.access import bindings
from canton.store.database import Database
from cli.command_result import CommandResult, Run

CONFIG = """
[issuers.cscs]
url = "https://login.example.org/realms/hpc"
preset = "keycloak-groups"
"""


@pytest.fixture
def canton(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], database_url: str, tmp_path: Path
) -> Run:
    file = tmp_path / "server.toml"
    file.write_text(f'database = "{database_url}"\n{CONFIG}')

    def run(*arguments: str) -> CommandResult:
        monkeypatch.setattr(sys, "argv", ["canton", "admin", "add", *arguments, "--config", str(file)])
        status = main()
        return CommandResult(status, *capsys.readouterr())

    return run


def held(database: Database, subject: str) -> list[tuple[str, str | None, int | None]]:
    with database.read() as connection:
        return [(row["role"], row["tenant"], row["until"]) for row in bindings.of_subjects(connection, [subject])]


def records(database: Database) -> list[sa.RowMapping]:
    with database.read() as connection:
        audit.verify(connection)
        return list(connection.execute(sa.select(schema.audit).order_by(schema.audit.c.seq)).mappings())


def test_the_first_administrator_is_made_and_recorded(canton: Run, database: Database) -> None:
    status, out, complaint = canton("cscs:rosa", "--reason", "first administrator")
    assert (status, out) == (0, "cscs:rosa is provider-admin\n")
    assert "server.toml line 1" in complaint
    assert held(database, "cscs:rosa") == [("provider-admin", None, None)]
    (record,) = records(database)
    assert (record["action"], record["reason"]) == ("member.grant", "first administrator")
    assert record["actor"] == f"server/{pwd.getpwuid(os.geteuid()).pw_name}"
    assert json.loads(record["details"])["subject"] == "cscs:rosa"
    with database.read() as connection:
        (event,) = outbox.read(connection, outbox.PROVIDER, 0, 10)
    assert (event.kind, event.body["subject"]) == ("member.granted", "cscs:rosa")


def test_a_second_time_changes_nothing_and_is_recorded_too(canton: Run, database: Database) -> None:
    canton("cscs:rosa", "--reason", "first administrator")
    assert canton("cscs:rosa", "--reason", "again").out == "cscs:rosa is already provider-admin; nothing to do\n"
    assert [json.loads(record["details"])["outcome"] for record in records(database)] == ["done", "unchanged"]


def test_a_name_that_another_person_has_now_is_not_called_an_administrator(canton: Run, database: Database) -> None:
    canton("cscs:rosa", "--reason", "first administrator")
    with database.write() as connection:
        bindings.pin(connection, "cscs:rosa", "cscs:first")
        bindings.note_other(connection, "cscs:rosa", "cscs:second")
    status, out, complaint = canton("cscs:rosa", "--reason", "the last one left")
    assert (status != 0, out) == (True, "")
    assert "bound to another identity, cscs:first" in complaint


@pytest.mark.parametrize(
    ("subject", "reason", "complaint"),
    [
        ("cscs:rosa", " ", "with a reason"),
        ("cscs:rosa", "line\nbreak", "one line"),
        ("rosa", "first", "such as cscs:rosa"),
        ("csc:rosa", "first", "not an issuer that this server trusts; it trusts cscs"),
        ("service:psi/ci", "first", "is not a person; write ISSUER:USERNAME"),
    ],
)
def test_what_makes_no_sense_is_refused(
    canton: Run, database: Database, subject: str, reason: str, complaint: str
) -> None:
    result = canton(subject, "--reason", reason)
    assert result.status == 2
    assert complaint in result.err
    assert records(database) == []


def test_a_reason_is_needed(canton: Run) -> None:
    assert "--reason" in canton("cscs:rosa").err


def test_a_password_becomes_a_hash_that_the_issuer_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["canton", "admin", "hash-password"])
    monkeypatch.setattr(sys, "stdin", io.StringIO("a long one\n"))
    assert main() == 0
    printed = capsys.readouterr().out.strip()
    assert "long" not in printed
    assert is_hash(printed)
    assert check_password("a long one", printed)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert main() != 0
    assert "the password is empty" in capsys.readouterr().err
