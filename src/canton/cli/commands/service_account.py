"""``canton service-account``: accounts for programs, and their tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from canton.cli.input.options import (
    ChangeOptions,
    Duration,
    all_tenants_option,
    change_options,
    change_options_with_reason,
    complete_names,
    limit_option,
    output_options,
    session_options,
)
from canton.cli.output.columns import ACCOUNT, TOKEN
from canton.cli.output.empty_lists import explain_empty
from canton.cli.output.formats import Show, nearest, write
from canton.cli.output.standard_output import require_open
from canton.cli.output.table import to_the_second
from canton.cli.output.terminal import say
from canton.cli.session.change import carry_out, confirm, say_result
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
    shell_complete=complete_names("permissions"),
    help="A permission, such as node.read; repeat for more.",
)
ttl_option = click.option("--ttl", type=Duration(), metavar="TIME", help="How long a token lasts: 1h, 30d.")


def _find_account(session: Session, account: str) -> ServiceAccount:
    """The service account of this id or name."""
    if account.startswith("sa_"):
        return session.client.service_accounts.get(account)
    candidates = list(session.client.service_accounts.list())
    matches = [candidate for candidate in candidates if candidate["name"] == account]
    if not matches:
        hint = nearest(account, [candidate["name"] for candidate in candidates])
        hint_text = hint or "; look with: canton service-account list"
        raise UnknownServiceAccount(f'there is no service account "{account}" that you may see{hint_text}')
    if len(matches) > 1:
        choices = ", ".join(f"{match['id']} ({match['tenant'] or 'the provider'})" for match in matches)
        raise InvalidRequest(f'"{account}" names {len(matches)} service accounts; give the id of one: {choices}')
    return matches[0]


def _account_id(session: Session, account: str) -> str:
    return account if account.startswith("sa_") else _find_account(session, account)["id"]


@click.group(
    "service-account",
    epilog="\b\nExamples:\n  canton service-account create ci --tenant psi --permission node.read\n"
    "  canton service-account token create ci --ttl 1h",
)
def service_account() -> None:
    """Manage accounts for programs, and their tokens."""


@service_account.command("list", epilog="\b\nExample:\n  canton service-account list --tenant psi")
@limit_option
@all_tenants_option
@output_options(ACCOUNT, many=True)
@session_options
def list_accounts(session: Session, show: Show, limit: int | None) -> None:
    """List service accounts."""
    show.listing(ACCOUNT, explain_empty(session, session.client.service_accounts.list(limit=limit), session.tenant))


@service_account.command("show", epilog="\b\nExample:\n  canton service-account show ci")
@identity
@output_options(ACCOUNT)
@session_options
def show_account(session: Session, show: Show, account: str) -> None:
    """Show one service account."""
    show.one(ACCOUNT, _find_account(session, account))


@service_account.command(
    "create", epilog="\b\nExample:\n  canton service-account create ci --tenant psi --permission node.read"
)
@click.argument("name")
@permission_option
@click.option("--description", metavar="TEXT", default="", help="A description, one line.")
@click.option("--provider", is_flag=True, help="An account of the provider, not of a tenant.")
@output_options(ACCOUNT)
@change_options
@session_options
def create_account(
    session: Session, show: Show, change: ChangeOptions, name: str, provider: bool, **fields: str
) -> None:
    """Create a service account.

    It has the permissions that --permission names, and no others.
    """
    tenant = None if provider else session.named_tenant
    created = carry_out(
        session,
        change,
        lambda headers: session.client.service_accounts.create(
            name, tenant, fields["permissions"], fields["description"], **headers
        ),
    )
    say_result(session, f"created service account {name} ({created['id']})", f"service account {name} already exists")
    show.one(ACCOUNT, created)


@service_account.command("delete", epilog="\b\nExample:\n  canton service-account delete ci --reason 'no longer used'")
@identity
@change_options_with_reason
@session_options
def delete_account(session: Session, change: ChangeOptions, account: str) -> None:
    """Delete a service account; its tokens end at once."""
    existing = _find_account(session, account)
    confirm(f"Delete the service account {existing['name']}? Its tokens end at once.", change, existing["name"])
    carry_out(session, change, lambda headers: session.client.service_accounts.delete(existing["id"], **headers))
    say_result(
        session, f"deleted service account {existing['name']}", f"service account {existing['name']} is already deleted"
    )


@service_account.group("token", epilog="\b\nExample:\n  canton service-account token list ci")
def token() -> None:
    """Create, list, revoke and rotate the tokens of an account."""


@token.command("create", epilog="\b\nExample:\n  canton service-account token create ci --ttl 1h > token")
@identity
@ttl_option
@permission_option
@output_options(TOKEN)
@change_options
@session_options
def create_token(
    session: Session, show: Show, change: ChangeOptions, account: str, ttl: float | None, permissions: tuple[str, ...]
) -> None:
    """Create a token and print it, once; it cannot be shown again."""
    require_open()
    identifier = _account_id(session, account)
    created_token = carry_out(
        session,
        change,
        lambda headers: session.client.service_accounts.create_token(
            identifier, None if ttl is None else int(ttl), permissions or None, **headers
        ),
    )
    _print_secret(show, created_token)


@token.command("list", epilog="\b\nExample:\n  canton service-account token list ci")
@identity
@limit_option
@output_options(TOKEN, many=True)
@session_options
def list_tokens(session: Session, show: Show, account: str, limit: int | None) -> None:
    """List the tokens of an account, without their secrets."""
    show.listing(TOKEN, session.client.service_accounts.tokens(_account_id(session, account), limit=limit))


@token.command("revoke", epilog="\b\nExample:\n  canton service-account token revoke ci tk_01J… --reason leaked")
@identity
@click.argument("token_id", metavar="TOKEN-ID")
@change_options
@session_options
def revoke_token(session: Session, change: ChangeOptions, account: str, token_id: str) -> None:
    """End a token at once."""
    identifier = _account_id(session, account)
    carry_out(
        session, change, lambda headers: session.client.service_accounts.revoke_token(identifier, token_id, **headers)
    )
    say_result(session, f"revoked {token_id}", f"{token_id} was already revoked")


@token.command("rotate", epilog="\b\nExample:\n  canton service-account token rotate ci --overlap 5m > token")
@identity
@ttl_option
@click.option(
    "--overlap", type=Duration(), metavar="TIME", help="How long the old tokens stay valid; default: they end at once."
)
@output_options(TOKEN)
@change_options
@session_options
def rotate_token(
    session: Session, show: Show, change: ChangeOptions, account: str, ttl: float | None, overlap: float | None
) -> None:
    """Replace the tokens of an account by a new one and print it.

    A token with a permission that the new one lacks stays valid.
    """
    require_open()
    identifier = _account_id(session, account)
    seconds = [None if value is None else int(value) for value in (ttl, overlap)]
    created_token = carry_out(
        session, change, lambda headers: session.client.service_accounts.rotate(identifier, *seconds, **headers)
    )
    _print_secret(show, created_token)


def _print_secret(show: Show, created_token: object) -> None:
    """Print the bare token; with -o json or yaml the whole answer."""
    assert isinstance(created_token, dict)  # noqa: S101 (the API's body)
    if show.format in ("json", "yaml"):
        show.body(created_token)
        return
    # The id comes first: if the token cannot be written, as on a full disk, the id tells which one to revoke.
    expiry = to_the_second(created_token["expires_at"])
    say(f"canton: token {created_token['id']}, until {expiry}; it is not shown again")
    write(f"{created_token['id'] if show.quiet else created_token.get('token', '')}\n")
