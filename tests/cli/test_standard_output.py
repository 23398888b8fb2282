"""Standard output that is closed, full or not read: a plain message, an exit code, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from client import samples
from client.scripted_server import Reply, Script

FOLDER = Path(sys.executable).parent
CLOSED = "canton: standard output is closed, so that nothing can be shown; leave out >&-, or write to a file\n"
FULL = (
    "canton: cannot write to standard output: No space left on device; the output is incomplete. "
    "If the command changes something, it has done so\n"
)


def shell(command: str, tmp_path: Path, **variables: str) -> tuple[int, str]:
    environment = os.environ | {"PATH": f"{FOLDER}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)} | variables
    result = subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.stdout == ""
    return result.returncode, result.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["--help", "--version", "nodeset expand 'x1000c0s[0-7]b0n[0-1]'", "settings"])
@pytest.mark.parametrize(
    ("redirection", "status", "message"),
    [(">&-", 1, CLOSED), (">/dev/full", 1, FULL), ("| { exec <&-; }", 141, "")],
)
def test_what_cannot_be_shown_is_said(
    tmp_path: Path, command: str, redirection: str, status: int, message: str, unbuffered: str
) -> None:
    assert shell(f"canton {command} {redirection}", tmp_path, PYTHONUNBUFFERED=unbuffered) == (status, message)


@pytest.mark.parametrize("redirection", [">&-", ">/dev/full"])
def test_a_failure_is_a_failure_of_the_command_first(tmp_path: Path, redirection: str) -> None:
    status, message = shell(f"canton nodeset expand 'x[1-' {redirection}", tmp_path)
    assert status == 2
    assert "standard output" not in message


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", ">&- 2>&-", ">/dev/full 2>/dev/full"])
def test_without_standard_error_the_exit_code_says_it(tmp_path: Path, redirection: str) -> None:
    assert shell(f"canton nodee {redirection}", tmp_path) == (2, "")


@pytest.mark.parametrize("command", ["create sa_1", "rotate sa_1", "create sa_1 -o json"])
def test_a_token_that_cannot_be_shown_is_not_made(tmp_path: Path, script: Script, command: str) -> None:
    assert shell(f"canton service-account token {command} >&-", tmp_path) == (1, CLOSED)
    assert script.requests == []


def test_one_that_was_lost_on_the_way_is_named(tmp_path: Path, script: Script) -> None:
    script.on("POST /v1/service-accounts/sa_1/tokens", Reply(201, samples.issued_token()))
    status, message = shell("canton service-account token create sa_1 >/dev/full", tmp_path)
    assert (status, message[:19]) == (1, "canton: token tk_1,")
    assert message.endswith(FULL)
