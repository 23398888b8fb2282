"""The terminal: whether there is one, whether it has colour, and messages to standard error."""

from __future__ import annotations

import os
import sys
from typing import TextIO

import click

from canton.domain.terminal_text import harmless

GREEN, YELLOW, RED, BOLD = "32", "33", "31", "1"

COLOURS = {
    **dict.fromkeys(("active", "free", "assigned", "done", "approved", "on"), GREEN),
    **dict.fromkeys(("queued", "running", "undoing", "pending", "joining", "leaving", "cleaning"), YELLOW),
    **dict.fromkeys(("suspended", "needs_attention", "quarantined", "failed", "refused", "abandoned"), RED),
}


def coloured(stream: TextIO) -> bool:
    """Whether to write colour: no-color.org, then CLICOLOR_FORCE, then what the terminal is."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("CLICOLOR_FORCE", "0") != "0":
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def paint(text: str, colour: str) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m"


def say(message: str) -> None:
    """Print a message, never data, to standard error."""
    click.echo(harmless(message), err=True)


def remark(message: str) -> None:
    """Print a message to standard error, unless -q was given."""
    if not click.get_current_context().params.get("quiet"):
        say(message)


def interactive() -> bool:
    """Whether standard input and standard error are a terminal, so that a question can be answered."""
    return sys.stdin.isatty() and sys.stderr.isatty()
