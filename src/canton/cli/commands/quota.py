"""``canton quota``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from canton.cli.input.options import (
    ChangeOptions,
    change_options,
    complete_names,
    limit_option,
    output_options,
    session_options,
)
from canton.cli.output.columns import QUOTA
from canton.cli.output.empty_lists import explain_empty
from canton.cli.output.formats import Show
from canton.cli.output.terminal import remark
from canton.cli.session.change import carry_out, say_result
from canton.cli.session.session import Session

if TYPE_CHECKING:
    from canton.client.calls import Change
    from canton.client.objects import Quota

LIMITS = ("nodes", "open_operations", "service_accounts")

name = click.argument("name", metavar="[TENANT]", required=False, shell_complete=complete_names("tenants"))


class Limit(click.ParamType["int | str"]):
    """A number, or ``none`` for no limit."""

    name = "limit"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        text = str(value)
        if text != "none" and not (text.isascii() and text.isdigit() and len(text) < 10):
            self.fail(f"{text!r} is not a whole number from 0 to 999999999; write none for no limit", param, ctx)
        return text if text == "none" else int(text)


@click.group(epilog="\b\nExample:\n  canton quota show psi")
def quota() -> None:
    """Show and set the limits of a tenant."""


@quota.command("list", epilog="\b\nExample:\n  canton quota list -c tenant,nodes,nodes-used")
@limit_option
@output_options(QUOTA, many=True)
@session_options
def list_quotas(session: Session, show: Show, limit: int | None) -> None:
    """List the limits and the use of every tenant that you can see."""
    tenants = explain_empty(session, session.client.tenants.list(limit=limit))
    show.listing(QUOTA, [session.client.tenants.quota(tenant["name"]) for tenant in tenants])


@quota.command("show", epilog="\b\nExample:\n  canton quota show psi")
@name
@output_options(QUOTA)
@session_options
def show_quota(session: Session, show: Show, name: str | None) -> None:
    """Show the limits of a tenant, and what it uses."""
    show.one(QUOTA, session.client.tenants.quota(name or session.named_tenant))


@quota.command("set", epilog="\b\nExample:\n  canton quota set psi --nodes 64 --open-operations none")
@name
@click.option("--nodes", type=Limit(), metavar="N|none", help="At most N nodes; none: no limit.")
@click.option(
    "--open-operations", type=Limit(), metavar="N|none", help="At most N operations under way at once; none: no limit."
)
@click.option("--service-accounts", type=Limit(), metavar="N|none", help="At most N service accounts; none: no limit.")
@output_options(QUOTA)
@change_options
@session_options
def set_quota(
    session: Session, show: Show, change: ChangeOptions, name: str | None, **limits: int | str | None
) -> None:
    """Set limits of a tenant. Limits without an option stay as they are."""
    new_limits = {key: _number(value) for key, value in limits.items() if value is not None}
    if not new_limits:
        raise click.UsageError("Name at least one of --nodes, --open-operations and --service-accounts.")
    tenant = name or session.named_tenant
    current = session.client.tenants.quota(tenant)
    old_quota: dict[str, int | None] = {key: value for key, value in current.items() if key in LIMITS}  # type: ignore[misc]
    new_quota = {**old_quota, **new_limits}
    if new_quota == old_quota:
        remark(f"canton: the quota of {tenant} already has these limits; nothing to do")
        show.one(QUOTA, current)
        return

    def act(headers: Change) -> Quota:
        bound: Change = {**headers, "if_match": current["version"]}
        return session.client.tenants.set_quota(tenant, new_quota, **bound)

    stored_quota = carry_out(session, change, act)
    say_result(session, f"set the quota of {tenant}", f"the quota of {tenant} already has these limits")
    show.one(QUOTA, stored_quota)


def _number(limit: int | str) -> int | None:
    return limit if isinstance(limit, int) else None
