"""What every change has in common: confirmation, read-only contexts, approval by a second person, the result."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from canton.cli.input.options import ChangeOptions
from canton.cli.output.terminal import interactive, remark, say
from canton.cli.session.session import Session
from canton.domain.errors import Forbidden
from canton.domain.terminal_text import harmless

if TYPE_CHECKING:
    from canton.client.calls import Change
    from canton.client.errors import Problem

T = TypeVar("T")

POLL_INTERVAL = 2.0
"""Seconds between two requests for the state of an approval."""


def confirm(question: str, change: ChangeOptions, name: str | None = None) -> None:
    """Ask for confirmation on a terminal. With a ``name`` it must be typed: for changes that lose much."""
    if change.yes or not interactive():
        return
    if name is None:
        agreed = _ask_yes_or_no(harmless(question))
    else:
        agreed = _ask(harmless(f"{question}\nType {name} to go on")) == name
    if not agreed:
        say("canton: nothing was changed")
        raise click.exceptions.Exit(1)


def _ask_yes_or_no(question: str) -> bool:
    while True:
        answer = _ask(f"{question} [y/N]").strip().lower()
        if answer in ("y", "yes"):
            return True
        if answer in ("", "n", "no"):
            return False
        say("canton: answer y or n")


def _ask(question: str) -> str:
    try:
        return str(click.prompt(question, default="", show_default=False, err=True))
    except click.Abort:  # Ctrl-C or Ctrl-D, which leave the cursor behind the question
        say("\ncanton: nothing was changed")
        raise


def carry_out(session: Session, change: ChangeOptions, act: Callable[[Change], T]) -> T:
    """Make the change; if it needs a second person, print what to do next or wait for the approval."""
    from canton.client.errors import Problem  # noqa: PLC0415 (offline commands need none)

    refuse_if_read_only(session)
    try:
        return act({"reason": change.reason, "approval": change.approval})
    except KeyboardInterrupt:
        say("canton: interrupted before the server answered; whether it took the change shows: canton event list")
        raise
    except Problem as problem:
        if problem.code != "approval-required" or problem.approval is None:
            raise
        if not change.wait_approval:
            _explain_approval(problem, problem.approval)
            raise
        _wait_for_approval(session, problem.approval)
        return act({"reason": change.reason, "approval": problem.approval})


def refuse_if_read_only(session: Session) -> None:
    """Raise ReadOnly if the context is read-only."""
    from canton.client.errors import ReadOnly  # noqa: PLC0415

    if session.context.read_only:
        raise ReadOnly(
            f"the context {session.context_name} is read_only, so nothing was sent; choose another with --context, "
            f"or: canton context set {session.context_name} --no-read-only"
        )


def unchanged(session: Session) -> bool:
    """Whether the last change changed nothing, because the server was already as requested."""
    last = session.client.last
    return last is not None and last.unchanged


def say_result(session: Session, message: str, unchanged_message: str) -> None:
    """Print the message, or that nothing had to change, on standard error; not with -q."""
    remark(f"canton: {unchanged_message}; nothing to do" if unchanged(session) else f"canton: {message}")


def _explain_approval(problem: Problem, approval: str) -> None:
    permission = problem.details.get("permission")
    who = f"a second person with the permission {permission}" if permission else "a second person with the permission"
    command = shlex.join(["canton", *sys.argv[1:], "--approval", approval])
    say(f"canton: this change needs approval: {who} runs\n  canton approval approve {approval}")
    say(f"then you run\n  {command}\nor run it with --wait-approval to wait for them")


def _wait_for_approval(session: Session, approval: str) -> None:
    say(f"canton: waiting for a second person to run: canton approval approve {approval}")
    while True:
        current = session.client.approvals.get(approval)
        if current["state"] == "approved":
            return
        if current["state"] != "pending":
            why = f": {current['decided_reason']}" if current["decided_reason"] else ""
            raise Forbidden(f"approval {approval} is {current['state']}{why}; ask again without --approval")
        time.sleep(POLL_INTERVAL)
