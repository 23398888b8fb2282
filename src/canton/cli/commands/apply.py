"""``canton apply``, ``canton diff`` and ``canton export``: sites, tenants, quotas and members in a file."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

import click

from canton.cli.input.declared_state import LIMITS, Step, differences, read
from canton.cli.input.options import ChangeOptions, change_options, session_options
from canton.cli.output.formats import as_yaml, write
from canton.cli.output.terminal import say
from canton.cli.session.change import confirm, refuse_if_read_only
from canton.cli.session.session import Session
from canton.domain.errors import CantonError
from canton.domain.terminal_text import harmless

if TYPE_CHECKING:
    from canton.cli.input.declared_state_checks import Conditions

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

    What the file does not name stays as it is: apply deletes nothing.
"""


@click.command(
    epilog="\b\nExamples:\n  canton apply -f site.yaml --dry-run\n"
    "  canton apply -f site.yaml -y --reason 'spring plan'",
    help="Create and update sites, tenants, quotas and members from a file. It is checked before the first change."
    + FORMAT,
)
@file_option
@click.option("--dry-run", is_flag=True, help="Only print what would be changed, after the same checks.")
@change_options
@session_options
def apply(session: Session, change: ChangeOptions, file: IO[bytes], dry_run: bool) -> None:
    if not dry_run:
        refuse_if_read_only(session)
    from canton.cli.input.declared_state_checks import check_second_person_and_reason  # noqa: PLC0415

    steps, conditions = _checked(session, file)
    if steps:
        check_second_person_and_reason(steps, conditions, change.reason, _name(file))
    else:
        say("canton: the server already matches the file; nothing to do")
        return
    _print(steps)
    if dry_run:
        say(f"canton: nothing was changed; without --dry-run there would be {_changes(steps)}")
        return
    confirm(f"Make {_changes(steps)} on {session.server}?", change)
    for changes_made, step in enumerate(steps):
        try:
            step.act({"reason": change.reason})
        except CantonError as error:
            error.message += (
                f"; {changes_made} of {len(steps)} changes were made before this error. "
                f"Look with: canton diff -f {_name(file)}"
            )
            raise
    say(f"canton: made {_changes(steps)}")


@click.command(
    epilog="\b\nExample:\n  canton diff -f site.yaml || echo differs",
    help="Show what apply would change, or why it would refuse. Exit code 0: no difference; 1: differences; 2 or more: "
    "failed." + FORMAT,
)
@file_option
@session_options
def diff(session: Session, file: IO[bytes]) -> None:
    try:
        steps, conditions = _checked(session, file)
    except CantonError as error:
        if error.exit_code != DIFFERS:
            raise
        say(f"canton: {error.message}")
        raise click.exceptions.Exit(ERROR) from error
    _print(steps)
    if conditions.two_persons:
        say(f"canton: apply would refuse this: {', '.join(conditions.two_persons)} needs a second person")
    if conditions.reason:
        say(f"canton: apply needs --reason for this, because of {', '.join(conditions.reason)}")
    if steps:
        raise click.exceptions.Exit(DIFFERS)
    say("canton: no difference")


@click.command(epilog="\b\nExample:\n  canton export > site.yaml && canton diff -f site.yaml")
@session_options
def export(session: Session) -> None:
    """Write the sites, tenants, quotas and members that you can see as YAML, for apply.

    Roles at the provider, and roles that an issuer gives, are left out.
    """
    client = session.client
    sites = [{"name": site["name"], "description": site["description"]} for site in client.sites.list()]
    tenants = [_declaration(session, tenant["name"], tenant["description"]) for tenant in client.tenants.list()]
    write(as_yaml({"sites": sites, "tenants": tenants}))


def _declaration(session: Session, name: str, description: str) -> dict[str, object]:
    quota = dict(session.client.tenants.quota(name))
    members = [
        {"subject": it["subject"], "role": it["role"], **({"until": it["until"]} if it["until"] else {})}
        for it in session.client.bindings.list(tenant=name)
    ]
    limits = {key: quota[key] for key in LIMITS}
    return {"name": name, "description": description, "quota": limits, "members": members}


def _checked(session: Session, file: IO[bytes]) -> tuple[list[Step], Conditions]:
    """What has to change, if the server would take all of it."""
    from canton.cli.input.declared_state_checks import check, check_allowed  # noqa: PLC0415 (an export needs none)

    declared = read(file.read(), _name(file))
    check(session.client, declared, _name(file))
    steps = list(differences(session.client, declared))
    return steps, check_allowed(session.client, steps, _name(file))


def _changes(steps: list[Step]) -> str:
    return f"{len(steps)} {'change' if len(steps) == 1 else 'changes'}"


def _name(file: IO[bytes]) -> str:
    return str(getattr(file, "name", "<stdin>"))


def _print(steps: list[Step]) -> None:
    write("".join(f"{harmless(step.text)}\n" for step in steps))
