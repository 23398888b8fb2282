"""Service accounts and their tokens: for pipelines, scoped to one tenant (or the provider) and to permissions.

A token is ``canton_<id>_<secret>``. The id finds the row, which stores only a hash of the whole token, so that the
database gives no access. A revoked token is deleted, so it ends with that transaction.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from canton.domain.errors import (
    AlreadyExists,
    TokenExpired,
    TokenInvalid,
    UnknownServiceAccount,
    UnknownToken,
)
from canton.domain.tenant import TenantState
from canton.store import identifiers, versions
from canton.store.access import quotas, tenants
from canton.store.database import SECOND, insert_new, now
from canton.store.listing import ListPage, Visible, Window, fetch, visible_to
from canton.store.schema import service_account, service_token, tenant

SORTS = {"id": service_account.c.id, "name": service_account.c.name, "created_at": service_account.c.created_at}
TOKEN_SORTS = {"id": service_token.c.id, "expires_at": service_token.c.expires_at}
PREFIX = "canton_"
_TOKEN = re.compile(r"canton_(tk_[0-9a-f]{28})_[0-9A-Za-z_-]{43}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Account:
    """The service account that a token belongs to."""

    id: str
    principal: str
    name: str
    tenant: str | None
    permissions: frozenset[str]
    expires_at: int
    lifetime: int
    """Seconds from the creation of the token to its end."""


@dataclass(frozen=True, slots=True)
class NewAccount:
    name: str
    tenant: str | None
    permissions: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class NewTokenText:
    """A new token with its text, which is not stored."""

    id: str
    text: str
    permissions: tuple[str, ...]
    expires_at: int


def looks_like_token(text: str) -> bool:
    return text.startswith(PREFIX)


def principal_of(row: RowMapping) -> str:
    return f"service:{row['tenant'] or 'provider'}/{row['name']}"


def unknown(account_id: str) -> UnknownServiceAccount:
    return UnknownServiceAccount(
        f"there is no service account {account_id} that you may see; list those with: canton service-account list",
        service_account=account_id,
    )


def authenticate(connection: Connection, text: str, at: int, *, lock: bool = False) -> Account:
    """The account of the token, with the permissions that both have.

    With ``lock``, neither can be changed or deleted before the transaction ends.
    """
    match = _TOKEN.fullmatch(text)
    query = (
        sa.select(
            service_token.c.hash,
            service_token.c.expires_at,
            service_token.c.created_at,
            service_token.c.permissions.label("narrowed"),
            service_account.c.permissions,
            service_account.c.id,
            service_account.c.name,
            service_account.c.tenant,
        )
        .join(service_account, service_token.c.account == service_account.c.id)
        .outerjoin(tenant, service_account.c.tenant == tenant.c.name)
        .where(
            service_token.c.id == (match[1] if match else ""),
            sa.or_(service_account.c.tenant.is_(None), tenant.c.state != TenantState.DELETED),
        )
    )
    locked = query.with_for_update(read=True, of=[service_token, service_account]) if lock else query
    row = connection.execute(locked).mappings().one_or_none()
    if row is None or not hmac.compare_digest(row["hash"], _hash(text)):
        raise TokenInvalid("this service account's token is malformed, revoked or not from here; get a new one")
    if row["expires_at"] <= at:
        raise TokenExpired("this service account's token has run out; rotate it in time, or have a new one issued")
    permissions = frozenset(row["permissions"]) & frozenset(row["narrowed"])
    # Rounded up: the row is written shortly after its end was computed.
    lifetime = -((row["created_at"] - row["expires_at"]) // SECOND)
    principal, ends = principal_of(row), row["expires_at"]
    return Account(row["id"], principal, row["name"], row["tenant"], permissions, ends, lifetime)


def page(connection: Connection, visible: Visible, window: Window, of_tenant: str | None = None) -> ListPage:
    query = sa.select(service_account).where(visible_to(visible, service_account.c.tenant))
    if of_tenant is not None:
        query = query.where(service_account.c.tenant == of_tenant)
    return fetch(connection, query, window, SORTS, service_account.c.id)


def look(connection: Connection, account_id: str, *, lock: bool = False) -> RowMapping | None:
    query = sa.select(service_account).where(service_account.c.id == account_id)
    return connection.execute(query.with_for_update() if lock else query).mappings().one_or_none()


def find(connection: Connection, account_id: str, *, lock: bool = False) -> RowMapping:
    """The row; with ``lock`` it cannot be deleted before this transaction ends."""
    row = look(connection, account_id, lock=lock)
    if row is None:
        raise unknown(account_id)
    return row


def create(connection: Connection, new_account: NewAccount, by: str) -> RowMapping:
    if new_account.tenant is not None:
        tenants.lock(connection, new_account.tenant)
        quotas.require_room(connection, new_account.tenant, "service_accounts")
    account_id = identifiers.fresh("sa")
    row = {name: getattr(new_account, name) for name in NewAccount.__slots__}
    row |= {"id": account_id, "permissions": sorted(new_account.permissions), "created_by": by}
    if not insert_new(connection, service_account, [row], created_at=now()):
        where = f"tenant {new_account.tenant}" if new_account.tenant else "the provider"
        raise AlreadyExists(
            f'{where} has a service account "{new_account.name}"; choose another name', name=new_account.name
        )
    return find(connection, account_id)


def delete(connection: Connection, account_id: str, if_version: int | None) -> RowMapping:
    """Delete the account with all its tokens, which end at once; returns its row."""
    row = find(connection, account_id, lock=True)
    versions.require(f"service account {account_id}", row["version"], if_version)
    connection.execute(sa.delete(service_account).where(service_account.c.id == account_id))
    return row


def issue(connection: Connection, account_id: str, permissions: tuple[str, ...], seconds: int, by: str) -> NewTokenText:
    token_id = identifiers.fresh("tk")
    text = f"{PREFIX}{token_id}_{secrets.token_urlsafe(32)}"
    expires_at = int(connection.execute(sa.select(now() + seconds * SECOND)).scalar_one())
    row = {"id": token_id, "account": account_id, "hash": _hash(text), "created_by": by, "expires_at": expires_at}
    connection.execute(sa.delete(service_token).where(service_token.c.expires_at < now() - 24 * 3600 * SECOND))
    values = row | {"permissions": sorted(permissions), "created_at": now()}
    connection.execute(sa.insert(service_token).values(values))
    return NewTokenText(token_id, text, tuple(sorted(permissions)), expires_at)


def tokens(connection: Connection, account_id: str, window: Window) -> ListPage:
    """One page of the account's tokens, without their hashes."""
    names = ("id", "permissions", "created_by", "created_at", "expires_at")
    query = sa.select(*(service_token.c[name] for name in names)).where(service_token.c.account == account_id)
    return fetch(connection, query, window, TOKEN_SORTS, service_token.c.id)


