"""``canton audit``, for an auditor."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from canton.cli.main import main
from canton.store import audit, schema
from canton.store.database import Database
from canton.store.maintenance import migrate

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def canton(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], database: Database, database_url: str
) -> Run:
    """Runs ``canton audit`` on a chain of three records; returns exit code, standard output and standard error."""
    add(database, 3)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["canton", "audit", *arguments, "--database", database_url])
        status = main()
        captured = capsys.readouterr()
        # test_which_database.py tests the line that names the database.
        return status, captured.out, re.sub(r"\Adatabase .*, chosen by .*\n", "", captured.err)

    return run


def add(database: Database, count: int) -> None:
    with database.write() as connection:
        for _ in range(count):
            audit.append(connection, actor="a", action="b", subject="c", reason="d", details={})


def head(database: Database) -> audit.Head:
    with database.read() as connection:
        return audit.head(connection)


def test_verify_counts_the_records_and_names_the_head(canton: Run, database: Database) -> None:
    assert canton("verify") == (0, f"audit chain intact: 3 records, head 3:{head(database).hash}\n", "")


def test_a_head_printed_earlier_is_an_anchor(canton: Run, database: Database) -> None:
    status, anchor, _ = canton("head")
    assert (status, anchor) == (0, f"{head(database)}\n")
    add(database, 2)
    assert canton("verify", "--anchor", anchor)[0] == 0


def test_an_anchor_finds_a_chain_that_was_made_anew(canton: Run, database: Database) -> None:
    _, anchor, _ = canton("head")
    with database.write() as connection:
        if database.is_postgresql:
            connection.exec_driver_sql("ALTER TABLE audit DISABLE TRIGGER USER")
        else:
            connection.exec_driver_sql("DROP TRIGGER audit_refuses_delete")
        connection.execute(sa.delete(schema.audit))
        connection.execute(sa.update(schema.audit_head).values(seq=0, hash=audit.GENESIS))
    add(database, 3)
    assert canton("verify")[0] == 0
    status, out, complaint = canton("verify", "--anchor", anchor)
    assert (status, out) == (1, "")
    assert "the chain was rewritten at record 3 or before" in complaint


def test_a_broken_chain_is_named(canton: Run, database: Database) -> None:
    with database.write() as connection:
        connection.execute(sa.update(schema.audit_head).values(seq=5, hash="sha256:"))
    status, out, complaint = canton("verify")
    assert (status, out) == (1, "")
    assert complaint.startswith("canton: the audit chain is broken: record 4 is missing: the head row says")


@pytest.mark.parametrize("anchor", ["", "3", "3:", "3:sha256:abc", f"-1:{audit.GENESIS}", f"x:{audit.GENESIS}"])
def test_an_anchor_must_be_what_head_printed(canton: Run, anchor: str) -> None:
    status, _, complaint = canton("verify", "--anchor", anchor)
    assert status == 2
    assert "as `canton audit head` printed it" in complaint


def test_an_older_database_can_be_verified_without_changing_it(canton: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backup kept as evidence is not upgraded first."""
    newer = [*migrate.revisions(), "9999_pre_future"]
    monkeypatch.setattr(migrate, "revisions", lambda _directory: newer)
    assert canton("verify")[0] == 0


def test_help_says_what_only_an_anchor_finds(canton: Run) -> None:
    _, out, _ = canton("verify", "--help")
    assert "Only an anchor reveals that" in " ".join(out.split())
