"""``canton quota``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from canton.cli.input.options import Changing, changing, connected, limited, names, shown
from canton.cli.output.columns import QUOTA
from canton.cli.output.empty_lists import listed
from canton.cli.output.formats import Show
from canton.cli.output.terminal import remark
from canton.cli.session.change import carry_out, tell
from canton.cli.session.session import Session

if TYPE_CHECKING:
    from canton.client.calls import Change
    from canton.client.objects import Quota

LIMITS = ("nodes", "open_operations", "service_accounts")

name = click.argument("name", metavar="[TENANT]", required=False, shell_complete=names("tenants"))


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
    """See and set how much a tenant may have."""


@quota.command("list", epilog="\b\nExample:\n  canton quota list -c tenant,nodes,nodes-used")
@limited
@shown(QUOTA, many=True)
@connected
def list_quotas(session: Session, show: Show, limit: int | None) -> None:
    """List what every tenant that you can see may have, and what it uses."""
    tenants = listed(session, session.client.tenants.list(limit=limit))
    show.listing(QUOTA, [session.client.tenants.quota(tenant["name"]) for tenant in tenants])


@quota.command("show", epilog="\b\nExample:\n  canton quota show psi")
@name
@shown(QUOTA)
@connected
def show_quota(session: Session, show: Show, name: str | None) -> None:
    """Show what a tenant may have, and what it uses."""
    show.one(QUOTA, session.client.tenants.quota(name or session.named_tenant))


@quota.command("set", epilog="\b\nExample:\n  canton quota set psi --nodes 64 --open-operations none")
@name
@click.option("--nodes", type=Limit(), metavar="N|none", help="At most N nodes; none: no limit.")
@click.option(
    "--open-operations", type=Limit(), metavar="N|none", help="At most N operations under way at once; none: no limit."
)
@click.option("--service-accounts", type=Limit(), metavar="N|none", help="At most N service accounts; none: no limit.")
@shown(QUOTA)
@changing
@connected
def set_quota(session: Session, show: Show, change: Changing, name: str | None, **limits: int | str | None) -> None:
    """Set what a tenant may have; what is not named stays as it is."""
    given = {key: _number(value) for key, value in limits.items() if value is not None}
    if not given:
        raise click.UsageError("Name at least one of --nodes, --open-operations and --service-accounts.")
    tenant = name or session.named_tenant
    now = session.client.tenants.quota(tenant)
    before: dict[str, int | None] = {key: value for key, value in now.items() if key in LIMITS}  # type: ignore[misc]
    wanted = {**before, **given}
    if wanted == before:
        remark(f"canton: the quota of {tenant} is already so; nothing to do")
        show.one(QUOTA, now)
        return

    def act(headers: Change) -> Quota:
        bound: Change = {**headers, "if_match": now["version"]}
        return session.client.tenants.set_quota(tenant, wanted, **bound)

    made = carry_out(session, change, act)
    tell(session, f"set the quota of {tenant}", f"the quota of {tenant} is already so")
    show.one(QUOTA, made)


def _number(limit: int | str) -> int | None:
    return limit if isinstance(limit, int) else None