def held_by_tokens(connection: Connection, account_id: str) -> frozenset[str] | None:
    """The permissions of all valid tokens of the account together; None if it has none."""
    live = sa.and_(service_token.c.account == account_id, service_token.c.expires_at > now())
    rows = connection.scalars(sa.select(service_token.c.permissions).where(live)).all()
    return frozenset(name for permissions in rows for name in permissions) if rows else None


def end_others(connection: Connection, account_id: str, new_token: NewTokenText, overlap: int) -> int:
    """After a rotation: end the other tokens now or after ``overlap`` seconds; returns how many.

    Tokens with a permission that the new one lacks stay valid: a token must not end one with more permissions.
    """
    mine = service_token.c.account == account_id
    permission_sets = connection.scalars(sa.select(service_token.c.permissions).where(mine).distinct()).all()
    narrow = [permissions for permissions in permission_sets if set(permissions) <= set(new_token.permissions)]
    replaced = sa.or_(*(service_token.c.permissions == permissions for permissions in narrow))
    replaced_tokens = sa.and_(mine, service_token.c.id != new_token.id, replaced)
    if overlap == 0:
        return connection.execute(sa.delete(service_token).where(replaced_tokens)).rowcount
    soon = now() + overlap * SECOND
    later = sa.and_(replaced_tokens, service_token.c.expires_at > soon)
    return connection.execute(sa.update(service_token).where(later).values(expires_at=soon)).rowcount


def revoke(connection: Connection, account_id: str, token_id: str) -> None:
    row = sa.delete(service_token).where(service_token.c.account == account_id, service_token.c.id == token_id)
    if not connection.execute(row).rowcount:
        raise UnknownToken(f"service account {account_id} has no token {token_id}; it may have ended", token=token_id)


def _hash(text: str) -> str:
    # The secret has 256 random bits and cannot be guessed, so a slow hash is not needed.
    return hashlib.sha256(text.encode()).hexdigest()
