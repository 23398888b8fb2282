"""Operations: submit one, follow it, print how it ended. Ctrl-C stops following; the operation goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from canton.cli.input.options import ChangeOptions, WorkOptions
from canton.cli.output.columns import OPERATION, PLAN
from canton.cli.output.formats import Show, write
from canton.cli.output.table import cell, cut
from canton.cli.output.terminal import coloured, interactive, remark, say
from canton.cli.session.change import carry_out, confirm
from canton.cli.session.session import Session
from canton.domain.operation import DRIVEN
from canton.domain.terminal_text import one_line

if TYPE_CHECKING:
    from canton.client.calls import Change
    from canton.client.objects import Operation, Plan, Step

FAILED, PARTIAL, INTERRUPTED = 1, 7, 130
LONGEST_NODES = 60
QUIET_SECONDS = 5.0
"""After this many seconds without a change, ask the server whether it has a worker."""
STATES_BY_GRAVITY = ("failed", "acting", "waiting", "holding", "pending", "skipped", "done")
"""The states of steps, the gravest first. A node with several steps is shown in the gravest of their states."""
NEED_REASON = ("undo", "abandon")
"""The interventions that the server refuses without a reason."""


class PlannedAction:
    """An action on nodes: a function that plans it, and one that starts it."""

    def __init__(
        self, plan: Callable[[], Plan], start: Callable[[str | None, Change], Operation], *, destructive: bool
    ) -> None:
        self.plan = plan
        self.start = start
        self.destructive = destructive


def submit(session: Session, show: Show, change: ChangeOptions, work: WorkOptions, action: PlannedAction) -> None:
    """With --dry-run show the plan; otherwise ask for confirmation, start the operation and follow it."""
    if work.dry_run:
        show_plan(show, action.plan())
        return
    reviewed = work.plan
    if action.destructive and interactive() and not change.yes:
        plan = session.client.plans.get(work.plan) if work.plan else action.plan()
        confirm(question(plan), change, plan["tenant"])
        reviewed = plan["digest"]
    started = carry_out(session, change, lambda headers: action.start(reviewed, headers))
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
    """Print the plan; in a table also the option that carries out exactly this plan."""
    show.one(PLAN, plan)
    if show.format in ("table", "wide") and not show.quiet:
        say(f"canton: nothing was changed; to do exactly this, run it again with --plan {plan['digest']}")


def finish(
    session: Session, show: Show, work: WorkOptions, started: Operation, expected_states: Iterable[str] = ("done",)
) -> None:
    """Follow the operation that was started, or print the command that follows it."""
    if not (sys.stdout.isatty() if work.wait is None else work.wait):
        show.listing(OPERATION, [started])
        remark(f"canton: follow it with: canton operation follow {started['id']}")
        return
    conclude(session, show, follow(session, started["id"], work.timeout), expected_states)


def follow(session: Session, operation: str, timeout: float | None) -> Operation:
    """Show progress until the operation ends or needs attention; return it as it is then."""
    from canton.client.errors import WaitTimeout  # noqa: PLC0415 (offline commands need none)

    last: Operation | None = None
    warned = False
    with detaching(operation), _progress() as tell:
        try:
            for current in session.client.operations.follow(operation, timeout=timeout, repeat=QUIET_SECONDS):
                if current == last and not warned:
                    warned = warn_without_worker(session, current)
                last = current
                tell(current)
        except WaitTimeout as error:
            missing = _missing_worker(session)
            if missing and last is not None:
                error.message = f"{operation} is still {last['state']}: {missing}"
            raise
    assert last is not None  # noqa: S101 (following yields at least the current state)
    return last


def warn_without_worker(session: Session, operation: Operation) -> bool:
    """If the operation waits for a worker and none is running, print this and return True."""
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
    """On Ctrl-C, print that the operation goes on, and exit with 130."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"canton: detached; {operation} goes on. Follow it again with: canton operation follow {operation}")
        raise click.exceptions.Exit(INTERRUPTED) from None


def conclude(session: Session, show: Show, ended: Operation, expected_states: Iterable[str] = ("done",)) -> None:
    """Print how the operation ended; exit with 0 if as expected, 7 if some nodes failed, else 1."""
    steps = list(session.client.operations.steps(ended["id"]))
    by_state = _targets(steps)
    if show.format in ("table", "wide") and not show.quiet and by_state:
        write("".join(f"{_folded(targets)}: {cell(state)}\n" for state, targets in by_state.items()))
    else:
        show.one(OPERATION, ended)
    failed = by_state.get("failed", [])
    if ended["state"] in expected_states and not failed:
        return
    _say_failures(ended, [step for step in steps if step["state"] == "failed"], failed)
    raise click.exceptions.Exit(PARTIAL if failed and by_state.get("done") else FAILED)


def _say_failures(ended: Operation, steps: list[Step], failed: list[str]) -> None:
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
    """Print the error of the first failed step, and the possible commands if the operation needs attention."""
    failures: Any = (operation["attention"] or {}).get("failed")
    if failures:
        first = failures[0]
        say(f"canton: the first of {len(failures)} failures: {cell(first['target'])}: {cell(first['error'])}")
    offer_choices(operation)


def offer_choices(operation: Operation) -> None:
    """Print the commands that decide about an operation that needs attention, ready to be copied."""
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
        gravest_state = gravest.get(step["target"], step["state"])
        gravest[step["target"]] = min(gravest_state, step["state"], key=_gravity)
    by_state: dict[str, list[str]] = {}
    for target, state in sorted(gravest.items(), key=lambda pair: -_gravity(pair[1])):
        by_state.setdefault(state, []).append(target)
    return by_state


def _gravity(state: str) -> int:
    return STATES_BY_GRAVITY.index(state) if state in STATES_BY_GRAVITY else 0


def _folded(targets: list[str]) -> str:
    from canton.domain.nodeset.nodeset import fold  # noqa: PLC0415
    from canton.domain.nodeset.parse import is_name  # noqa: PLC0415

    return fold(targets) if all(map(is_name, targets)) else ", ".join(map(cell, targets))


@contextmanager
def _progress() -> Iterator[Callable[[Operation], None]]:
    """A progress function: it overwrites one line on a terminal, prints lines on a dumb one, else prints nothing."""
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
