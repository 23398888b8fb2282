"""Explains an empty list: the caller has no role, or the tenant does not exist."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from canton.cli.output.table import cell
from canton.cli.output.terminal import say
from canton.cli.session.session import Session

if TYPE_CHECKING:
    from canton.client.objects import Whoami

T = TypeVar("T")
NO_TENANT = "-"


def explain_empty(session: Session, items: Iterable[T], tenant: str | None = None) -> list[T]:
    """Return the items. If there are none, tell a caller without a role about it, and raise the server's UnknownTenant
    if ``tenant``, which the list is about, does not exist or is not visible to the caller.
    """
    rows = list(items)
    if not rows:
        me = session.client.whoami()
        say_without_role(me)
        own = {binding["tenant"] for binding in me["bindings"]}
        if tenant not in (None, NO_TENANT, *own):
            session.client.tenants.get(str(tenant))
    return rows


def say_without_role(me: Whoami) -> None:
    if not me["bindings"]:
        say(f"canton: you have no role; ask an administrator for one (your name is {cell(me['id'])})")
