"""``canton approval``: be the second person for somebody else's change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from canton.cli.input.options import Changing, all_tenants, changing, connected, limited, shown
from canton.cli.output.columns import APPROVAL
from canton.cli.output.empty_lists import listed
from canton.cli.output.formats import Show, as_json
from canton.cli.output.table import cut
from canton.cli.session.change import carry_out, confirm, tell
from canton.cli.session.session import Session

if TYPE_CHECKING:
    from canton.client.objects import Approval

LONGEST_BODY = 1000
"""Characters of the body of a request that a question shows."""
STATES = ("pending", "approved", "refused", "used", "expired")

identity = click.argument("approval_id", metavar="ID")


@click.group(epilog="\b\nExamples:\n  canton approval list --state pending\n  canton approval approve ap_01J…")
def approval() -> None:
    """Be the second person for somebody else's change.

    Policy names changes that one person alone cannot make. Another one with the same permission approves; then the
    first repeats the command with --approval. Nobody approves their own.
    """


@approval.command("list", epilog="\b\nExample:\n  canton approval list --state pending")
@click.option("--state", type=click.Choice(STATES), help="Only in this state.")
@limited
@all_tenants
@shown(APPROVAL, many=True)
@connected
def list_approvals(session: Session, show: Show, state: str | None, limit: int | None) -> None:
    """List approvals."""
    show.listing(APPROVAL, listed(session, session.client.approvals.list(state=state, limit=limit)))


@approval.command("show", epilog="\b\nExample:\n  canton approval show ap_01J…")
@identity
@shown(APPROVAL)
@connected
def show_approval(session: Session, show: Show, approval_id: str) -> None:
    """Show the very change that waits."""
    show.one(APPROVAL, session.client.approvals.get(approval_id))


@approval.command("approve", epilog="\b\nExample:\n  canton approval approve ap_01J… --reason 'agreed by phone'")
@identity
@shown(APPROVAL)
@changing
@connected
def approve(session: Session, show: Show, change: Changing, approval_id: str) -> None:
    """Let somebody else's change go through, once."""
    found = session.client.approvals.get(approval_id)
    confirm(f"{_described(found)} ({found['reason'] or 'no reason given'}). Approve?", change)
    made = carry_out(session, change, lambda headers: session.client.approvals.approve(approval_id, **headers))
    tell(session, f"approved; {found['requested_by']} can now repeat the command", f"{approval_id} is approved")
    show.one(APPROVAL, made)


def _described(waiting: Approval) -> str:
    """The request with its body: the reason says only what its author wants to be read."""
    asked = f"{waiting['requested_by']} wants {waiting['permission']}: {waiting['method']} {waiting['path']}"
    if waiting["body"] is None:
        return asked
    body = as_json(waiting["body"])
    rest = f"\nAll of it: canton approval show {waiting['id']} -o json\n" if len(body) > LONGEST_BODY else ""
    return f"{asked} {cut(body, LONGEST_BODY)}{rest}"


@approval.command("refuse", epilog="\b\nExample:\n  canton approval refuse ap_01J… --reason 'not before Monday'")
@identity
@shown(APPROVAL)
@changing
@connected
def refuse(session: Session, show: Show, change: Changing, approval_id: str) -> None:
    """Refuse somebody else's change."""
    made = carry_out(session, change, lambda headers: session.client.approvals.refuse(approval_id, **headers))
    tell(session, f"refused {approval_id}", f"{approval_id} is already refused")
    show.one(APPROVAL, made)
