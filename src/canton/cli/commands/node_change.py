"""The verbs of ``canton node`` that change something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

import click

from canton.cli.input.nodes import chosen, nodesets, selecting
from canton.cli.input.options import Changing, Work, changing, connected, names, shown, working
from canton.cli.output.columns import OPERATION
from canton.cli.output.formats import Show
from canton.cli.output.terminal import say
from canton.cli.session.change import carry_out
from canton.cli.session.follow import Order, submit
from canton.cli.session.session import Session

if TYPE_CHECKING:
    from canton.client.calls import Change
    from canton.client.objects import Imported


@click.command(
    "import",
    epilog="\b\nExamples:\n  canton node import --site alps nodes.csv --dry-run\n"
    "  canton node import --site alps - < nodes.json",
)
@click.argument("file", type=click.File("rb"))
@click.option("--site", metavar="SITE", shell_complete=names("sites"), help="Where they stand; a JSON file can say it.")
@click.option("--renumber", is_flag=True, help="Change a nid that differs from the one that is known.")
@click.option("--dry-run", is_flag=True, help="Only say what would happen.")
@changing
@connected
def import_nodes(
    session: Session, change: Changing, file: IO[bytes], site: str | None, renumber: bool, dry_run: bool
) -> None:
    """Import nodes from a file, all of them or none.

    FILE is CSV with a line of column names (xname, nid, state, tenant) or JSON: a list of objects with those keys, or
    an object with "site" and "nodes". Use - for standard input. Every wrong row is named with its line, and so is a row
    that contradicts what Canton knows of the node. To say of a new node that it is free, or a tenant's, is to vouch
    for it: that takes a reason.
    """
    from canton.cli.input.node_file import explain, read  # noqa: PLC0415 (csv and json)

    rows = read(file.read(), getattr(file, "name", "<stdin>"), site)

    def act(headers: Change) -> Imported:
        return session.client.nodes.load(rows.site, rows.nodes, renumber=renumber, dry_run=dry_run, **headers)

    with explain(rows):
        done = act({"reason": change.reason}) if dry_run else carry_out(session, change, act)
    would = "would be " if dry_run else ""
    if not dry_run and not done["added"] + done["changed"]:
        say(f"canton: all {done['unchanged']} nodes were already so; nothing to do")
    click.echo(f"{done['added']} {would}added, {done['changed']} {would}changed, {done['unchanged']} unchanged")


@click.group("power", epilog="\b\nExample:\n  canton node power on 'x1000c0s0b0n[0-3]' --reason 'ticket 17'")
def power() -> None:
    """Switch nodes on and off."""


def _power(to: str, session: Session, show: Show, change: Changing, work: Work, nodes: str) -> None:
    client = session.client.nodes
    order = Order(
        lambda: client.plan("power", nodes, to=to),
        lambda plan, headers: client.power(nodes, to, plan, **headers),
        destructive=to == "off",
    )
    submit(session, show, change, work, order)


@power.command("on", epilog="\b\nExample:\n  canton node power on @psi --reason 'after maintenance' --wait")
@nodesets
@selecting
@shown(OPERATION)
@working
@changing
@connected
def power_on(
    session: Session, show: Show, change: Changing, work: Work, nodesets: Sequence[str], selector: dict[str, str]
) -> None:
    """Switch nodes on."""
    _power("on", session, show, change, work, chosen(session, nodesets, selector))


@power.command("off", epilog="\b\nExample:\n  canton node power off 'x1000c0s0b0n[0-3]' --reason 'ticket 17' --dry-run")
@nodesets
@selecting
@shown(OPERATION)
@working
@changing
@connected
def power_off(
    session: Session, show: Show, change: Changing, work: Work, nodesets: Sequence[str], selector: dict[str, str]
) -> None:
    """Switch nodes off.

    On a terminal you are asked for the name of the tenant that they belong to.
    """
    _power("off", session, show, change, work, chosen(session, nodesets, selector))
