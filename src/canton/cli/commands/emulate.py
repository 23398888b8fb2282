"""``canton emulate``: hands over to the command ``csm-emulator``, a package of its own."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

import click

EMULATOR = "csm_emulator"


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="\b\nExamples:\n  canton emulate psi\n  canton emulate tiny --port 0 --json\n  canton emulate status",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def emulate(arguments: tuple[str, ...]) -> None:
    """Run an emulated HPE Cray EX to try things on: the command csm-emulator.

    All arguments go to csm-emulator; `csm-emulator --help` lists its commands.
    It is a package of its own: pip install 'canton[emulator]'
    """
    if find_spec(EMULATOR) is None:
        raise click.ClickException("the emulator is not installed; install it with: pip install 'canton[emulator]'")
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", EMULATOR, *arguments])  # noqa: S606 (our own command)
