"""What a client asks for when it sends a browser to log in, and where the browser may be sent back to.

Until client and address are known to belong together, nothing is ever sent anywhere: that would be an open redirect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from canton.issuer.codes import CHALLENGE, Asked
from canton.issuer.oauth import OAuthError
from canton.issuer.settings import Client

SCOPES = ("openid", "profile", "email", "offline_access")
CARRIED = (
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
_LONGEST = 1024


class SendBack(Exception):
    """The client is told what is wrong with its request, by way of the browser."""

    def __init__(self, address: str, error: str, description: str) -> None:
        super().__init__(description)
        self.address = address
        self.error = error
        self.description = description


@dataclass(frozen=True, slots=True)
class LoginRequest:
    asked: Asked
    state: str | None
    carried: Mapping[str, str]
    """The parameters again, for the form to bring back."""

    @property
    def origin(self) -> str:
        parts = urlsplit(self.asked.redirect_uri)
        return f"{parts.scheme}://{parts.netloc}"


def read(clients: Mapping[str, Client], fields: Mapping[str, str]) -> LoginRequest:
    client = clients.get(fields.get("client_id", ""))
    redirect_uri = fields.get("redirect_uri", "")
    if client is None or not may_return(client, redirect_uri):
        raise OAuthError("invalid_request", "This client is not known here, or not with this redirect address.")
    carried = {name: fields[name] for name in CARRIED if name in fields}
    wrong = _wrong(client, fields)
    if wrong is not None:
        raise SendBack(
            back(redirect_uri, carried.get("state"), dict(wrong)), wrong["error"], wrong["error_description"]
        )
    asked = Asked(
        client=client.id,
        redirect_uri=redirect_uri,
        challenge=fields["code_challenge"],
        scope=known_scope(fields.get("scope", "")),
        nonce=fields.get("nonce"),
    )
    return LoginRequest(asked, fields.get("state"), carried)


def _wrong(client: Client, fields: Mapping[str, str]) -> Mapping[str, str] | None:
    if any(len(fields.get(name, "")) > _LONGEST for name in CARRIED):
        return _problem("invalid_request", f"a parameter has more than {_LONGEST} characters")
    if "authorization_code" not in client.grants:
        return _problem("unauthorized_client", "this client may not use authorization_code")
    if fields.get("response_type") != "code":
        return _problem("unsupported_response_type", "response_type must be code")
    # RFC 7636 §4.3 takes a missing method for plain; here PKCE with S256 is not to be had around.
    if fields.get("code_challenge_method") != "S256" or not CHALLENGE.fullmatch(fields.get("code_challenge", "")):
        return _problem("invalid_request", "PKCE is needed: code_challenge with code_challenge_method=S256")
    if fields.get("prompt") == "none":
        return _problem("login_required", "nobody stays logged in here")
    return None


def _problem(error: str, description: str) -> Mapping[str, str]:
    return {"error": error, "error_description": description}


def may_return(client: Client, address: str) -> bool:
    """As text, to the letter: whoever parses addresses parses them differently from the browser."""
    if address in client.redirect_uris:
        return True
    return client.secret is None and any(_on_some_port(known, address) for known in client.redirect_uris)


def _on_some_port(known: str, address: str) -> bool:
    host = _ANY_PORT.match(known)
    if host is None:
        return False
    rest = known[host.end() :]
    return re.fullmatch(re.escape(host[0]) + r":[1-9][0-9]{0,4}" + re.escape(rest), address, re.ASCII) is not None


def back(redirect_uri: str, state: str | None, answer: Mapping[str, str]) -> str:
    fields = dict(answer) if state is None else {**answer, "state": state}
    return f"{redirect_uri}{'&' if '?' in redirect_uri else '?'}{urlencode(fields)}"


def known_scope(scope: str) -> str:
    return " ".join(word for word in SCOPES if word in scope.split())
