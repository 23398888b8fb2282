"""``canton node import`` and ``canton node power``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

import click

from canton.cli.input.nodes import nodesets_argument, selected_nodes, selector_option
from canton.cli.input.options import (
    ChangeOptions,
    WorkOptions,
    change_options,
    complete_names,
    output_options,
    session_options,
    work_options,
)
from canton.cli.output.columns import OPERATION
from canton.cli.output.formats import Show
from canton.cli.output.terminal import say
from canton.cli.session.change import carry_out
from canton.cli.session.follow import PlannedAction, submit
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
@click.option(
    "--site",
    metavar="SITE",
    shell_complete=complete_names("sites"),
    help="The site of the nodes; a JSON file can name it instead.",
)
@click.option("--renumber", is_flag=True, help="Change the nid of known nodes to the one in the file.")
@click.option("--dry-run", is_flag=True, help="Only print what would be changed.")
@change_options
@session_options
def import_nodes(
    session: Session, change: ChangeOptions, file: IO[bytes], site: str | None, renumber: bool, dry_run: bool
) -> None:
    """Import nodes from a file, all of them or none.

    FILE is CSV with a line of column names (xname, nid, state, tenant) or JSON: a list of objects with those keys, or
    an object with "site" and "nodes". Use - for standard input. Errors name the line of every wrong row, and of every
    row that contradicts what Canton knows of the node. A new node with the state free, or with a tenant, needs
    --reason: you confirm that nothing of an earlier user is left on it.
    """
    from canton.cli.input.node_file import explain, read  # noqa: PLC0415 (csv and json)

    rows = read(file.read(), getattr(file, "name", "<stdin>"), site)

    def act(headers: Change) -> Imported:
        return session.client.nodes.load(rows.site, rows.nodes, renumber=renumber, dry_run=dry_run, **headers)

    with explain(rows):
        imported = act({"reason": change.reason}) if dry_run else carry_out(session, change, act)
    would = "would be " if dry_run else ""
    if not dry_run and not imported["added"] + imported["changed"]:
        say(f"canton: all {imported['unchanged']} nodes already have these values; nothing to do")
    click.echo(
        f"{imported['added']} {would}added, {imported['changed']} {would}changed, {imported['unchanged']} unchanged"
    )


@click.group("power", epilog="\b\nExample:\n  canton node power on 'x1000c0s0b0n[0-3]' --reason 'ticket 17'")
def power() -> None:
    """Power nodes on and off."""


def _power(to: str, session: Session, show: Show, change: ChangeOptions, work: WorkOptions, nodes: str) -> None:
    client = session.client.nodes
    action = PlannedAction(
        lambda: client.plan("power", nodes, to=to),
        lambda plan, headers: client.power(nodes, to, plan, **headers),
        destructive=to == "off",
    )
    submit(session, show, change, work, action)


@power.command("on", epilog="\b\nExample:\n  canton node power on @psi --reason 'after maintenance' --wait")
@nodesets_argument
@selector_option
@output_options(OPERATION)
@work_options
@change_options
@session_options
def power_on(
    session: Session,
    show: Show,
    change: ChangeOptions,
    work: WorkOptions,
    nodesets: Sequence[str],
    selector: dict[str, str],
) -> None:
    """Power nodes on."""
    _power("on", session, show, change, work, selected_nodes(session, nodesets, selector))


@power.command("off", epilog="\b\nExample:\n  canton node power off 'x1000c0s0b0n[0-3]' --reason 'ticket 17' --dry-run")
@nodesets_argument
@selector_option
@output_options(OPERATION)
@work_options
@change_options
@session_options
def power_off(
    session: Session,
    show: Show,
    change: ChangeOptions,
    work: WorkOptions,
    nodesets: Sequence[str],
    selector: dict[str, str],
) -> None:
    """Power nodes off.

    On a terminal it asks you to type the name of the nodes' tenant.
    """
    _power("off", session, show, change, work, selected_nodes(session, nodesets, selector))
