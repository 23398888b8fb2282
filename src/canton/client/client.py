"""The client: one server, one caller, and a noun for everything the API has."""

from __future__ import annotations

import json
from functools import cached_property
from http.client import HTTPException
from typing import TYPE_CHECKING, cast

from canton import __version__
from canton.client.calls import Caller, Calls, path
from canton.client.credentials import Credentials, Token
from canton.client.errors import Unreachable
from canton.client.transport import Address, Answer, Request, Transport

# A noun is loaded when it is first used: a command that lists nodes has no use for the rest.
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

    ``token`` is a token or where tokens come from. ``tenant`` is meant wherever none is named. ``ca`` is a file with
    the authorities to trust instead of the system's.
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
        self._calls = Calls(Transport(Address(server, timeout, ca)), Caller(credentials, user_agent, tenant))

    @classmethod
    def over(cls, transport: Transport, caller: Caller) -> Client:
        """A client with a say in everything: who watches, how often is tried, whether it may change anything."""
        client = cls(transport.address.url)
        client._calls = Calls(transport, caller)
        return client

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        self._calls.transport.close()

    @property
    def server(self) -> str:
        """The address of the server."""
        return self._calls.transport.address.url

    @property
    def tenant(self) -> str | None:
        """The tenant that is meant where none is named."""
        return self._calls.caller.tenant

    @property
    def last(self) -> Answer | None:
        """The last good answer: its request id, and whether a change found everything already so."""
        return self._calls.last

    def whoami(self) -> Whoami:
        """Who the server takes the caller for, and the roles that gives."""
        return cast("Whoami", self._calls.get(path("whoami")))

    def version(self) -> Version:
        """The server's version, and how to log in; needs no token."""
        return cast("Version", self._calls.get(path("version")))

    def readiness_problems(self) -> dict[str, str]:
        """What `/readyz` finds wrong, by the name of the check; empty if the server is ready, or does not say.

        It is asked once, without a token; a server or a proxy that gives no such answer is no error.
        """
        try:
            live = self._calls.transport.open(Request("GET", "/readyz"), READINESS_TIMEOUT)
            checks = json.loads(live.rest().body)["checks"]
            return {check["name"]: check["problem"] for check in checks if not check["ok"]}
        except (Unreachable, OSError, HTTPException, ValueError, LookupError, TypeError):
            return {}

    @cached_property
    def sites(self) -> Sites:
        """Create, list, update and delete sites: the places where nodes stand."""
        from canton.client.tenancy import Sites  # noqa: PLC0415

        return Sites(self._calls)

    @cached_property
    def tenants(self) -> Tenants:
        """The institutions that parts of the machine are handed to."""
        from canton.client.tenancy import Tenants  # noqa: PLC0415

        return Tenants(self._calls)

    @cached_property
    def bindings(self) -> Bindings:
        """Who has which role."""
        from canton.client.tenancy import Bindings  # noqa: PLC0415

        return Bindings(self._calls)

    @cached_property
    def roles(self) -> Roles:
        """The roles there are, and whether the caller may do something."""
        from canton.client.tenancy import Roles  # noqa: PLC0415

        return Roles(self._calls)

    @cached_property
    def nodes(self) -> Nodes:
        """Nodes as Canton knows them."""
        from canton.client.nodes import Nodes  # noqa: PLC0415

        return Nodes(self._calls)

    @cached_property
    def operations(self) -> Operations:
        """Operations: changes that take time."""
        from canton.client.nodes import Operations  # noqa: PLC0415

        return Operations(self._calls)

    @cached_property
    def plans(self) -> Plans:
        """What was planned."""
        from canton.client.nodes import Plans  # noqa: PLC0415

        return Plans(self._calls)

    @cached_property
    def approvals(self) -> Approvals:
        """Changes that wait for a second person."""
        from canton.client.audit_and_approvals import Approvals  # noqa: PLC0415

        return Approvals(self._calls)

    @cached_property
    def audit(self) -> Audit:
        """The audit records."""
        from canton.client.audit_and_approvals import Audit  # noqa: PLC0415

        return Audit(self._calls)

    @cached_property
    def service_accounts(self) -> ServiceAccounts:
        """Accounts of programs."""
        from canton.client.audit_and_approvals import ServiceAccounts  # noqa: PLC0415

        return ServiceAccounts(self._calls)

    @cached_property
    def events(self) -> Events:
        """What happened, and what happens."""
        from canton.client.events import Events  # noqa: PLC0415

        return Events(self._calls)
