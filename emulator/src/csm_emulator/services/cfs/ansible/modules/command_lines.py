"""Exit status and output of a command line, as far as its text determines them."""

from __future__ import annotations

import re
import shlex

from csm_emulator.services.cfs.ansible.values import UNKNOWN, Value

_SEPARATORS = re.compile(r"(&&|\|\||;|\n)")
_EXIT = re.compile(r"exit\s+(\d+)\Z")
_ECHO = re.compile(r"echo\s+([^|<>&`$\\]*)\Z")
_QUOTES = re.compile(r"['\"\\]")
_FALSE = frozenset({"false", "/bin/false", "/usr/bin/false"})


def command_line(args: Value) -> str:
    """The command line in a task's arguments."""
    if isinstance(args, dict):
        argv = args.get("argv")
        if isinstance(argv, list):
            return shlex.join(str(word) for word in argv)
        return str(args.get("cmd") or args.get("_raw_params") or "").strip()
    return "" if args is None else str(args).strip()


def words(line: str) -> list[str]:
    if not _QUOTES.search(line):
        return line.split()
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def run_command(line: str) -> tuple[int, Value]:
    """Exit status and output of a command without a shell."""
    argv = words(line)
    if argv and argv[0] in _FALSE:
        return 1, ""
    if argv and argv[0] in ("echo", "/bin/echo", "/usr/bin/echo"):
        return 0, " ".join(argv[1:])
    return 0, UNKNOWN


def run_shell(text: str) -> tuple[int, Value]:
    """Exit status and output of a shell command line.

    Understood are ``false``, ``true``, ``exit N`` and ``echo``, joined by ``&&``, ``||`` and ``;``. Value other command
    succeeds with unknown output.
    """
    status, printed, separator = 0, "", ";"
    output: Value = ""
    for part in _SEPARATORS.split(text):
        if _SEPARATORS.fullmatch(part):
            separator = part
            continue
        command = part.strip()
        if not command or (separator == "&&" and status) or (separator == "||" and not status):
            continue
        exit_match = _EXIT.match(command)
        if exit_match:
            return int(exit_match[1]) % 256, output
        status, printed = _run_simple(command)
        output = UNKNOWN if UNKNOWN in (output, printed) else "\n".join(filter(None, (output, printed)))
    return status, output


def _run_simple(command: str) -> tuple[int, Value]:
    if command in _FALSE:
        return 1, ""
    if command in ("true", ":", "/bin/true"):
        return 0, ""
    echo_match = _ECHO.match(command)
    return 0, " ".join(words(echo_match[1])) if echo_match else UNKNOWN
