"""The server, tenant and login of a command: option over environment over the user's file over the system's."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from canton.cli.output.terminal import say
from canton.cli.session import contexts
from canton.cli.session import paths as places
from canton.cli.session.contexts import Context, Contexts
from canton.domain.errors import InvalidSetting, NotAuthenticated

if TYPE_CHECKING:
    from canton.client import Client
    from canton.client.credentials import Credentials, StoredLogin
    from canton.client.oidc import Grant
    from canton.client.transport import Answer, Request

SECRET = ("authorization", "cookie", "set-cookie")


class NoServer(InvalidSetting):
    """No option, environment variable or context names a server."""


class Session:
    """The connection options of one command, and the client that they result in."""

    def __init__(self, given: dict[str, object], output: str | None = None, *, new_context: bool = False) -> None:
        self._given = given
        self.output = output
        self._new_context = new_context

    def naming_a_context(self) -> Session:
        """The same options, where the context need not exist yet: login creates it."""
        return Session(self._given, self.output, new_context=True)

    @cached_property
    def contexts(self) -> Contexts:
        return contexts.load()

    @property
    def context_name(self) -> str | None:
        """The context that was chosen; None if there is none."""
        return self._text("context", "CANTON_CONTEXT") or self.contexts.current

    @property
    def context(self) -> Context:
        name = self.context_name
        if name is None or (self._new_context and name not in self.contexts.by_name):
            return Context()
        return self.contexts.get(name)

    @property
    def server(self) -> str:
        address = self._text("server", "CANTON_SERVER") or self.context.server
        if address is None:
            raise NoServer(
                "no server is named; log in to one with: canton login --server https://canton.example.org, "
                "or give --server, CANTON_SERVER or a context"
            )
        contexts.require_address(address)
        return address.rstrip("/")

    @property
    def tenant(self) -> str | None:
        if self._given.get("all_tenants"):
            return None
        return self._text("tenant", "CANTON_TENANT") or self.context.tenant

    @property
    def named_tenant(self) -> str:
        """The tenant, for a command that needs one."""
        if self.tenant is None:
            raise InvalidSetting(
                "no tenant is named; give --tenant, set CANTON_TENANT, or: canton context set NAME --tenant TENANT"
            )
        return self.tenant

    @property
    def ca(self) -> str | None:
        return os.environ.get("CANTON_CA") or self.context.ca

    @property
    def credentials_file(self) -> Path:
        """One file per context, or per server that is not the context's: a token is sent only to its own server."""
        if self.is_in_context:
            return places.credentials() / f"{self.context_name}.json"
        return places.credentials() / f"{quote(self.server, safe='')}.json"

    @cached_property
    def client(self) -> Client:
        return self.connect(self.credentials())

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self.is_connected:
            self.client.close()

    def connect(self, credentials: Credentials, timeout: float = 30.0, tries: int = 3) -> Client:
        """A client with these credentials."""
        self._load_client()
        from canton.client import Client  # noqa: PLC0415 (offline commands need none)
        from canton.client.calls import Caller  # noqa: PLC0415
        from canton.client.client import AGENT  # noqa: PLC0415
        from canton.client.transport import Address, Transport, ignore  # noqa: PLC0415

        context = self.context if self.context_name else Context()
        address = Address(self.server, timeout, self.ca, context.plain_http)
        watched = self._given.get("debug") or self._given.get("verbose")
        transport = Transport(address, self._observe if watched else ignore, tries)
        return Client.over(transport, Caller(credentials, AGENT, self.tenant, context.read_only))

    def credentials(self) -> Credentials:
        """The token of the environment, else the stored login."""
        self._load_client()
        from canton.client.credentials import StoredCredentials, Token  # noqa: PLC0415

        token = os.environ.get("CANTON_TOKEN", "").strip()
        return Token(token) if token else StoredCredentials(self.credentials_file, renew, self.server)

    @property
    def is_in_context(self) -> bool:
        """The server is the one of the context."""
        return self.context_name in self.contexts.by_name and (self.context.server or "").rstrip("/") == self.server

    @property
    def is_connected(self) -> bool:
        """Whether the command used the session's own client; a command that logs in makes another one."""
        return "client" in vars(self)

    @property
    def is_logged_out(self) -> bool:
        """Whether there is no token in the environment and no stored login; a damaged one counts as stored."""
        from canton.client.credentials import read  # noqa: PLC0415

        try:
            return not os.environ.get("CANTON_TOKEN", "").strip() and read(self.credentials_file) is None
        except NotAuthenticated:
            return False

    @property
    def other_context(self) -> str | None:
        """The name of the context, if it is not the one that a command without --context uses."""
        default = os.environ.get("CANTON_CONTEXT") or self.contexts.current
        return self.context_name if self.context_name != default else None

    @property
    def renews_itself(self) -> bool:
        """Whether the stored login has a refresh token; a token of the environment cannot be renewed."""
        from canton.client.credentials import read  # noqa: PLC0415

        if os.environ.get("CANTON_TOKEN", "").strip():
            return False
        return bool((read(self.credentials_file) or {}).get("refresh_token"))

    def _load_client(self) -> None:
        if self.server.startswith("http://"):
            spare_ssl()

    def _text(self, option: str, variable: str) -> str | None:
        option_value = self._given.get(option)
        return str(option_value) if option_value else os.environ.get(variable) or None

    def _observe(self, request: Request, answer: Answer | None, seconds: float) -> None:
        if self._given.get("debug"):
            say(curl(self.server, request))
        status = f"{answer.status} in {seconds * 1000:.0f} ms, request {answer.request_id}" if answer else "no answer"
        say(f"{request.method} {request.target}: {status}")
        if answer and isinstance(level := self._given.get("verbose"), int) and level > 1:
            for name, value in answer.headers.items():
                say(f"  {name}: {'…' if name in SECRET else value}")


def spare_ssl() -> None:
    """Load http.client without ssl, which it loads for a class that we do not use: saves 5 ms per command."""
    if "http.client" in sys.modules or "ssl" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]
    try:
        import http.client  # noqa: PLC0415, F401
    finally:
        del sys.modules["ssl"]


def curl(server: str, request: Request) -> str:
    """The request as a curl command, without its secrets."""
    import shlex  # noqa: PLC0415

    words = ["curl", "-X", request.method, f"{server}{request.target}"]
    for name, value in request.headers.items():
        words += ["-H", f"{name}: {'Bearer …' if name.lower() in SECRET else value}"]
    if request.body is not None:
        words += ["--data-raw", request.body.decode(errors="replace")]
    return shlex.join(words)


def renew(stored_login: StoredLogin) -> Grant:
    """A new grant from the issuer that made the stored one."""
    from canton.client.oidc import Issuer  # noqa: PLC0415 (few commands renew)

    return Issuer(stored_login["issuer"], stored_login["client_id"], ca=stored_login.get("ca")).refresh(
        stored_login["refresh_token"]
    )
