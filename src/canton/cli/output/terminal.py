"""What is known of the terminal: whether there is one, colour, and the words for people on it."""

from __future__ import annotations

import os
import sys
from typing import TextIO

import click

from canton.domain.harmless import harmless

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
    """A word for the person, never data."""
    click.echo(harmless(message), err=True)


def remark(message: str) -> None:
    """A word for the person that -q leaves out."""
    if not click.get_current_context().params.get("quiet"):
        say(message)


def interactive() -> bool:
    """Whether somebody is there to answer a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()
