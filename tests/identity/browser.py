"""A browser with what logging in needs: cookies, forms and redirects, and no JavaScript."""

from __future__ import annotations

import http.cookiejar
import json
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from email.message import Message
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import keycloak_realm


@dataclass(frozen=True)
class Answer:
    status: int
    url: str
    headers: Message
    text: str

    @property
    def json(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.text)
        return document

    @property
    def sent_to(self) -> dict[str, str]:
        """The parameters of the address that it redirects to."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.headers["Location"]).query).items()}


@dataclass
class Form:
    action: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[tuple[str, str]] = field(default_factory=list)


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        name, value = attributes.get("name", ""), attributes.get("value", "")
        if tag == "form":
            self.forms.append(Form(attributes.get("action", "")))
        elif self.forms and name and (tag == "button" or attributes.get("type") == "submit"):
            self.forms[-1].buttons.append((name, value))
        elif self.forms and name and tag == "input" and attributes.get("type") != "checkbox":
            self.forms[-1].fields[name] = value


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


class Browser:
    """``follow`` stops at a redirect to another host than the issuer's: no server listens at the client's address."""

    def __init__(self) -> None:
        # Keycloak's cookies are Secure even on http and loopback, where browsers take them all the same.
        lenient = http.cookiejar.DefaultCookiePolicy(secure_protocols=("https", "http"))
        self.cookies = http.cookiejar.CookieJar(lenient)
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(self.cookies), _NoRedirects()
        )

    def get(self, url: str, headers: dict[str, str] | None = None) -> Answer:
        return self._open(urllib.request.Request(url, headers=headers or {}))  # noqa: S310

    def post(self, url: str, fields: dict[str, str], headers: dict[str, str] | None = None) -> Answer:
        return self._open(urllib.request.Request(url, urlencode(fields).encode(), headers or {}))  # noqa: S310

    def send(self, url: str, body: bytes, kind: str) -> Answer:
        return self._open(urllib.request.Request(url, body, {"Content-Type": kind}))  # noqa: S310

    def _open(self, request: urllib.request.Request) -> Answer:
        try:
            response = self._opener.open(request, timeout=30)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            return Answer(response.status, response.url, response.headers, response.read().decode())

    def follow(self, answer: Answer) -> Answer:
        for _ in range(10):
            target = urljoin(answer.url, answer.headers.get("Location", ""))
            if answer.status not in (302, 303) or urlsplit(target).netloc != urlsplit(answer.url).netloc:
                return answer
            answer = self.get(target)
        raise AssertionError("redirected in circles")

    def submit(self, page: Answer, filled: dict[str, str], press: str = "") -> Answer:
        form = form_of(page)
        pressed = {name: value for name, value in form.buttons if press in (name, value)}
        return self.post(urljoin(page.url, form.action), form.fields | filled | pressed)

    def log_in(self, page: Answer, username: str, password: str = "") -> Answer:
        """Submit the login form; an empty ``password`` stands for the correct one."""
        filled = {"username": username, "password": password or keycloak_realm.password(username)}
        return self.submit(page, filled)


def form_of(page: Answer) -> Form:
    parser = _Forms()
    parser.feed(page.text)
    assert len(parser.forms) == 1, f"{page.status} at {page.url}: {len(parser.forms)} forms in {page.text[:2000]}"
    return parser.forms[0]
