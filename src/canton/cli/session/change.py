"""What every change has in common: ask first, carry a reason, wait for a second person, say what was already so."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from canton.cli.input.options import Changing
from canton.cli.output.terminal import interactive, remark, say
from canton.cli.session.session import Session
from canton.domain.errors import Forbidden
from canton.domain.harmless import harmless

if TYPE_CHECKING:
    from canton.client.calls import Change
    from canton.client.errors import Problem

T = TypeVar("T")

LOOK = 2.0
"""Seconds between two looks at an approval."""


def confirm(question: str, change: Changing, name: str | None = None) -> None:
    """Ask, if somebody is there to be asked; where much is lost, by having them type the name of what loses it."""
    if change.yes or not interactive():
        return
    if name is None:
        agreed = _agreed(harmless(question))
    else:
        agreed = _answer(harmless(f"{question}\nType {name} to go on")) == name
    if not agreed:
        say("canton: nothing was changed")
        raise click.exceptions.Exit(1)


def _agreed(question: str) -> bool:
    while True:
        answer = _answer(f"{question} [y/N]").strip().lower()
        if answer in ("y", "yes"):
            return True
        if answer in ("", "n", "no"):
            return False
        say("canton: answer y or n")


def _answer(question: str) -> str:
    try:
        return str(click.prompt(question, default="", show_default=False, err=True))
    except click.Abort:  # Ctrl-C or Ctrl-D, which leave the cursor behind the question
        say("\ncanton: nothing was changed")
        raise


def carry_out(session: Session, change: Changing, act: Callable[[Change], T]) -> T:
    """Make the change; if it needs a second person, say what to do next or wait for them."""
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
            _explain(problem, problem.approval)
            raise
        _await(session, problem.approval)
        return act({"reason": change.reason, "approval": problem.approval})


def refuse_if_read_only(session: Session) -> None:
    """Raise if the context promises that nothing is changed through it."""
    from canton.client.errors import ReadOnly  # noqa: PLC0415

    if session.context.read_only:
        raise ReadOnly(
            f"the context {session.context_name} is read_only, so nothing was sent; choose another with --context, "
            f"or: canton context set {session.context_name} --no-read-only"
        )


def unchanged(session: Session) -> bool:
    """Whether the last change found everything already so."""
    last = session.client.last
    return last is not None and last.unchanged


def tell(session: Session, done: str, already: str) -> None:
    """Say what was done, or that it was so before; never on standard output, and not with -q."""
    remark(f"canton: {already}; nothing to do" if unchanged(session) else f"canton: {done}")


def _explain(problem: Problem, approval: str) -> None:
    permission = problem.details.get("permission")
    who = f"somebody else who has the permission {permission}" if permission else "somebody else with the permission"
    again = shlex.join(["canton", *sys.argv[1:], "--approval", approval])
    say(f"canton: a second person is needed: {who} runs\n  canton approval approve {approval}")
    say(f"then you run\n  {again}\nor run it with --wait-approval to wait for them")


def _await(session: Session, approval: str) -> None:
    say(f"canton: waiting for a second person to run: canton approval approve {approval}")
    while True:
        found = session.client.approvals.get(approval)
        if found["state"] == "approved":
            return
        if found["state"] != "pending":
            why = f": {found['decided_reason']}" if found["decided_reason"] else ""
            raise Forbidden(f"approval {approval} is {found['state']}{why}; ask again without --approval")
        time.sleep(LOOK)
