"""``canton apply`` and ``canton diff``: sites, tenants, quotas and members from a file."""

from __future__ import annotations

from typing import IO

import click

from canton.cli.change import confirm, refuse_if_read_only
from canton.cli.declared import Step, differences, read
from canton.cli.options import Changing, changing, connected
from canton.cli.output import write
from canton.cli.session import Session
from canton.cli.terminal import say
from canton.domain.errors import CantonError

DIFFERS, ERROR = 1, 2

file_option = click.option("-f", "--file", type=click.File("rb"), required=True, help="YAML or JSON; - is stdin.")

FORMAT = """

    \b
    sites:
      - name: alps
        description: Lugano
    tenants:
      - name: psi
        description: Paul Scherrer Institute
        quota: {nodes: 64, open_operations: 4, service_accounts: 8}
        members:
          - {subject: cscs:alice, role: tenant-admin}

    What the file does not name is left alone: nothing is ever deleted.
"""


@click.command(
    epilog="\b\nExamples:\n  canton apply -f site.yaml\n  canton apply -f site.yaml -y --reason 'spring plan'",
    help="Make sites, tenants, quotas and members as a file says." + FORMAT,
)
@file_option
@changing
@connected
def apply(session: Session, change: Changing, file: IO[bytes]) -> None:
    refuse_if_read_only(session)
    steps = list(differences(session.client, read(file.read(), _name(file))))
    if not steps:
        say("canton: everything is already so; nothing to do")
        return
    _print(steps)
    confirm(f"Make {len(steps)} {'change' if len(steps) == 1 else 'changes'} on {session.server}?", change)
    for done, step in enumerate(steps):
        try:
            step.act({"reason": change.reason})
        except CantonError as error:
            error.message += (
                f"; {done} of {len(steps)} changes were made before. Look with: canton diff -f {_name(file)}"
            )
            raise
    say(f"canton: made {len(steps)} {'change' if len(steps) == 1 else 'changes'}")


@click.command(
    epilog="\b\nExample:\n  canton diff -f site.yaml || echo differs",
    help="Say what apply would change. Exit code 0: nothing; 1: something; 2 or more: it failed." + FORMAT,
)
@file_option
@connected
def diff(session: Session, file: IO[bytes]) -> None:
    try:
        steps = list(differences(session.client, read(file.read(), _name(file))))
    except CantonError as error:
        if error.exit_code != DIFFERS:
            raise
        say(f"canton: {error.message}")
        raise click.exceptions.Exit(ERROR) from error
    _print(steps)
    if steps:
        raise click.exceptions.Exit(DIFFERS)
    say("canton: no difference")


def _name(file: IO[bytes]) -> str:
    return str(getattr(file, "name", "<stdin>"))


def _print(steps: list[Step]) -> None:
    write("".join(f"{step.text}\n" for step in steps))
