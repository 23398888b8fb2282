"""``canton operation``: follow work, and intervene in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from canton.cli.input.options import (
    Changing,
    Duration,
    Work,
    all_tenants,
    changing,
    changing_with_reason,
    connected,
    limited,
    names,
    shown,
    since_option,
    sorted_by,
    waiting,
)
from canton.cli.output.columns import OPERATION, STEP
from canton.cli.output.empty_lists import listed
from canton.cli.output.formats import Item, Show, write
from canton.cli.output.watch import watch as watch_list
from canton.cli.output.watch import watchable
from canton.cli.session.change import carry_out, confirm, tell
from canton.cli.session.follow import (
    NEED_REASON,
    conclude,
    detaching,
    explain_failure,
    finish,
    follow,
    warn_without_worker,
)
from canton.cli.session.session import Session

if TYPE_CHECKING:
    from canton.client.objects import Operation

identity = click.argument("operation", metavar="ID", shell_complete=names("operations"))


@click.group(epilog="\b\nExamples:\n  canton operation list --state needs_attention\n  canton operation follow op_01J…")
def operation() -> None:
    """Follow work and intervene in it.

    An operation goes on whether or not anybody follows it. One that needs attention waits for a person to decide:
    retry, undo or abandon.
    """


@operation.command("list", epilog="\b\nExample:\n  canton operation list --state running --watch")
@click.option("--state", metavar="STATE", help="Only in this state.")
@click.option("--kind", metavar="KIND", help="Only of this kind.")
@click.option("--actor", metavar="WHO", help="Only of this person or account: cscs:alice, service:psi/ci.")
@click.option("--node", metavar="XNAME", shell_complete=names("nodes"), help="Only those with this node.")
@since_option
@sorted_by("created_at")
@limited
@watchable
@all_tenants
@shown(OPERATION, many=True)
@connected
def list_operations(session: Session, show: Show, limit: int | None, watch: bool, **filters: str | None) -> None:
    """List operations, the newest first."""

    def fetch() -> list[Item]:
        return list(session.client.operations.list(limit=limit, **filters))

    if watch:
        watch_list(session, show, fetch, lambda how, items: how.listing(OPERATION, items), "operation.", "step.")
    else:
        show.listing(OPERATION, listed(session, fetch(), session.tenant))


@operation.command(
    "show", epilog="\b\nExamples:\n  canton operation show op_01J…\n  canton operation show op_01J… --steps"
)
@identity
@click.option("--steps", is_flag=True, help="Its steps instead; with -o json all that is known of them.")
@shown(OPERATION)
@connected
def show_operation(session: Session, show: Show, operation: str, steps: bool) -> None:
    """Show one operation, or its steps."""
    if steps:
        show.listing(STEP, session.client.operations.steps(operation))
    else:
        item = session.client.operations.get(operation)
        show.one(OPERATION, item)
        if show.for_people:
            explain_failure(item)
            warn_without_worker(session, item)


@operation.command("follow", epilog="\b\nExample:\n  canton operation follow op_01J…")
@identity
@click.option("--timeout", type=Duration(), metavar="TIME", help="Stop waiting after 90s, 5m, 2h; exit code 6.")
@shown(OPERATION)
@connected
def follow_operation(session: Session, show: Show, operation: str, timeout: float | None) -> None:
    """Follow an operation until it ends or needs attention.

    Ctrl-C lets go of it and it goes on. The exit code says how it ended: 0 done, 7 some nodes failed, 1 otherwise.
    With -o json, every change is a line.
    """
    if show.format == "json":
        _follow_in_json(session, operation, timeout)
    else:
        conclude(session, show, follow(session, operation, timeout))


def _follow_in_json(session: Session, operation: str, timeout: float | None) -> None:
    from canton.cli.output.formats import as_json  # noqa: PLC0415

    last: Operation | None = None
    with detaching(operation):
        for last in session.client.operations.follow(operation, timeout=timeout):
            write(as_json(last) + "\n")
    if last is None or last["state"] != "done" or last["steps"]["failed"]:
        partial = last is not None and last["steps"]["failed"] and last["steps"]["done"]
        raise click.exceptions.Exit(7 if partial else 1)


@operation.command("wait", epilog="\b\nExample:\n  canton operation wait op_01J… --timeout 10m && echo done")
@identity
@click.option("--timeout", type=Duration(), metavar="TIME", help="Stop waiting after 90s, 5m, 2h; exit code 6.")
@shown(OPERATION)
@connected
def wait_for_operation(session: Session, show: Show, operation: str, timeout: float | None) -> None:
    """Wait in silence until an operation ends or needs attention."""
    with detaching(operation):
        ended = session.client.operations.wait(operation, timeout)
    conclude(session, show, ended)


def _intervention(verb: str, wanted: tuple[str, ...], text: str, *, ask: bool) -> None:
    @operation.command(verb, help=text, epilog=f"\b\nExample:\n  canton operation {verb} op_01J… --reason 'ticket 17'")
    @identity
    @shown(OPERATION)
    @waiting
    @(changing_with_reason if verb in NEED_REASON else changing)
    @connected
    def intervene(session: Session, show: Show, change: Changing, work: Work, operation: str) -> None:
        if ask:
            found = session.client.operations.get(operation)
            steps = f"{found['steps']['done']} of {found['steps']['total']} steps are done"
            confirm(f"{verb.capitalize()} {operation} ({found['summary']}; it is {found['state']}, {steps})?", change)
        act: Callable[..., Any] = getattr(session.client.operations, verb)
        started = carry_out(session, change, lambda headers: act(operation, **headers))
        tell(session, f"{operation}: {verb} was accepted", f"{operation} is already {started['state']}")
        finish(session, show, work, started, wanted)


_intervention("retry", ("done",), "Give the failed steps of an operation another chance.", ask=False)
_intervention("undo", ("undone",), "Take back what an operation did.", ask=True)
_intervention("abandon", ("abandoned",), "Leave everything as it is; nodes in doubt are quarantined.", ask=True)
_intervention("cancel", ("cancelled", "undone"), "Begin no further step and undo those that are done.", ask=True)
