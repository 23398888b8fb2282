"""The authorization request of a client, and the addresses to which the browser may be redirected.

A redirect is sent only to an address that is registered for the client; anything else would be an open redirect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from canton.issuer.codes import CHALLENGE, AuthorizationRequest
from canton.issuer.oauth import OAuthError
from canton.issuer.settings import Client

SCOPES = ("openid", "profile", "email", "offline_access")
PARAMETERS = (
    "response_type",
    "client_id",
    "redirect_uri",
    "scope",
    "state",
    "nonce",
    "code_challenge",
    "code_challenge_method",
)
_ANY_PORT = re.compile(r"http://(127\.0\.0\.1|\[::1\])(?=/|$)", re.ASCII)
_MAX_LENGTH = 1024


class RedirectError(Exception):
    """The request is wrong, and the client is told so by a redirect of the browser to ``address``."""

    def __init__(self, address: str, error: str, description: str) -> None:
        super().__init__(description)
        self.address = address
        self.error = error
        self.description = description


@dataclass(frozen=True, slots=True)
class LoginRequest:
    authorization: AuthorizationRequest
    state: str | None
    parameters: Mapping[str, str]
    """The parameters of the request, which the login form sends again."""

    @property
    def origin(self) -> str:
        parts = urlsplit(self.authorization.redirect_uri)
        return f"{parts.scheme}://{parts.netloc}"


def read(clients: Mapping[str, Client], fields: Mapping[str, str]) -> LoginRequest:
    client = clients.get(fields.get("client_id", ""))
    redirect_uri = fields.get("redirect_uri", "")
    if client is None or not is_redirect_allowed(client, redirect_uri):
        raise OAuthError("invalid_request", "This client is not registered here, or not with this redirect address.")
    parameters = {name: fields[name] for name in PARAMETERS if name in fields}
    problem = _problem_of(client, fields)
    if problem is not None:
        raise RedirectError(
            redirect_address(redirect_uri, parameters.get("state"), problem),
            problem["error"],
            problem["error_description"],
        )
    authorization = AuthorizationRequest(
        client=client.id,
        redirect_uri=redirect_uri,
        challenge=fields["code_challenge"],
        scope=supported_scope(fields.get("scope", "")),
        nonce=fields.get("nonce"),
    )
    return LoginRequest(authorization, fields.get("state"), parameters)


def _problem_of(client: Client, fields: Mapping[str, str]) -> Mapping[str, str] | None:
    if any(len(fields.get(name, "")) > _MAX_LENGTH for name in PARAMETERS):
        return _problem("invalid_request", f"a parameter has more than {_MAX_LENGTH} characters")
    if "authorization_code" not in client.grants:
        return _problem("unauthorized_client", "this client may not use authorization_code")
    if fields.get("response_type") != "code":
        return _problem("unsupported_response_type", "response_type must be code")
    # RFC 7636 §4.3 takes a missing method for plain; here S256 is required.
    if fields.get("code_challenge_method") != "S256" or not CHALLENGE.fullmatch(fields.get("code_challenge", "")):
        return _problem("invalid_request", "PKCE is needed: code_challenge with code_challenge_method=S256")
    if fields.get("prompt") == "none":
        return _problem("login_required", "this issuer keeps no login session")
    return None


def _problem(error: str, description: str) -> Mapping[str, str]:
    return {"error": error, "error_description": description}


def is_redirect_allowed(client: Client, address: str) -> bool:
    """Addresses are compared as text: a parser may read an address differently from the browser."""
    if address in client.redirect_uris:
        return True
    return client.secret is None and any(_matches_any_port(registered, address) for registered in client.redirect_uris)


def _matches_any_port(registered: str, address: str) -> bool:
    host = _ANY_PORT.match(registered)
    if host is None:
        return False
    path = registered[host.end() :]
    return re.fullmatch(re.escape(host[0]) + r":[1-9][0-9]{0,4}" + re.escape(path), address, re.ASCII) is not None


def redirect_address(redirect_uri: str, state: str | None, parameters: Mapping[str, str]) -> str:
    fields = dict(parameters) if state is None else {**parameters, "state": state}
    return f"{redirect_uri}{'&' if '?' in redirect_uri else '?'}{urlencode(fields)}"


def supported_scope(scope: str) -> str:
    return " ".join(word for word in SCOPES if word in scope.split())
