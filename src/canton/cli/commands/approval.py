"""``canton approval``: approve or refuse another person's change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from canton.cli.input.options import (
    ChangeOptions,
    all_tenants_option,
    change_options,
    limit_option,
    output_options,
    session_options,
)
from canton.cli.output.columns import APPROVAL
from canton.cli.output.empty_lists import explain_empty
from canton.cli.output.formats import Show, as_json
from canton.cli.output.table import cut
from canton.cli.session.change import carry_out, confirm, say_result
from canton.cli.session.session import Session

if TYPE_CHECKING:
    from canton.client.objects import Approval

LONGEST_BODY = 1000
"""Characters of the body of a request that a question shows."""
STATES = ("pending", "approved", "refused", "used", "expired")

identity = click.argument("approval_id", metavar="ID")


@click.group(epilog="\b\nExamples:\n  canton approval list --state pending\n  canton approval approve ap_01J…")
def approval() -> None:
    """Approve or refuse changes that need a second person.

    The policy lists changes that one person alone cannot make. A second person with the same permission approves;
    then the first person repeats the command with --approval. You cannot approve your own change.
    """


@approval.command("list", epilog="\b\nExample:\n  canton approval list --state pending")
@click.option("--state", type=click.Choice(STATES), help="Only in this state.")
@limit_option
@all_tenants_option
@output_options(APPROVAL, many=True)
@session_options
def list_approvals(session: Session, show: Show, state: str | None, limit: int | None) -> None:
    """List approvals."""
    show.listing(APPROVAL, explain_empty(session, session.client.approvals.list(state=state, limit=limit)))


@approval.command("show", epilog="\b\nExample:\n  canton approval show ap_01J…")
@identity
@output_options(APPROVAL)
@session_options
def show_approval(session: Session, show: Show, approval_id: str) -> None:
    """Show the change that waits for approval."""
    show.one(APPROVAL, session.client.approvals.get(approval_id))


@approval.command("approve", epilog="\b\nExample:\n  canton approval approve ap_01J… --reason 'agreed by phone'")
@identity
@output_options(APPROVAL)
@change_options
@session_options
def approve(session: Session, show: Show, change: ChangeOptions, approval_id: str) -> None:
    """Approve another person's change, for one use."""
    waiting_approval = session.client.approvals.get(approval_id)
    confirm(f"{_described(waiting_approval)} ({waiting_approval['reason'] or 'no reason given'}). Approve?", change)
    approved = carry_out(session, change, lambda headers: session.client.approvals.approve(approval_id, **headers))
    say_result(
        session,
        f"approved; {waiting_approval['requested_by']} can now repeat the command",
        f"{approval_id} is approved",
    )
    show.one(APPROVAL, approved)


def _described(waiting: Approval) -> str:
    """The request with its body: the reason alone is what its author chose to write."""
    request = f"{waiting['requested_by']} wants {waiting['permission']}: {waiting['method']} {waiting['path']}"
    if waiting["body"] is None:
        return request
    body = as_json(waiting["body"])
    hint = f"\nAll of it: canton approval show {waiting['id']} -o json\n" if len(body) > LONGEST_BODY else ""
    return f"{request} {cut(body, LONGEST_BODY)}{hint}"


@approval.command("refuse", epilog="\b\nExample:\n  canton approval refuse ap_01J… --reason 'not before Monday'")
@identity
@output_options(APPROVAL)
@change_options
@session_options
def refuse(session: Session, show: Show, change: ChangeOptions, approval_id: str) -> None:
    """Refuse another person's change."""
    refused = carry_out(session, change, lambda headers: session.client.approvals.refuse(approval_id, **headers))
    say_result(session, f"refused {approval_id}", f"{approval_id} is already refused")
    show.one(APPROVAL, refused)
