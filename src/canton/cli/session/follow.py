"""Work that takes time: submit it, follow it, say how it ended. Ctrl-C lets go of it and never stops it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from canton.cli.input.options import Changing, Work
from canton.cli.output.columns import OPERATION, PLAN
from canton.cli.output.formats import Show, write
from canton.cli.output.table import cell, cut
from canton.cli.output.terminal import coloured, interactive, remark, say
from canton.cli.session.change import carry_out, confirm
from canton.cli.session.session import Session
from canton.domain.harmless import one_line
from canton.domain.operation import DRIVEN

if TYPE_CHECKING:
    from canton.client.calls import Change
    from canton.client.objects import Operation, Plan, Step

FAILED, PARTIAL, INTERRUPTED = 1, 7, 130
LONGEST_NODES = 60
SILENCE = 5.0
"""Seconds without a change after which the server is asked whether it has a worker."""
GRAVITY = ("failed", "acting", "waiting", "holding", "pending", "skipped", "done")
"""A node with several steps counts as the gravest of them."""
NEED_REASON = ("undo", "abandon")
"""The choices about an operation that are refused without a reason."""


class Order:
    """Something to be done to nodes: how to plan it and how to start it."""

    def __init__(
        self, plan: Callable[[], Plan], start: Callable[[str | None, Change], Operation], *, destructive: bool
    ) -> None:
        self.plan = plan
        self.start = start
        self.destructive = destructive


def submit(session: Session, show: Show, change: Changing, work: Work, order: Order) -> None:
    """Show the plan, or start the work after the plan was agreed to, and follow it."""
    if work.dry_run:
        show_plan(show, order.plan())
        return
    reviewed = work.plan
    if order.destructive and interactive() and not change.yes:
        plan = session.client.plans.get(work.plan) if work.plan else order.plan()
        confirm(question(plan), change, plan["tenant"])
        reviewed = plan["digest"]
    started = carry_out(session, change, lambda headers: order.start(reviewed, headers))
    finish(session, show, work, started)


def question(plan: Plan) -> str:
    """``Power off 128 nodes (x1000c[0-7]s0b0n0) of psi?``"""
    from canton.domain.nodeset.nodeset import parse  # noqa: PLC0415

    count = len(parse(plan["nodes"]))
    nodes = f"{count} node{'' if count == 1 else 's'} ({cut(cell(plan['nodes']), LONGEST_NODES)})"
    summary, tenant = plan["summary"], plan["tenant"]
    what = summary.replace(plan["nodes"], nodes) if plan["nodes"] in summary else f"{summary}: {nodes}"
    of = f" of {tenant}" if tenant and f" {tenant}" not in summary else ""
    return f"{what[:1].upper()}{what[1:]}{of}?"


def show_plan(show: Show, plan: Plan) -> None:
    """The plan; for people with the command part that binds an execution to it."""
    show.one(PLAN, plan)
    if show.format in ("table", "wide") and not show.quiet:
        say(f"canton: nothing was changed; to do exactly this, run it again with --plan {plan['digest']}")


def finish(session: Session, show: Show, work: Work, started: Operation, wanted: Iterable[str] = ("done",)) -> None:
    """Follow work that was started, or say how to."""
    if not (sys.stdout.isatty() if work.wait is None else work.wait):
        show.listing(OPERATION, [started])
        remark(f"canton: follow it with: canton operation follow {started['id']}")
        return
    conclude(session, show, follow(session, started["id"], work.timeout), wanted)


def follow(session: Session, operation: str, timeout: float | None) -> Operation:
    """The operation once it rests, with its progress shown on the way."""
    from canton.client.errors import WaitTimeout  # noqa: PLC0415 (offline commands need none)

    last: Operation | None = None
    warned = False
    with detaching(operation), _progress() as tell:
        try:
            for found in session.client.operations.follow(operation, timeout=timeout, repeat=SILENCE):
                if found == last and not warned:
                    warned = warn_without_worker(session, found)
                last = found
                tell(found)
        except WaitTimeout as error:
            missing = _missing_worker(session)
            if missing and last is not None:
                error.message = f"{operation} is still {last['state']}: {missing}"
            raise
    assert last is not None  # noqa: S101 (following gives at least what there is)
    return last


def warn_without_worker(session: Session, operation: Operation) -> bool:
    """Say that nothing will happen to an operation that is to be carried out, if no worker is there to do it."""
    missing = _missing_worker(session) if operation["state"] in DRIVEN else None
    if missing:
        if sys.stderr.isatty() and coloured(sys.stderr):
            _overwrite("")
        say(f"canton: {operation['id']} waits: {cell(missing)}")
    return missing is not None


def _missing_worker(session: Session) -> str | None:
    problem = session.client.readiness_problems().get("worker")
    return f"no worker carries it out; {problem}" if problem else None


@contextmanager
def detaching(operation: str) -> Iterator[None]:
    """Ctrl-C ends the watching and not the work, and says so."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"canton: detached; {operation} goes on. Follow it again with: canton operation follow {operation}")
        raise click.exceptions.Exit(INTERRUPTED) from None


