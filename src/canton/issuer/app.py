"""The application: its routes, its headers, and a warning in the log that it is not for production."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from canton.issuer import devices, keys, pages, refresh_tokens
from canton.issuer.browser import Browser
from canton.issuer.exchange import DEVICE_CODE, Exchange
from canton.issuer.forms import Form
from canton.issuer.oauth import OAuthError
from canton.issuer.pool import Pool
from canton.issuer.requests import SCOPES, supported_scope
from canton.issuer.settings import ALGORITHMS, SERVICE_ACCOUNT, EmbeddedIssuer
from canton.issuer.state import State, delete_expired
from canton.issuer.subjects import delete_absent

# Endpoints whose responses are pages for people.
PAGES = ("/authorize", "/device")
_log = logging.getLogger(__name__)


def create_issuer(settings: EmbeddedIssuer, clock: Callable[[], float] = time.time) -> FastAPI:
    """An application to mount at the path of ``settings.url``."""
    state = State(settings.state)
    keys.ensure_key(state, settings.algorithm)
    users = [user.username for user in settings.users]
    with state.transaction() as connection:
        delete_absent(connection, [*users, *(f"{SERVICE_ACCOUNT}{client.id}" for client in settings.clients)])
    _log.warning(
        "EMBEDDED ISSUER at %s: for demos and laptops only. It keeps passwords and signing keys on this machine; in "
        "production use a real issuer such as Keycloak.",
        settings.url,
    )
    app = FastAPI(title="Canton's embedded issuer", openapi_url=None)
    app.add_middleware(_SecurityHeaders, host=settings.parts.netloc)
    app.add_exception_handler(OAuthError, _problem)
    _add_routes(app, _Endpoints(settings, state, clock), Browser(settings, state, clock))
    return app


def _add_routes(app: FastAPI, endpoints: _Endpoints, browser: Browser) -> None:
    routes: tuple[tuple[str, str, Callable[..., Any]], ...] = (
        ("GET", "/.well-known/openid-configuration", endpoints.discovery),
        ("GET", "/jwks", endpoints.jwks),
        ("POST", "/token", endpoints.token),
        ("POST", "/revoke", endpoints.revoke),
        ("POST", "/device_authorization", endpoints.start_device),
        ("GET", "/authorize", browser.ask_to_log_in),
        ("POST", "/authorize", browser.log_in),
        ("GET", "/device", browser.ask_for_device),
        ("POST", "/device", browser.decide_on_device),
    )
    pool = Pool()
    for method, path, endpoint in routes:
        app.add_api_route(path, pool.endpoint(endpoint), methods=[method], response_model=None)


class _Endpoints:
    """The routes that programs call."""

    def __init__(self, issuer: EmbeddedIssuer, state: State, clock: Callable[[], float]) -> None:
        self._issuer = issuer
        self._state = state
        self._clock = clock
        self._exchange = Exchange(issuer, state, clock)

    def discovery(self) -> dict[str, Any]:
        url, methods = self._issuer.url, ["none", "client_secret_basic", "client_secret_post"]
        return {
            "issuer": url,
            "authorization_endpoint": f"{url}/authorize",
            "token_endpoint": f"{url}/token",
            "revocation_endpoint": f"{url}/revoke",
            "device_authorization_endpoint": f"{url}/device_authorization",
            "jwks_uri": f"{url}/jwks",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials", DEVICE_CODE],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": methods,
            "revocation_endpoint_auth_methods_supported": methods,
            "id_token_signing_alg_values_supported": list(ALGORITHMS),
            "subject_types_supported": ["public"],
            "scopes_supported": list(SCOPES),
            "authorization_response_iss_parameter_supported": True,
        }

    def jwks(self) -> dict[str, Any]:
        with self._state.transaction() as connection:
            return keys.published(connection)

    def token(self, request: Request, form: Form) -> dict[str, str | int]:
        client = self._exchange.client(form, request.headers.get("authorization"))
        return self._exchange.tokens(client, form)

    def revoke(self, request: Request, form: Form) -> Response:
        client = self._exchange.client(form, request.headers.get("authorization"))
        with self._state.transaction() as connection:
            refresh_tokens.revoke(connection, form.get("token", ""), client.id)
        # RFC 7009 §2.2: the response is the same whether or not the token was valid.
        return Response(status_code=200)

    def start_device(self, request: Request, form: Form) -> dict[str, str | int]:
        client = self._exchange.client(form, request.headers.get("authorization"))
        self._exchange.refuse_unless_allowed(client, "device_code")
        issuer, now, scope = self._issuer, self._clock(), supported_scope(form.get("scope", ""))
        with self._state.transaction() as connection:
            delete_expired(connection, now)
            codes = devices.start(connection, client.id, scope, issuer.device_interval, now + issuer.device_lifetime)
        page, user_code = f"{issuer.url}/device", devices.format_user_code(codes.user_code)
        return {
            "device_code": codes.device_code,
            "user_code": user_code,
            "verification_uri": page,
            "verification_uri_complete": f"{page}?user_code={user_code}",
            "expires_in": issuer.device_lifetime,
            "interval": issuer.device_interval,
        }


def _problem(request: Request, error: Exception) -> Response:
    if not isinstance(error, OAuthError):
        raise error
    headers = {"WWW-Authenticate": 'Basic realm="Canton embedded issuer"'} if error.status == 401 else {}
    if error.retry_after:
        headers["Retry-After"] = str(error.retry_after)
        if request.url.path.endswith(PAGES):
            text = pages.message("Try again in a moment", error.description, alert=True)
            return HTMLResponse(text, error.status, headers | {"Content-Security-Policy": pages.policy("")})
    return JSONResponse({"error": error.error, "error_description": error.description}, error.status, headers)


class _SecurityHeaders:
    """Add security headers to every response, and refuse requests whose Host is not the issuer's own.

    Otherwise a foreign page whose name is made to point at 127.0.0.1 could read the responses (DNS rebinding).
    """

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app = app
        self._host = host.rpartition("@")[2].lower()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                _harden(MutableHeaders(scope=message))
            await send(message)

        if Headers(scope=scope).get("host", "").lower() != self._host:
            refusal = {"error": "invalid_request", "error_description": f"this issuer answers as {self._host} only"}
            await JSONResponse(refusal, 421)(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)


def _harden(headers: MutableHeaders) -> None:
    headers["Cache-Control"] = "no-store"
    headers["X-Content-Type-Options"] = "nosniff"
    headers["X-Frame-Options"] = "DENY"
    # Not "no-referrer": a browser would then hide its origin from our own forms, too.
    headers["Referrer-Policy"] = "same-origin"
    headers.setdefault("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
