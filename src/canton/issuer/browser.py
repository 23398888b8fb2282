"""The pages' routes: logging in, and allowing a device.

A form counts only if it came from a page of ours: it brings back what the page's cookie holds, and a browser that says
where it comes from says that it is here. Cookies alone would not do: those of 127.0.0.1 are shared by all its ports.
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
from canton.issuer.requests import LoginRequest, SendBack
from canton.issuer.settings import EmbeddedIssuer, User
from canton.issuer.state import State, fresh_secret, tidy

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
            wanted = requests.read(self._clients, query)
        except SendBack as refusal:
            return RedirectResponse(refusal.address, 303)
        except OAuthError as error:
            return self._refusal(error)
        return self._login_page(request, wanted)

    def log_in(self, request: Request, form: Form) -> Response:
        try:
            self._refuse_foreign(request, form)
            wanted = requests.read(self._clients, form)
            user = self._logins.check(form.get("username", ""), form.get("password", ""))
        except SendBack as refusal:
            return RedirectResponse(refusal.address, 303)
        except OAuthError as error:
            return self._refusal(error)
        except LoginRefused as refusal:
            return self._login_page(request, requests.read(self._clients, form), refusal, form.get("username", ""))
        answer = {"code": self._code(wanted, user), "iss": self._issuer.url}
        return RedirectResponse(requests.back(wanted.asked.redirect_uri, wanted.state, answer), 303)

    def ask_for_device(self, request: Request, query: Query) -> Response:
        user_code = devices.typed(query.get("user_code", ""))
        return self._device_page(request, devices.shown(user_code) if user_code else "")

    def decide_on_device(self, request: Request, form: Form) -> Response:
        typed, username, refuse = (
            form.get("user_code", "")[:32],
            form.get("username", ""),
            form.get("decision") == "refuse",
        )
        try:
            self._refuse_foreign(request, form)
            if refuse:
                self._refuse_device(devices.typed(typed))
            else:
                self._allow_device(devices.typed(typed), self._logins.check(username, form.get("password", "")))
        except OAuthError as error:
            return self._refusal(error)
        except LoginRefused as refusal:
            return self._device_page(request, typed, refusal, username)
        said = "A program that waited with this code was refused." if refuse else "The program may now act for you."
        return self._html(pages.message("Done", f"{said} You can close this page."))

    def _code(self, wanted: LoginRequest, user: User) -> str:
        now = self._clock()
        with self._state.transaction() as connection:
            tidy(connection, now)
            return codes.issue(connection, wanted.asked, user.username, now + self._issuer.code_for)

    def _refuse_device(self, user_code: str) -> None:
        """Without a login. The answer is the same for a code that nothing waits with: this page is no way to guess."""
        if not user_code:
            raise LoginRefused("Type the code that the program shows: that program is refused.", 400)
        with self._state.transaction() as connection:
            devices.decide(connection, user_code, "", self._clock(), allow=False)

    def _allow_device(self, user_code: str, user: User) -> None:
        subject = f"device codes of {user.username}"
        with self._state.transaction() as connection:
            wait = throttle.try_once(connection, subject, self._clock())
            found = not wait and devices.decide(connection, user_code, user.username, self._clock(), allow=True)
            if found:
                throttle.succeeded(connection, subject)
        if wait:
            raise LoginRefused(f"Too many wrong codes. Wait {wait} seconds, then try again.", 429, wait)
        if not found:
            raise LoginRefused("No program waits with this code. Is it mistyped, or too old?", 400)

    def _refuse_foreign(self, request: Request, form: Mapping[str, str]) -> None:
        origin, held = request.headers.get("origin"), request.cookies.get(COOKIE, "")
        ours = origin is None or origin == self._origin
        if not ours or not held or not hmac.compare_digest(held.encode(), form.get(_FIELD, "").encode()):
            raise OAuthError(
                "invalid_request", "The form is not from this page, or too old. Go back and try again.", 403
            )

    def _login_page(
        self, request: Request, wanted: LoginRequest, refusal: LoginRefused | None = None, username: str = ""
    ) -> Response:
        secret = request.cookies.get(COOKIE) or fresh_secret()
        hidden = {**wanted.carried, _FIELD: secret}
        client = self._clients[wanted.asked.client].shown
        text = pages.login(client, self._origin, hidden, refusal.message if refusal else "", username)
        return self._form(text, secret, refusal, leads_to=wanted.origin)

    def _device_page(
        self, request: Request, user_code: str, refusal: LoginRefused | None = None, username: str = ""
    ) -> Response:
        secret = request.cookies.get(COOKIE) or fresh_secret()
        programs = " or ".join(it.shown for it in self._issuer.clients if "device_code" in it.grants) or "A program"
        alert = refusal.message if refusal else ""
        text = pages.device(programs, self._origin, {_FIELD: secret}, user_code, alert, username)
        return self._form(text, secret, refusal)

    def _form(self, text: str, secret: str, refusal: LoginRefused | None, leads_to: str = "") -> Response:
        answer = self._html(text, refusal.status if refusal else 200, leads_to)
        if refusal and refusal.wait:
            answer.headers["Retry-After"] = str(refusal.wait)
        secure = self._issuer.parts.scheme == "https"
        answer.set_cookie(
            COOKIE, secret, path=self._issuer.parts.path or "/", httponly=True, samesite="strict", secure=secure
        )
        return answer

    def _refusal(self, error: OAuthError) -> Response:
        return self._html(pages.message("This does not work", error.description, alert=True), error.status)

    def _html(self, text: str, status: int = 200, leads_to: str = "") -> HTMLResponse:
        return HTMLResponse(text, status, {"Content-Security-Policy": pages.policy(leads_to)})
