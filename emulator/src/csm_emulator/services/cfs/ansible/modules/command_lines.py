"""What a command line comes to, as far as its words say."""

from __future__ import annotations

import re
import shlex
from typing import Any

from csm_emulator.services.cfs.ansible.jinja.unknown import UNKNOWN

_JOINTS = re.compile(r"(&&|\|\||;|\n)")
_EXIT = re.compile(r"exit\s+(\d+)\Z")
_ECHO = re.compile(r"echo\s+([^|<>&`$\\]*)\Z")
_QUOTES = re.compile(r"['\"\\]")
_FALSE = frozenset({"false", "/bin/false", "/usr/bin/false"})


def command_line(args: Any) -> str:
    """The command that a task's arguments name."""
    if isinstance(args, dict):
        listed = args.get("argv")
        if isinstance(listed, list):
            return shlex.join(str(word) for word in listed)
        return str(args.get("cmd") or args.get("_raw_params") or "").strip()
    return "" if args is None else str(args).strip()


def words(line: str) -> list[str]:
    if not _QUOTES.search(line):
        return line.split()
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def run_command(line: str) -> tuple[int, Any]:
    """Without a shell: (exit status, what it prints)."""
    argv = words(line)
    if argv and argv[0] in _FALSE:
        return 1, ""
    if argv and argv[0] in ("echo", "/bin/echo", "/usr/bin/echo"):
        return 0, " ".join(argv[1:])
    return 0, UNKNOWN


def run_shell(text: str) -> tuple[int, Any]:
    """With one: ``false``, ``true``, ``exit N`` and ``echo`` between ``&&``, ``||`` and ``;``. All else succeeds."""
    status, printed, joint = 0, "", ";"
    output: Any = ""
    for part in _JOINTS.split(text):
        if _JOINTS.fullmatch(part):
            joint = part
            continue
        command = part.strip()
        if not command or (joint == "&&" and status) or (joint == "||" and not status):
            continue
        leaving = _EXIT.match(command)
        if leaving:
            return int(leaving[1]) % 256, output
        status, printed = _one(command)
        output = UNKNOWN if UNKNOWN in (output, printed) else "\n".join(filter(None, (output, printed)))
    return status, output


def _one(command: str) -> tuple[int, Any]:
    if command in _FALSE:
        return 1, ""
    if command in ("true", ":", "/bin/true"):
        return 0, ""
    echoed = _ECHO.match(command)
    return 0, " ".join(words(echoed[1])) if echoed else UNKNOWN
