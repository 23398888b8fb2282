"""The client of one server: a collection (``nodes``, ``tenants``, …) for each kind of resource."""

from __future__ import annotations

import json
from functools import cached_property
from http.client import HTTPException
from typing import TYPE_CHECKING, cast

from canton import __version__
from canton.client.calls import ApiClient, Caller, path
from canton.client.credentials import Credentials, Token
from canton.client.errors import Unreachable
from canton.client.transport import Address, Answer, Request, Transport

# A collection's module is imported at its first use: a command that lists nodes does not need the others.
if TYPE_CHECKING:
    from canton.client.audit_and_approvals import Approvals, Audit, ServiceAccounts
    from canton.client.events import Events
    from canton.client.nodes import Nodes, Operations, Plans
    from canton.client.objects import Version, Whoami
    from canton.client.tenancy import Bindings, Roles, Sites, Tenants

AGENT = f"canton/{__version__}"
READINESS_TIMEOUT = 5.0


class Client:
    """A client of one Canton server; a context manager that closes its connection.

    ``token`` is a token or a source of tokens. ``tenant`` is the default where a call names none. ``ca`` is a file with
    the certificate authorities to trust instead of the system's.
    """

    def __init__(
        self,
        server: str,
        token: str | Credentials | None = None,
        *,
        tenant: str | None = None,
        timeout: float = 30.0,
        ca: str | None = None,
        user_agent: str = AGENT,
    ) -> None:
        credentials = Token(token) if token is None or isinstance(token, str) else token
        self._api = ApiClient(Transport(Address(server, timeout, ca)), Caller(credentials, user_agent, tenant))

    @classmethod
    def over(cls, transport: Transport, caller: Caller) -> Client:
        """A client with its own transport and caller: for observers, a number of retries, or read-only use."""
        client = cls(transport.address.url)
        client._api = ApiClient(transport, caller)
        return client

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        self._api.transport.close()

    @property
    def server(self) -> str:
        """The address of the server."""
        return self._api.transport.address.url

    @property
    def tenant(self) -> str | None:
        """The default tenant: the one of calls that name none."""
        return self._api.caller.tenant

    @property
    def last(self) -> Answer | None:
        """The last successful response: its request id, and whether the change was already in effect."""
        return self._api.last

    def whoami(self) -> Whoami:
        """The identity that the server knows the caller by, and its roles."""
        return cast("Whoami", self._api.get(path("whoami")))

    def version(self) -> Version:
        """The server's version, and how to log in; needs no token."""
        return cast("Version", self._api.get(path("version")))

    def readiness_problems(self) -> dict[str, str]:
        """The failed checks of `/readyz` and their problems; empty if the server is ready, or sends no such report.

        The request is sent once, without a token; a server or a proxy without such a report is no error.
        """
        try:
            streaming = self._api.transport.stream(Request("GET", "/readyz"), READINESS_TIMEOUT)
            checks = json.loads(streaming.read_remaining().body)["checks"]
            return {check["name"]: check["problem"] for check in checks if not check["ok"]}
        except (Unreachable, OSError, HTTPException, ValueError, LookupError, TypeError):
            return {}

    @cached_property
    def sites(self) -> Sites:
        """Create, list, update and delete sites: the places where nodes stand."""
        from canton.client.tenancy import Sites  # noqa: PLC0415

        return Sites(self._api)

    @cached_property
    def tenants(self) -> Tenants:
        """The tenants: institutions to which parts of the machine are assigned."""
        from canton.client.tenancy import Tenants  # noqa: PLC0415

        return Tenants(self._api)

    @cached_property
    def bindings(self) -> Bindings:
        """The bindings of roles to users, groups and service accounts."""
        from canton.client.tenancy import Bindings  # noqa: PLC0415

        return Bindings(self._api)

    @cached_property
    def roles(self) -> Roles:
        """The roles, and whether the caller has a permission."""
        from canton.client.tenancy import Roles  # noqa: PLC0415

        return Roles(self._api)

    @cached_property
    def nodes(self) -> Nodes:
        """The nodes of the inventory, and changes to them."""
        from canton.client.nodes import Nodes  # noqa: PLC0415

        return Nodes(self._api)

    @cached_property
    def operations(self) -> Operations:
        """Operations: changes that take time."""
        from canton.client.nodes import Operations  # noqa: PLC0415

        return Operations(self._api)

    @cached_property
    def plans(self) -> Plans:
        """The stored plans."""
        from canton.client.nodes import Plans  # noqa: PLC0415

        return Plans(self._api)

    @cached_property
    def approvals(self) -> Approvals:
        """Changes that wait for a second person."""
        from canton.client.audit_and_approvals import Approvals  # noqa: PLC0415

        return Approvals(self._api)

    @cached_property
    def audit(self) -> Audit:
        """The audit records."""
        from canton.client.audit_and_approvals import Audit  # noqa: PLC0415

        return Audit(self._api)

    @cached_property
    def service_accounts(self) -> ServiceAccounts:
        """Accounts of programs."""
        from canton.client.audit_and_approvals import ServiceAccounts  # noqa: PLC0415

        return ServiceAccounts(self._api)

    @cached_property
    def events(self) -> Events:
        """Past events, and a stream of new ones."""
        from canton.client.events import Events  # noqa: PLC0415

        return Events(self._api)
