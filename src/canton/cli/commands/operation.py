"""``canton operation``: follow operations and intervene in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from canton.cli.input.options import (
    ChangeOptions,
    Duration,
    WorkOptions,
    all_tenants_option,
    change_options,
    change_options_with_reason,
    complete_names,
    limit_option,
    output_options,
    session_options,
    since_option,
    sort_option,
    wait_options,
)
from canton.cli.output.columns import OPERATION, STEP
from canton.cli.output.empty_lists import explain_empty
from canton.cli.output.formats import Item, Show, write
from canton.cli.output.watch import watch as watch_list
from canton.cli.output.watch import watch_option
from canton.cli.session.change import carry_out, confirm, say_result
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

identity = click.argument("operation", metavar="ID", shell_complete=complete_names("operations"))


@click.group(epilog="\b\nExamples:\n  canton operation list --state needs_attention\n  canton operation follow op_01J…")
def operation() -> None:
    """Follow operations and intervene in them.

    An operation runs whether or not a command follows it. In the state needs_attention it waits for your decision:
    retry, undo or abandon.
    """


@operation.command("list", epilog="\b\nExample:\n  canton operation list --state running --watch")
@click.option("--state", metavar="STATE", help="Only in this state.")
@click.option("--kind", metavar="KIND", help="Only of this kind.")
@click.option(
    "--actor", metavar="WHO", help="Only operations started by this person or account: cscs:alice, service:psi/ci."
)
@click.option("--node", metavar="XNAME", shell_complete=complete_names("nodes"), help="Only operations on this node.")
@since_option
@sort_option("created_at")
@limit_option
@watch_option
@all_tenants_option
@output_options(OPERATION, many=True)
@session_options
def list_operations(session: Session, show: Show, limit: int | None, watch: bool, **filters: str | None) -> None:
    """List operations, the newest first."""

    def fetch() -> list[Item]:
        return list(session.client.operations.list(limit=limit, **filters))

    if watch:
        watch_list(session, show, fetch, lambda how, items: how.listing(OPERATION, items), "operation.", "step.")
    else:
        show.listing(OPERATION, explain_empty(session, fetch(), session.tenant))


@operation.command(
    "show", epilog="\b\nExamples:\n  canton operation show op_01J…\n  canton operation show op_01J… --steps"
)
@identity
@click.option("--steps", is_flag=True, help="Show its steps instead; -o json shows every field of them.")
@output_options(OPERATION)
@session_options
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
@click.option(
    "--timeout", type=Duration(), metavar="TIME", help="Stop waiting after this time (90s, 5m, 2h); exit code 6."
)
@output_options(OPERATION)
@session_options
def follow_operation(session: Session, show: Show, operation: str, timeout: float | None) -> None:
    """Follow an operation until it ends or needs attention.

    Ctrl-C ends only this command; the operation goes on. Exit code: 0 done, 7 some nodes failed, 1 otherwise.
    With -o json, every change is one line.
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
@click.option(
    "--timeout", type=Duration(), metavar="TIME", help="Stop waiting after this time (90s, 5m, 2h); exit code 6."
)
@output_options(OPERATION)
@session_options
def wait_for_operation(session: Session, show: Show, operation: str, timeout: float | None) -> None:
    """Wait without output until an operation ends or needs attention."""
    with detaching(operation):
        ended = session.client.operations.wait(operation, timeout)
    conclude(session, show, ended)


def _intervention(verb: str, expected_states: tuple[str, ...], text: str, *, ask: bool) -> None:
    @operation.command(verb, help=text, epilog=f"\b\nExample:\n  canton operation {verb} op_01J… --reason 'ticket 17'")
    @identity
    @output_options(OPERATION)
    @wait_options
    @(change_options_with_reason if verb in NEED_REASON else change_options)
    @session_options
    def intervene(session: Session, show: Show, change: ChangeOptions, work: WorkOptions, operation: str) -> None:
        if ask:
            current = session.client.operations.get(operation)
            steps = f"{current['steps']['done']} of {current['steps']['total']} steps are done"
            confirm(
                f"{verb.capitalize()} {operation} ({current['summary']}; it is {current['state']}, {steps})?", change
            )
        act: Callable[..., Any] = getattr(session.client.operations, verb)
        started = carry_out(session, change, lambda headers: act(operation, **headers))
        say_result(session, f"{operation}: {verb} was accepted", f"{operation} is already {started['state']}")
        finish(session, show, work, started, expected_states)


_intervention("retry", ("done",), "Try the failed steps of an operation again.", ask=False)
_intervention("undo", ("undone",), "Undo the steps that an operation has done.", ask=True)
_intervention(
    "abandon",
    ("abandoned",),
    "End an operation without undoing it. Nodes in an unknown state are quarantined.",
    ask=True,
)
_intervention("cancel", ("cancelled", "undone"), "Start no further step, and undo the steps that are done.", ask=True)
