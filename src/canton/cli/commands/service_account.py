"""``canton service-account``: accounts for programs, and their tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from canton.cli.input.options import (
    Changing,
    Duration,
    all_tenants,
    changing,
    changing_with_reason,
    connected,
    limited,
    names,
    shown,
)
from canton.cli.output.columns import ACCOUNT, TOKEN
from canton.cli.output.empty_lists import listed
from canton.cli.output.formats import Show, nearest, write
from canton.cli.output.standard_output import require_open
from canton.cli.output.table import to_the_second
from canton.cli.output.terminal import say
from canton.cli.session.change import carry_out, confirm, tell
from canton.cli.session.session import Session
from canton.domain.errors import InvalidRequest, UnknownServiceAccount

if TYPE_CHECKING:
    from canton.client.objects import ServiceAccount

identity = click.argument("account", metavar="NAME|ID")
permission_option = click.option(
    "--permission",
    "permissions",
    metavar="P",
    multiple=True,
    shell_complete=names("permissions"),
    help="May do this; again for more.",
)
ttl_option = click.option("--ttl", type=Duration(), metavar="TIME", help="How long a token lasts: 1h, 30d.")


def _found(session: Session, account: str) -> ServiceAccount:
    """The service account of this id or name."""
    if account.startswith("sa_"):
        return session.client.service_accounts.get(account)
    known = list(session.client.service_accounts.list())
    called = [each for each in known if each["name"] == account]
    if not called:
        hint = nearest(account, [each["name"] for each in known])
        look = hint or "; look with: canton service-account list"
        raise UnknownServiceAccount(f'there is no service account "{account}" that you may see{look}')
    if len(called) > 1:
        them = ", ".join(f"{each['id']} ({each['tenant'] or 'the provider'})" for each in called)
        raise InvalidRequest(f'"{account}" names {len(called)} service accounts; give the id of one: {them}')
    return called[0]


def _id(session: Session, account: str) -> str:
    return account if account.startswith("sa_") else _found(session, account)["id"]


@click.group(
    "service-account",
    epilog="\b\nExamples:\n  canton service-account create ci --tenant psi --permission node.read\n"
    "  canton service-account token create ci --ttl 1h",
)
def service_account() -> None:
    """Accounts and tokens for programs."""


@service_account.command("list", epilog="\b\nExample:\n  canton service-account list --tenant psi")
@limited
@all_tenants
@shown(ACCOUNT, many=True)
@connected
def list_accounts(session: Session, show: Show, limit: int | None) -> None:
    """List service accounts."""
    show.listing(ACCOUNT, listed(session, session.client.service_accounts.list(limit=limit), session.tenant))


@service_account.command("show", epilog="\b\nExample:\n  canton service-account show ci")
@identity
@shown(ACCOUNT)
@connected
def show_account(session: Session, show: Show, account: str) -> None:
    """Show one service account."""
    show.one(ACCOUNT, _found(session, account))


@service_account.command(
    "create", epilog="\b\nExample:\n  canton service-account create ci --tenant psi --permission node.read"
)
@click.argument("name")
@permission_option
@click.option("--description", metavar="TEXT", default="", help="What it is for.")
@click.option("--provider", is_flag=True, help="An account of the provider, not of a tenant.")
@shown(ACCOUNT)
@changing
@connected
def create_account(session: Session, show: Show, change: Changing, name: str, provider: bool, **given: str) -> None:
    """Create a service account.

    It may do what is named with --permission, and nothing else.
    """
    tenant = None if provider else session.named_tenant
    made = carry_out(
        session,
        change,
        lambda headers: session.client.service_accounts.create(
            name, tenant, given["permissions"], given["description"], **headers
        ),
    )
    tell(session, f"created service account {name} ({made['id']})", f"service account {name} is there")
    show.one(ACCOUNT, made)


@service_account.command("delete", epilog="\b\nExample:\n  canton service-account delete ci --reason 'no longer used'")
@identity
@changing_with_reason
@connected
def delete_account(session: Session, change: Changing, account: str) -> None:
    """Delete a service account; its tokens end at once."""
    found = _found(session, account)
    confirm(f"Delete the service account {found['name']}? Its tokens end at once.", change, found["name"])
    carry_out(session, change, lambda headers: session.client.service_accounts.delete(found["id"], **headers))
    tell(session, f"deleted service account {found['name']}", f"service account {found['name']} is gone")


@service_account.group("token", epilog="\b\nExample:\n  canton service-account token list ci")
def token() -> None:
    """Create, list, revoke and rotate the tokens of an account."""


@token.command("create", epilog="\b\nExample:\n  canton service-account token create ci --ttl 1h > token")
@identity
@ttl_option
@permission_option
@shown(TOKEN)
@changing
@connected
def create_token(
    session: Session, show: Show, change: Changing, account: str, ttl: float | None, permissions: tuple[str, ...]
) -> None:
    """Create a token and print it, once; it cannot be shown again."""
    require_open()
    identifier = _id(session, account)
    made = carry_out(
        session,
        change,
        lambda headers: session.client.service_accounts.create_token(
            identifier, None if ttl is None else int(ttl), permissions or None, **headers
        ),
    )
    _print_secret(show, made)


@token.command("list", epilog="\b\nExample:\n  canton service-account token list ci")
@identity
@limited
@shown(TOKEN, many=True)
@connected
def list_tokens(session: Session, show: Show, account: str, limit: int | None) -> None:
    """List the tokens of an account, without their secrets."""
    show.listing(TOKEN, session.client.service_accounts.tokens(_id(session, account), limit=limit))


@token.command("revoke", epilog="\b\nExample:\n  canton service-account token revoke ci tk_01J… --reason leaked")
@identity
@click.argument("token_id", metavar="TOKEN-ID")
@changing
@connected
def revoke_token(session: Session, change: Changing, account: str, token_id: str) -> None:
    """End a token at once."""
    identifier = _id(session, account)
    carry_out(
        session, change, lambda headers: session.client.service_accounts.revoke_token(identifier, token_id, **headers)
    )
    tell(session, f"revoked {token_id}", f"{token_id} was already revoked")


@token.command("rotate", epilog="\b\nExample:\n  canton service-account token rotate ci --overlap 5m > token")
@identity
@ttl_option
@click.option("--overlap", type=Duration(), metavar="TIME", help="Others end after this; at once if not given.")
@shown(TOKEN)
@changing
@connected
def rotate_token(
    session: Session, show: Show, change: Changing, account: str, ttl: float | None, overlap: float | None
) -> None:
    """Replace the tokens of an account by a new one and print it.

    A token that holds more than the new one stays valid.
    """
    require_open()
    identifier = _id(session, account)
    seconds = [None if value is None else int(value) for value in (ttl, overlap)]
    made = carry_out(
        session, change, lambda headers: session.client.service_accounts.rotate(identifier, *seconds, **headers)
    )
    _print_secret(show, made)


def _print_secret(show: Show, made: object) -> None:
    """For people and pipes the bare token; the rest of the answer only where it was asked for."""
    assert isinstance(made, dict)  # noqa: S101 (the API's body)
    if show.format in ("json", "yaml"):
        show.body(made)
        return
    # First: whoever cannot be shown the token, as on a full disk, must know which one to revoke.
    say(f"canton: token {made['id']}, until {to_the_second(made['expires_at'])}; it is not shown again")
    write(f"{made['id'] if show.quiet else made.get('token', '')}\n")
