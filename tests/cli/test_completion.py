"""Completion of names: fast, cached, and silent when there is no server."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from canton.cli.session import contexts
from canton.cli.session import paths as places
from client import samples
from client.scripted_server import Script, items


def complete(words: str, *options: str) -> tuple[list[str], str]:
    """The completions that bash gets for the last word, and Python's standard error."""
    environment = {"_CANTON_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    command = [sys.executable, *options, "-m", "canton"]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=True, env=os.environ | environment
    )
    return [line.removeprefix("plain,") for line in result.stdout.split()], result.stderr


@pytest.fixture
def names(script: Script) -> Script:
    script.on("GET /v1/tenants", items(samples.tenant("psi"), samples.tenant("psycho"), samples.tenant("cscs")))
    script.on("GET /v1/nodes", items(samples.node("x1000c0s0b0n0")))
    script.on("GET /v1/operations", items(samples.operation()))
    operator = {"name": "tenant-operator", "permissions": ["node.power", "node.read"]}
    script.on("GET /v1/roles", items(operator, {"name": "tenant-viewer", "permissions": ["node.read"]}))
    return script


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("canton tenant show ps", ["psi", "psycho"]),
        ("canton node list --tenant c", ["cscs"]),
        ("canton node show x", ["x1000c0s0b0n0"]),
        ("canton node power off x1", ["x1000c0s0b0n0"]),
        ("canton operation follow ", ["op_1"]),
        ("canton node list @p", ["@psi", "@psycho"]),
        ("canton node power off @c", ["@cscs"]),
        ("canton node list --selector s", ["site=", "state="]),
        ("canton node list --selector state=q", ["state=quarantined"]),
        ("canton node list --selector power=on,tenant=c", ["power=on,tenant=cscs"]),
        ("canton role show tenant-o", ["tenant-operator"]),
        ("canton member add cscs:alice tenant-", ["tenant-operator", "tenant-viewer"]),
        ("canton member list --role tenant-v", ["tenant-viewer"]),
        ("canton service-account create ci --permission node.", ["node.power", "node.read"]),
    ],
)
def test_names_come_from_the_server(names: Script, words: str, offered: list[str]) -> None:
    assert complete(words) == (offered, "")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("canton help nod", ["node", "nodeset"]),
        ("canton help node power ", ["off", "on"]),
        ("canton help whoami ", []),
        ("canton help nosuch ", []),
    ],
)
def test_help_is_completed_with_commands(names: Script, words: str, offered: list[str]) -> None:
    assert complete(words) == (offered, "")


def test_they_are_kept_for_half_a_minute(names: Script, home: Path) -> None:
    complete("canton tenant show ps")
    names.on("GET /v1/tenants", items(samples.tenant("psx")))
    assert complete("canton tenant show ps")[0] == ["psi", "psycho"]
    assert len(names.requests) == 1
    [cache_file] = (home / "cache/canton").glob("*tenants.json")
    old = time.time() - 31
    os.utime(cache_file, (old, old))
    assert complete("canton tenant show ps")[0] == ["psx"]


def test_another_caller_s_names_are_not_shown(names: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    complete("canton tenant show ps")
    monkeypatch.setenv("CANTON_TOKEN", "another person")
    names.on("GET /v1/tenants", items(samples.tenant("cscs")))
    assert complete("canton tenant show ")[0] == ["cscs"]


def test_contexts_need_no_server(home: Path) -> None:
    contexts.put(places.user_config(), "alps", {"server": "http://127.0.0.1:1"})
    offered, loaded = complete("canton context use a", "-X", "importtime")
    assert offered == ["alps"]
    assert "canton.client" not in loaded


def test_a_server_that_is_away_offers_nothing_and_says_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANTON_SERVER", "http://127.0.0.1:1")
    assert complete("canton tenant show ps") == ([], "")


@pytest.mark.parametrize("words", ["canton node li", "canton node list --out", "canton tenant list --state ac"])
def test_commands_and_options_load_no_client(home: Path, words: str) -> None:
    offered, loaded = complete(words, "-X", "importtime")
    assert offered
    assert "canton.client" not in loaded
    assert "http.client" not in loaded


def test_the_line_of_the_docs_completes_in_bash(home: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/howto/command-line.md").read_text()
    line = "source <(canton completion bash)"
    assert line in page
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        ["/bin/bash", "--norc", "-c", f"{line} && complete -p canton"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=os.environ | {"PATH": path},
    )
    assert "_canton_completion canton" in result.stdout
