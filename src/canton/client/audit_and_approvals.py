"""Approvals, the audit, and the accounts of machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Unpack, cast

from canton.client.calls import ApiClient, Change, path

if TYPE_CHECKING:
    from canton.client.objects import AccountToken, Approval, IssuedToken, Record, ServiceAccount


class Approvals:
    """Changes that wait for a second person."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    def list(
        self, *, state: str | None = None, tenant: str | None = None, limit: int | None = None
    ) -> Iterator[Approval]:
        query = {"state": state, "tenant": tenant or self._api.caller.tenant}
        return cast("Iterator[Approval]", self._api.pages(path("approvals"), query, limit))

    def get(self, approval: str) -> Approval:
        return cast("Approval", self._api.get(path("approvals", approval)))

    def approve(self, approval_id: str, **change: Unpack[Change]) -> Approval:
        """Approve another person's change."""
        return cast("Approval", self._api.change("POST", path("approvals", approval_id, "approve"), None, change))

    def refuse(self, approval_id: str, **change: Unpack[Change]) -> Approval:
        return cast("Approval", self._api.change("POST", path("approvals", approval_id, "refuse"), None, change))


class Audit:
    """The audit records."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    def list(
        self, *, tenant: str | None = None, limit: int | None = None, sort: str | None = None, **filters: str | None
    ) -> Iterator[Record]:
        """Records by tenant, ``actor``, ``action`` and ``subject``, the newest first."""
        query = {"tenant": tenant or self._api.caller.tenant, "sort": sort, **filters}
        return cast("Iterator[Record]", self._api.pages(path("audit"), query, limit))


class ServiceAccounts:
    """Accounts of programs, and their tokens."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    def list(self, *, tenant: str | None = None, limit: int | None = None) -> Iterator[ServiceAccount]:
        query = {"tenant": tenant or self._api.caller.tenant}
        return cast("Iterator[ServiceAccount]", self._api.pages(path("service-accounts"), query, limit))

    def get(self, account: str) -> ServiceAccount:
        return cast("ServiceAccount", self._api.get(path("service-accounts", account)))

    def create(
        self,
        name: str,
        tenant: str | None,
        permissions: Sequence[str],
        description: str = "",
        **change: Unpack[Change],
    ) -> ServiceAccount:
        """An account in a tenant, or of the provider if ``tenant`` is None."""
        body = {"name": name, "tenant": tenant, "permissions": list(permissions), "description": description}
        return cast("ServiceAccount", self._api.change("POST", path("service-accounts"), body, change))

    def delete(self, account: str, **change: Unpack[Change]) -> None:
        """Delete an account; its tokens end at once."""
        self._api.change("DELETE", path("service-accounts", account), None, change)

    def tokens(self, account: str, *, limit: int | None = None) -> Iterator[AccountToken]:
        return cast("Iterator[AccountToken]", self._api.pages(path("service-accounts", account, "tokens"), None, limit))

    def create_token(
        self, account: str, ttl: int | None = None, permissions: Sequence[str] | None = None, **change: Unpack[Change]
    ) -> IssuedToken:
        """A token for ``ttl`` seconds; its secret is in this answer and nowhere else."""
        body = {"ttl": ttl, "permissions": None if permissions is None else list(permissions)}
        at = path("service-accounts", account, "tokens")
        return cast("IssuedToken", self._api.change("POST", at, _without_none(body), change))

    def revoke_token(self, account: str, token: str, **change: Unpack[Change]) -> None:
        """End a token at once."""
        self._api.change("DELETE", path("service-accounts", account, "tokens", token), None, change)

    def rotate(
        self, account: str, ttl: int | None = None, overlap: int | None = None, **change: Unpack[Change]
    ) -> IssuedToken:
        """A new token; every other one ends after ``overlap`` seconds. An account may do this to itself."""
        at = path("service-accounts", account, "rotate")
        return cast(
            "IssuedToken", self._api.change("POST", at, _without_none({"ttl": ttl, "overlap": overlap}), change)
        )


def _without_none(body: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in body.items() if value is not None}
