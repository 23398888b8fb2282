"""Every command on the server's machine uses the server's database, and says which one and why."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from canton.cli.main import main

Run = Callable[..., tuple[int, str, str]]
HINT = "if a server has run here with a configuration, name it instead"


@pytest.fixture
def canton(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("CANTON_DATABASE", "CANTON_CONFIG"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["canton", *arguments])
        status = main()
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "a b" / "server.toml"
    path.parent.mkdir()
    path.write_text(f'database = "sqlite:///{tmp_path}/site.db"\n[embedded_issuer]\nenabled = true\n')
    return str(path)


@pytest.mark.parametrize(
    "command",
    [
        ("serve", "--listen", "127.0.0.1:0"),
        ("worker",),
        ("db", "check"),
        ("audit", "head"),
        ("admin", "add", "local:rosa", "--reason", "the first"),
    ],
)
def test_what_a_refusal_says_to_run_leads_to_the_same_database(
    canton: Run, config: str, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """The default database exists and is current: the hint without options would report nothing to do."""
    assert canton("db", "upgrade")[0] == 0
    status, _, complaint = canton(*command, "--config", config)
    assert status != 0
    hint = re.search(r"canton (db upgrade --config '[^']+')", complaint)
    assert hint, complaint
    status, out, _ = canton(*shlex.split(hint[1]))
    assert (status, "empty →" in out) == (0, True)
    assert (tmp_path / "site.db").exists()
    assert "db upgrade" not in canton("db", "check", "--config", config)[2]


@pytest.mark.parametrize(
    "command", [("db", "upgrade"), ("db", "check"), ("audit", "head"), ("db", "backup", "copy.db")]
)
def test_every_command_names_its_database_and_what_chose_it(
    canton: Run, config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        f"database sqlite:///{tmp_path}/site.db, chosen by {config} line 1\n" in canton(*command, "--config", config)[2]
    )
    monkeypatch.setenv("CANTON_DATABASE", f"sqlite:///{tmp_path}/env.db")
    assert f"database sqlite:///{tmp_path}/env.db, chosen by CANTON_DATABASE\n" in canton(*command)[2]
    flag = f"sqlite:///{tmp_path}/flag.db"
    assert f"database {flag}, chosen by --database\n" in canton(*command, "--database", flag)[2]
    monkeypatch.delenv("CANTON_DATABASE")
    assert "state/canton/canton.db, chosen by the default\n" in canton(*command)[2]


def test_an_audit_without_records_is_not_called_intact(canton: Run, config: str) -> None:
    assert canton("db", "upgrade", "--config", config)[0] == 0
    status, out, complaint = canton("audit", "verify", "--config", config)
    assert (status, out) == (3, "")
    assert "holds no record" in complaint
    assert "--config" in complaint
    missing = canton("audit", "verify")
    assert missing[0] != 0
    assert "there is no database" in missing[2]
    assert missing[2].endswith(f"; {HINT}: --config FILE\n")


def test_the_configuration_of_a_development_server_is_named(canton: Run, tmp_path: Path) -> None:
    """`canton audit verify` right after the first hour: the record is there, though not in the default database."""
    config = tmp_path / "state" / "canton" / "dev" / "server.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'database = "sqlite:///{tmp_path}/dev.db"\n')
    assert canton("audit", "verify")[2].endswith(f"; {HINT}: --config {config}\n")
    assert canton("db", "upgrade", "--config", str(config))[0] == 0
    assert canton("audit", "head", "--config", str(config))[0] == 0


def test_the_default_database_is_not_taken_for_that_of_a_development_server(canton: Run, tmp_path: Path) -> None:
    """`db upgrade` makes the default one, and a backup of it would succeed and hold nothing."""
    file = tmp_path / "state" / "canton" / "dev" / "server.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[api]\n")
    for command in (("db", "upgrade"), ("db", "backup", str(tmp_path / "copy.db"))):
        status, _, message = canton(*command)
        assert status == 0
        assert f"chosen by the default; that of canton serve --dev is another: --config {file}\n" in message


def test_a_password_is_in_no_hint(canton: Run) -> None:
    _, out, complaint = canton("db", "check", "--database", "postgresql://canton:sesame@127.0.0.1:1/canton")
    assert "sesame" not in out + complaint
    assert "postgresql://canton:(hidden)@127.0.0.1:1/canton, chosen by --database" in complaint
