"""``canton emulate``: hands over to the command ``csm-emulator``, a package of its own."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

import click

EMULATOR = "csm_emulator"


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def emulate(arguments: tuple[str, ...]) -> None:
    """Run an emulated HPE Cray EX to try things on: the command csm-emulator.

    `canton emulate psi` is `csm-emulator psi`, and `canton emulate --help` shows its help.
    It is a package of its own: pip install 'canton[emulator]'
    """
    if find_spec(EMULATOR) is None:
        raise click.ClickException("the emulator is not installed; install it with: pip install 'canton[emulator]'")
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", EMULATOR, *arguments])  # noqa: S606 (our own command)
