"""A scripted server, an empty home folder, and the command line as a user runs it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from canton.cli.main import main
from canton.cli.session import contexts
from canton.cli.session import paths as places
from cli.command_result import CommandResult, Run
from client import samples
from client.scripted_server import Reply, Script, serving


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder: no configuration, no login, no variables of the machine."""
    for name in [name for name in os.environ if name.startswith(("CANTON_", "CLICOLOR", "NO_COLOR"))]:
        monkeypatch.delenv(name)
    for name in ("config", "state", "cache"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(places, "SYSTEM_CONFIG", tmp_path / "etc/config.toml")
    return tmp_path


@pytest.fixture
def script(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    """A scripted server that the environment names, with a token for it."""
    with serving(Script()) as served:
        monkeypatch.setenv("CANTON_SERVER", served.url)
        monkeypatch.setenv("CANTON_TOKEN", "secret-token")
        # After an empty list the command line reads whether the caller has a role at all.
        served.on("GET /v1/whoami", Reply(body=samples.whoami()))
        yield served


@pytest.fixture
def canton(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process."""

    def run(*arguments: str, stdin: str = "") -> CommandResult:
        monkeypatch.setattr(sys, "argv", ["canton", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        status = main()
        captured = capsys.readouterr()
        return CommandResult(status, captured.out, captured.err)

    return run


@pytest.fixture
def context(script: Script, monkeypatch: pytest.MonkeyPatch) -> Script:
    """The same server, named by a context of the user's file instead of the environment."""
    monkeypatch.delenv("CANTON_SERVER")
    contexts.put(places.user_config(), "alps", {"server": script.url})
    contexts.use(places.user_config(), "alps")
    return script