def conclude(session: Session, show: Show, ended: Operation, wanted: Iterable[str] = ("done",)) -> None:
    """Print how it ended; leave with the exit code that says so."""
    steps = list(session.client.operations.steps(ended["id"]))
    by_state = _targets(steps)
    if show.format in ("table", "wide") and not show.quiet and by_state:
        write("".join(f"{_folded(targets)}: {cell(state)}\n" for state, targets in by_state.items()))
    else:
        show.one(OPERATION, ended)
    failed = by_state.get("failed", [])
    if ended["state"] in wanted and not failed:
        return
    _complain(ended, [step for step in steps if step["state"] == "failed"], failed)
    raise click.exceptions.Exit(PARTIAL if failed and by_state.get("done") else FAILED)


def _complain(ended: Operation, steps: list[Step], failed: list[str]) -> None:
    identity = ended["id"]
    if failed:
        say(f"canton: failed: {_folded(failed)}")
        for step in steps[:10]:
            say(f"  {step['target']}: {cell(step['error'])}")
    say(f"canton: {identity} is {ended['state']}")
    if ended["attention"]:
        say(f"  {cell(ended['attention'])}")
    offer_choices(ended)


def explain_failure(operation: Operation) -> None:
    """Say the cause of the first step that failed, and the choices, if the operation waits for a decision."""
    failures: Any = (operation["attention"] or {}).get("failed")
    if failures:
        first = failures[0]
        say(f"canton: the first of {len(failures)} failures: {cell(first['target'])}: {cell(first['error'])}")
    offer_choices(operation)


def offer_choices(operation: Operation) -> None:
    """Say the commands that decide about an operation that needs attention, each as it can be copied."""
    if operation["state"] != "needs_attention":
        return
    choices: Any = (operation["attention"] or {}).get("choices", ("retry", "undo", "abandon"))
    say("decide with one of:")
    for verb in choices:
        reason = " --reason '…'" if verb in NEED_REASON else ""
        say(f"  canton operation {cell(verb)} {operation['id']}{reason}")


def _targets(steps: Iterable[Step]) -> dict[str, list[str]]:
    gravest: dict[str, str] = {}
    for step in steps:
        known = gravest.get(step["target"], step["state"])
        gravest[step["target"]] = min(known, step["state"], key=_gravity)
    by_state: dict[str, list[str]] = {}
    for target, state in sorted(gravest.items(), key=lambda pair: -_gravity(pair[1])):
        by_state.setdefault(state, []).append(target)
    return by_state


def _gravity(state: str) -> int:
    return GRAVITY.index(state) if state in GRAVITY else 0


def _folded(targets: list[str]) -> str:
    from canton.domain.nodeset.nodeset import fold  # noqa: PLC0415
    from canton.domain.nodeset.parse import is_name  # noqa: PLC0415

    return fold(targets) if all(map(is_name, targets)) else ", ".join(map(cell, targets))


@contextmanager
def _progress() -> Iterator[Callable[[Operation], None]]:
    """One line that is written over on a terminal; a line for each state on a dumb one; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _operation: None
        return
    if not coloured(sys.stderr):
        yield lambda operation: say(progress_text(operation))
        return
    try:
        yield lambda operation: _overwrite(progress_text(operation))
    finally:
        _overwrite("")


def _overwrite(text: str) -> None:
    import shutil  # noqa: PLC0415 (only a terminal has a width)

    room = shutil.get_terminal_size().columns - 1
    sys.stderr.write(f"\r\x1b[K{one_line(text)[:room]}")
    sys.stderr.flush()


def progress_text(operation: Operation) -> str:
    """How far an operation has come, on one line."""
    steps = operation["steps"]
    parts = [f"{steps['done']}/{steps['total']} done"]
    parts += [f"{steps['failed']} failed"] if steps["failed"] else []
    parts += [f"{steps['under_way']} under way"] if steps["under_way"] else []
    return f"{operation['id']} {operation['state']}: {', '.join(parts)}  {cell(operation['summary'])}"
