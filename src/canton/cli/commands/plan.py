"""``canton plan``: what was planned."""

from __future__ import annotations

import click

from canton.cli.input.options import all_tenants, connected, limited, shown, sorted_by
from canton.cli.output.columns import PLAN
from canton.cli.output.empty_lists import listed
from canton.cli.output.formats import Column, Shape, Show, as_json
from canton.cli.session.session import Session

STEP = Shape("step", "n", (Column("n", "n"), Column("kind", "kind"), Column("target", "target")))


@click.group(epilog="\b\nExample:\n  canton plan show sha256:4f2a…")
def plan() -> None:
    """See what was planned, with every step.

    A plan comes from --dry-run. Its digest, given with --plan, binds a command to exactly that.
    """


@plan.command("list", epilog="\b\nExample:\n  canton plan list --limit 10")
@sorted_by("created_at")
@limited
@all_tenants
@shown(PLAN, many=True)
@connected
def list_plans(session: Session, show: Show, limit: int | None, sort: str | None) -> None:
    """List plans."""
    show.listing(PLAN, listed(session, session.client.plans.list(limit=limit, sort=sort)))


@plan.command("show", epilog="\b\nExample:\n  canton plan show sha256:4f2a… -o json")
@click.argument("digest")
@shown(PLAN)
@connected
def show_plan(session: Session, show: Show, digest: str) -> None:
    """Show one plan and its steps."""
    found = session.client.plans.get(digest)
    show.one(PLAN, found)
    if show.format in ("table", "wide") and not show.quiet:
        click.echo()
        steps = [{"n": number, **step} for number, step in enumerate(found.get("steps", []), 1)]
        rows = [[c.cell(step) if c.value(step) else as_json(step) for c in STEP.columns] for step in steps]
        show.rows([column.name for column in STEP.columns], rows)
