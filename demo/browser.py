"""What a person does with a browser: open the page, type name and password, allow the program."""

from __future__ import annotations

import html
import re
from http.cookiejar import CookieJar
from urllib.parse import urlencode, urljoin
from urllib.request import HTTPCookieProcessor, OpenerDirector, ProxyHandler, Request, build_opener

_FORM = re.compile(r'<form[^>]*action="([^"]+)"')
_HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')


def allow(page: str, user_code: str, username: str, password: str) -> None:
    """Allow the program that shows ``user_code``; raises if the page says anything but yes."""
    browser = build_opener(HTTPCookieProcessor(CookieJar()), ProxyHandler({}))
    text = _read(browser, Request(page))  # noqa: S310 (the demo's own server, on loopback)
    form = _FORM.search(text)
    if form is None:
        raise SystemExit(f"{page} shows no form")
    fields = {html.unescape(name): html.unescape(value) for name, value in _HIDDEN.findall(text)}
    fields |= {"user_code": user_code, "username": username, "password": password, "decision": "allow"}
    answer = _read(browser, Request(urljoin(page, form[1]), urlencode(fields).encode()))  # noqa: S310
    if 'role="status"' not in answer:
        raise SystemExit(f"{username} could not allow the program: {re.sub('<[^>]+>', ' ', answer)[-300:]}")


def _read(browser: OpenerDirector, request: Request) -> str:
    with browser.open(request, timeout=10) as response:
        return str(response.read().decode())
