"""The routes of the pages where a person logs in or allows a device.

A form is accepted only if it came from one of these pages: it must repeat the secret of the page's cookie, and the
header Origin, if the browser sends one, must be the issuer's. The cookie alone is not enough: all ports of 127.0.0.1
share it.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from canton.issuer import codes, devices, pages, requests, throttle
from canton.issuer.forms import Form, Query
from canton.issuer.logins import LoginRefused, Logins
from canton.issuer.oauth import OAuthError
from canton.issuer.requests import LoginRequest, RedirectError
from canton.issuer.settings import EmbeddedIssuer, User
from canton.issuer.state import State, delete_expired, fresh_secret

COOKIE = "canton-issuer-form"
_FIELD = "form_token"


class Browser:
    def __init__(self, issuer: EmbeddedIssuer, state: State, clock: Callable[[], float]) -> None:
        self._issuer = issuer
        self._state = state
        self._clock = clock
        self._logins = Logins(issuer, state, clock)
        self._clients = {client.id: client for client in issuer.clients}
        self._origin = f"{issuer.parts.scheme}://{issuer.parts.netloc}"

    def ask_to_log_in(self, request: Request, query: Query) -> Response:
        try:
            login = requests.read(self._clients, query)
        except RedirectError as refusal:
            return RedirectResponse(refusal.address, 303)
        except OAuthError as error:
            return self._refusal(error)
        return self._login_page(request, login)

    def log_in(self, request: Request, form: Form) -> Response:
        try:
            self._refuse_foreign(request, form)
            login = requests.read(self._clients, form)
            user = self._logins.check(form.get("username", ""), form.get("password", ""))
        except RedirectError as refusal:
            return RedirectResponse(refusal.address, 303)
        except OAuthError as error:
            return self._refusal(error)
        except LoginRefused as refusal:
            return self._login_page(request, requests.read(self._clients, form), refusal, form.get("username", ""))
        parameters = {"code": self._code(login, user), "iss": self._issuer.url}
        return RedirectResponse(
            requests.redirect_address(login.authorization.redirect_uri, login.state, parameters), 303
        )

    def ask_for_device(self, request: Request, query: Query) -> Response:
        user_code = devices.parse_user_code(query.get("user_code", ""))
        return self._device_page(request, devices.format_user_code(user_code) if user_code else "")

    def decide_on_device(self, request: Request, form: Form) -> Response:
        text, username, refuse = (
            form.get("user_code", "")[:32],
            form.get("username", ""),
            form.get("decision") == "refuse",
        )
        try:
            self._refuse_foreign(request, form)
            if refuse:
                self._refuse_device(devices.parse_user_code(text))
            else:
                self._allow_device(
                    devices.parse_user_code(text), self._logins.check(username, form.get("password", ""))
                )
        except OAuthError as error:
            return self._refusal(error)
        except LoginRefused as refusal:
            return self._device_page(request, text, refusal, username)
        result = "The program with this code was refused." if refuse else "The program may now act for you."
        return self._html(pages.message("Done", f"{result} You can close this page."))

    def _code(self, login: LoginRequest, user: User) -> str:
        now = self._clock()
        with self._state.transaction() as connection:
            delete_expired(connection, now)
            return codes.issue(connection, login.authorization, user.username, now + self._issuer.code_lifetime)

    def _refuse_device(self, user_code: str) -> None:
        """Needs no login. An unknown code gets the same response, so that this page does not help to guess."""
        if not user_code:
            raise LoginRefused("Type the code that the program shows: that program is refused.", 400)
        with self._state.transaction() as connection:
            devices.decide(connection, user_code, "", self._clock(), allow=False)

    def _allow_device(self, user_code: str, user: User) -> None:
        subject = f"device codes of {user.username}"
        with self._state.transaction() as connection:
            wait = throttle.count_attempt(connection, subject, self._clock())
            is_pending = not wait and devices.decide(connection, user_code, user.username, self._clock(), allow=True)
            if is_pending:
                throttle.reset(connection, subject)
        if wait:
            raise LoginRefused(f"Too many wrong codes. Wait {wait} seconds, then try again.", 429, wait)
        if not is_pending:
            raise LoginRefused("No program waits for this code. It may be mistyped or too old.", 400)

    def _refuse_foreign(self, request: Request, form: Mapping[str, str]) -> None:
        origin, cookie = request.headers.get("origin"), request.cookies.get(COOKIE, "")
        is_own = origin is None or origin == self._origin
        if not is_own or not cookie or not hmac.compare_digest(cookie.encode(), form.get(_FIELD, "").encode()):
            raise OAuthError(
                "invalid_request", "The form did not come from this page, or it is too old. Go back and try again.", 403
            )

    def _login_page(
        self, request: Request, login: LoginRequest, refusal: LoginRefused | None = None, username: str = ""
    ) -> Response:
        secret = request.cookies.get(COOKIE) or fresh_secret()
        hidden = {**login.parameters, _FIELD: secret}
        client = self._clients[login.authorization.client].display_name
        text = pages.login(client, self._origin, hidden, refusal.message if refusal else "", username)
        return self._form(text, secret, refusal, redirect_origin=login.origin)

    def _device_page(
        self, request: Request, user_code: str, refusal: LoginRefused | None = None, username: str = ""
    ) -> Response:
        secret = request.cookies.get(COOKIE) or fresh_secret()
        programs = (
            " or ".join(it.display_name for it in self._issuer.clients if "device_code" in it.grants) or "A program"
        )
        alert = refusal.message if refusal else ""
        text = pages.device(programs, self._origin, {_FIELD: secret}, user_code, alert, username)
        return self._form(text, secret, refusal)

    def _form(self, text: str, secret: str, refusal: LoginRefused | None, redirect_origin: str = "") -> Response:
        response = self._html(text, refusal.status if refusal else 200, redirect_origin)
        if refusal and refusal.wait:
            response.headers["Retry-After"] = str(refusal.wait)
        secure = self._issuer.parts.scheme == "https"
        response.set_cookie(
            COOKIE, secret, path=self._issuer.parts.path or "/", httponly=True, samesite="strict", secure=secure
        )
        return response

    def _refusal(self, error: OAuthError) -> Response:
        return self._html(pages.message("This does not work", error.description, alert=True), error.status)

    def _html(self, text: str, status: int = 200, redirect_origin: str = "") -> HTMLResponse:
        return HTMLResponse(text, status, {"Content-Security-Policy": pages.policy(redirect_origin)})
