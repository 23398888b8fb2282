"""The client's side of OpenID Connect: discovery, device code (RFC 8628), PKCE (RFC 7636), refresh and revocation."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict, cast
from urllib.parse import urlencode, urlsplit

from canton.client.errors import Unreachable
from canton.client.transport import LOOPBACK, Address, Request, Transport
from canton.domain.errors import NotAuthenticated

SCOPE = "openid"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
SLOW_DOWN = 5.0  # RFC 8628, section 3.5


class Grant(TypedDict, total=False):
    """The tokens from a login or a renewal; ``expires_at`` is a Unix time."""

    access_token: str
    refresh_token: str
    expires_at: float


@dataclass(frozen=True, slots=True)
class Device:
    """A device code that waits for a person to enter its user code."""

    code: str
    user_code: str
    uri: str
    complete_uri: str
    interval: float
    expires_in: float


class Issuer:
    """One issuer; its endpoints come from its discovery document."""

    def __init__(self, url: str, client_id: str, audience: str | None = None, ca: str | None = None) -> None:
        self.url = url.rstrip("/")
        self.client_id = client_id
        self._audience = audience
        self._ca = ca
        self._discovery: dict[str, object] | None = None

    def endpoint(self, name: str) -> str | None:
        """The URL of an endpoint in the discovery document; None if the issuer does not have it."""
        if self._discovery is None:
            status, discovery = self._call("GET", f"{self.url}/.well-known/openid-configuration")
            if status != 200:
                raise Unreachable(f"the issuer {self.url} answered its discovery with HTTP status {status}")
            if str(discovery.get("issuer", "")).rstrip("/") != self.url:
                raise NotAuthenticated(
                    f"{self.url} says that it is the issuer {discovery.get('issuer')}; nothing was sent"
                )
            self._discovery = discovery
        value = self._discovery.get(name)
        return str(value) if value else None

    def start_device(self) -> Device:
        """Request a device code; a person enters its user code in a browser."""
        endpoint = self.endpoint("device_authorization_endpoint")
        if endpoint is None:
            raise NotAuthenticated(f"the issuer {self.url} offers no device code; use: canton login --web")
        status, document = self._call(
            "POST", endpoint, {"client_id": self.client_id, "scope": SCOPE, **self._audience_parameter()}
        )
        if status != 200:
            raise _refused(self.url, document)
        uri = self._require_https(document.get("verification_uri"))
        complete = self._require_https(document.get("verification_uri_complete") or uri)
        interval, lasts = _number(document, "interval", 5), _number(document, "expires_in", 600)
        return Device(str(document.get("device_code")), str(document.get("user_code")), uri, complete, interval, lasts)

    def poll_device(self, device: Device, sleep: Callable[[float], None] = time.sleep) -> Grant:
        """Wait until the person decides; raises ``NotAuthenticated`` if they refuse or the code expires."""
        interval = device.interval
        deadline = time.monotonic() + device.expires_in
        while time.monotonic() < deadline:
            sleep(interval)
            status, document = self._token({"grant_type": DEVICE_GRANT, "device_code": device.code})
            if status == 200:
                return _grant(document)
            if document.get("error") not in ("authorization_pending", "slow_down"):
                raise _refused(self.url, document)
            interval += SLOW_DOWN if document["error"] == "slow_down" else 0
        raise NotAuthenticated("the code was not entered in time; run canton login again")

    def authorize_url(self, redirect: str, state: str, verifier: str) -> str:
        """The URL of the login page for a person's browser."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        parameters = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": redirect,
            "scope": SCOPE,
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            **self._audience_parameter(),
        }
        endpoint = self.endpoint("authorization_endpoint")
        if endpoint is None:
            raise NotAuthenticated(f"the issuer {self.url} offers no login by browser; use: canton login")
        return f"{self._require_https(endpoint)}{'&' if '?' in endpoint else '?'}{urlencode(parameters)}"

    def redeem(self, code: str, redirect: str, verifier: str) -> Grant:
        """Exchange the code from the browser's redirect for tokens."""
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect, "code_verifier": verifier}
        status, document = self._token(form)
        if status != 200:
            raise _refused(self.url, document)
        return _grant(document)

    def refresh(self, token: str) -> Grant:
        """Exchange a refresh token, which is invalid afterwards, for new tokens."""
        status, document = self._token({"grant_type": "refresh_token", "refresh_token": token})
        if status != 200:
            raise _refused(self.url, document)
        return _grant(document)

    def revoke(self, token: str) -> bool:
        """Revoke a refresh token; False if the issuer has no revocation endpoint or refuses."""
        endpoint = self.endpoint("revocation_endpoint")
        if endpoint is None:
            return False
        form = {"token": token, "token_type_hint": "refresh_token", "client_id": self.client_id}
        return self._call("POST", endpoint, form)[0] == 200

    def _require_https(self, url: object) -> str:
        """The URL, if it is HTTPS or on loopback; else ``NotAuthenticated``: a person would type a password there."""
        try:
            parts = urlsplit(str(url))
        except ValueError:
            parts = urlsplit("")
        is_local = parts.scheme == "http" and parts.hostname in LOOPBACK
        if not parts.hostname or not (is_local or parts.scheme == "https") or not str(url).isprintable():
            raise NotAuthenticated(
                f'the issuer {self.url} sends people to "{url}", which is no address that begins with https://; '
                "the login was stopped"
            )
        return str(url)

    def _audience_parameter(self) -> dict[str, str]:
        return {"audience": self._audience} if self._audience else {}

    def _token(self, form: dict[str, str]) -> tuple[int, dict[str, object]]:
        endpoint = self.endpoint("token_endpoint")
        if endpoint is None:
            raise NotAuthenticated(f"the issuer {self.url} names no token endpoint")
        return self._call("POST", endpoint, {"client_id": self.client_id, **form})

    def _call(self, method: str, url: str, form: dict[str, str] | None = None) -> tuple[int, dict[str, object]]:
        parts = urlsplit(url)
        transport = Transport(Address(f"{parts.scheme}://{parts.netloc}", ca=self._ca))
        headers = {"Accept": "application/json"}
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        body = None if form is None else urlencode(form).encode()
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            answer = transport.exchange(Request(method, target, headers, body))
        finally:
            transport.close()
        return answer.status, _json_object(answer.body)


def new_secret() -> str:
    """Random text for a URL: a state or a PKCE verifier."""
    return base64.urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode()


def _json_object(body: bytes) -> dict[str, object]:
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _number(document: dict[str, object], name: str, otherwise: float) -> float:
    value = document.get(name)
    return float(value) if isinstance(value, int | float) else otherwise


def _grant(document: dict[str, object]) -> Grant:
    if not isinstance(document.get("access_token"), str):
        raise NotAuthenticated("the issuer answered without an access token; log in again: canton login")
    tokens = {name: document[name] for name in ("access_token", "refresh_token") if isinstance(document.get(name), str)}
    lasts = _number(document, "expires_in", 300)
    return cast("Grant", {**tokens, "expires_at": time.time() + lasts})


def _refused(url: str, document: dict[str, object]) -> NotAuthenticated:
    reason = document.get("error_description") or document.get("error") or "no reason given"
    return NotAuthenticated(f"the issuer {url} refused: {reason}; log in again: canton login")
