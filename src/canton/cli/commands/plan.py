"""``canton plan``: what was planned."""

from __future__ import annotations

import click

from canton.cli.input.options import all_tenants_option, limit_option, output_options, session_options, sort_option
from canton.cli.output.columns import PLAN
from canton.cli.output.empty_lists import explain_empty
from canton.cli.output.formats import Column, Shape, Show, as_json
from canton.cli.session.session import Session

STEP = Shape("step", "n", (Column("n", "n"), Column("kind", "kind"), Column("target", "target")))


@click.group(epilog="\b\nExample:\n  canton plan show sha256:4f2a…")
def plan() -> None:
    """List and show plans, with every step.

    --dry-run makes a plan. Its digest, given with --plan, binds a command to exactly that plan.
    """


@plan.command("list", epilog="\b\nExample:\n  canton plan list --limit 10")
@sort_option("created_at")
@limit_option
@all_tenants_option
@output_options(PLAN, many=True)
@session_options
def list_plans(session: Session, show: Show, limit: int | None, sort: str | None) -> None:
    """List plans."""
    show.listing(PLAN, explain_empty(session, session.client.plans.list(limit=limit, sort=sort)))


@plan.command("show", epilog="\b\nExample:\n  canton plan show sha256:4f2a… -o json")
@click.argument("digest")
@output_options(PLAN)
@session_options
def show_plan(session: Session, show: Show, digest: str) -> None:
    """Show one plan and its steps."""
    stored_plan = session.client.plans.get(digest)
    show.one(PLAN, stored_plan)
    if show.format in ("table", "wide") and not show.quiet:
        click.echo()
        steps = [{"n": number, **step} for number, step in enumerate(stored_plan.get("steps", []), 1)]
        rows = [[c.cell(step) if c.value(step) else as_json(step) for c in STEP.columns] for step in steps]
        show.rows([column.name for column in STEP.columns], rows)
