"""Sites, tenants, their quotas, and who has which role."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Unpack, cast

from canton.client.calls import ApiClient, Change, path

if TYPE_CHECKING:
    from canton.client.objects import Binding, Decision, Member, Quota, Role, Site, Tenant


class Sites:
    """Create, list, update and delete sites: the places where nodes stand."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    def list(self, *, limit: int | None = None, sort: str | None = None) -> Iterator[Site]:
        return cast("Iterator[Site]", self._api.pages(path("sites"), {"sort": sort}, limit))

    def get(self, name: str) -> Site:
        return cast("Site", self._api.get(path("sites", name)))

    def create(self, name: str, description: str = "", **change: Unpack[Change]) -> Site:
        body = {"name": name, "description": description}
        return cast("Site", self._api.change("POST", path("sites"), body, change))

    def update(self, name: str, description: str, **change: Unpack[Change]) -> Site:
        return cast("Site", self._api.change("PATCH", path("sites", name), {"description": description}, change))

    def delete(self, name: str, **change: Unpack[Change]) -> None:
        """Remove a site; refused with ``not-empty`` while it has nodes."""
        self._api.change("DELETE", path("sites", name), None, change)


class Tenants:
    """The institutions that parts of the machine are handed to."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    def list(self, *, state: str | None = None, limit: int | None = None, sort: str | None = None) -> Iterator[Tenant]:
        query = {"state": state, "sort": sort}
        return cast("Iterator[Tenant]", self._api.pages(path("tenants"), query, limit))

    def get(self, name: str) -> Tenant:
        return cast("Tenant", self._api.get(path("tenants", name)))

    def create(self, name: str, description: str | None = None, **change: Unpack[Change]) -> Tenant:
        body = {"name": name} if description is None else {"name": name, "description": description}
        return cast("Tenant", self._api.change("POST", path("tenants"), body, change))

    def update(self, name: str, description: str, **change: Unpack[Change]) -> Tenant:
        return cast("Tenant", self._api.change("PATCH", path("tenants", name), {"description": description}, change))

    def suspend(self, name: str, **change: Unpack[Change]) -> Tenant:
        """Stop every change by its members, until it is resumed."""
        return cast("Tenant", self._api.change("POST", path("tenants", name, "suspend"), None, change))

    def resume(self, name: str, **change: Unpack[Change]) -> Tenant:
        return cast("Tenant", self._api.change("POST", path("tenants", name, "resume"), None, change))

    def delete(self, name: str, **change: Unpack[Change]) -> None:
        """Remove a tenant; refused with ``not-empty`` while anything is left. Its name is never used again."""
        self._api.change("DELETE", path("tenants", name), None, change)

    def members(self, name: str, *, limit: int | None = None) -> Iterator[Member]:
        """Everybody with a role in the tenant, with all their roles."""
        return cast("Iterator[Member]", self._api.pages(path("tenants", name, "members"), None, limit))

    def quota(self, name: str) -> Quota:
        return cast("Quota", self._api.get(path("tenants", name, "quota")))

    def set_quota(self, name: str, limits: dict[str, int | None], **change: Unpack[Change]) -> Quota:
        """Set ``nodes``, ``open_operations`` and ``service_accounts``; None is without limit."""
        return cast("Quota", self._api.change("PUT", path("tenants", name, "quota"), limits, change))


class Bindings:
    """Who has which role, where, and until when."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    def list(
        self,
        *,
        tenant: str | None = None,
        role: str | None = None,
        subject: str | None = None,
        provider: bool = False,
        limit: int | None = None,
    ) -> Iterator[Binding]:
        """Bindings of one tenant, of the provider, or all that the caller may see."""
        where = None if provider else tenant or self._api.caller.tenant
        query = {"tenant": where, "role": role, "subject": subject, "provider": provider or None}
        return cast("Iterator[Binding]", self._api.pages(path("bindings"), query, limit))

    def get(self, binding: str) -> Binding:
        return cast("Binding", self._api.get(path("bindings", binding)))

    def create(
        self, subject: str, role: str, tenant: str | None, until: str | None = None, **change: Unpack[Change]
    ) -> Binding:
        """Give a role in a tenant, or at the provider if ``tenant`` is None."""
        body = {"subject": subject, "role": role, "tenant": tenant} | ({"until": until} if until else {})
        return cast("Binding", self._api.change("POST", path("bindings"), body, change))

    def delete(self, binding: str, **change: Unpack[Change]) -> None:
        self._api.change("DELETE", path("bindings", binding), None, change)


class Roles:
    """The roles there are, and what may be asked of them."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    def list(self, *, limit: int | None = None) -> Iterator[Role]:
        return cast("Iterator[Role]", self._api.pages(path("roles"), None, limit))

    def can_i(
        self, permission: str, tenant: str | None = None, *, role: str | None = None, until: str | None = None
    ) -> Decision:
        """Whether the caller may, and by which rule; with a role, whether they may give it (member.grant)."""
        query = {"permission": permission, "tenant": tenant or self._api.caller.tenant, "role": role, "until": until}
        return cast("Decision", self._api.get(path("can-i"), query))
