"""The HTML pages. They have no script, load nothing, and escape every text from outside."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from html import escape

_STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0; padding: 3rem 1rem; color: #1b1f24; background: #f4f5f7; }
main { max-width: 24rem; margin: 0 auto; padding: 2rem; border-radius: .75rem; background: #fff;
  box-shadow: 0 1px 4px #0003; }
h1 { font-size: 1.35rem; margin: 0 0 1rem; }
label { display: block; margin: 1rem 0 .25rem; font-weight: 600; }
input { box-sizing: border-box; width: 100%; padding: .6rem .7rem; font: inherit; color: inherit; background: #fff;
  border: 1px solid #767d86; border-radius: .4rem; }
input.code { font-family: ui-monospace, monospace; letter-spacing: .15em; text-transform: uppercase; }
button { margin: 1.5rem .5rem 0 0; padding: .6rem 1.2rem; font: inherit; font-weight: 600; cursor: pointer;
  border: 1px solid #0b5394; border-radius: .4rem; color: #fff; background: #0b5394; }
button.quiet { color: #0b5394; background: #fff; }
:focus-visible { outline: 3px solid #e0a100; outline-offset: 2px; }
.alert { padding: .6rem .8rem; border-left: 4px solid #b3261e; background: #fdecea; color: #7a1712; }
.note { margin: 1.5rem 0 0; font-size: .875rem; color: #57606a; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e8eb; background: #14171a; }
  main, input { background: #1f2429; }
  button.quiet { color: #9cc9f5; background: #1f2429; border-color: #9cc9f5; }
  .note { color: #a9b1ba; }
}
"""
_STYLE_HASH = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()


def policy(redirect_origin: str = "") -> str:
    """``redirect_origin``: browsers apply ``form-action`` also to the redirect that answers a form."""
    forms = f"'self' {redirect_origin}".strip()
    style = f"'sha256-{_STYLE_HASH}'"
    return f"default-src 'none'; style-src {style}; form-action {forms}; base-uri 'none'; frame-ancestors 'none'"


def login(client: str, server: str, hidden: Mapping[str, str], alert: str = "", username: str = "") -> str:
    return _page(
        "Log in",
        f"<p><strong>{escape(client)}</strong> asks to act for you at <strong>{escape(server)}</strong>.</p>"
        f"{_alert(alert)}"
        f'<form method="post" action="authorize">{_hidden(hidden)}{_person(username)}'
        '<button type="submit">Log in</button></form>',
    )


def device(
    programs: str, server: str, hidden: Mapping[str, str], user_code: str = "", alert: str = "", username: str = ""
) -> str:
    """``programs`` names every program that may use device codes; without a login the page hides which it is."""
    return _page(
        "Allow a program",
        f"<p><strong>{escape(programs)}</strong> asks to act for you at <strong>{escape(server)}</strong>, and shows a "
        f"code. Go on only if you started it yourself and the code below is the same.</p>{_alert(alert)}"
        f'<form method="post" action="device">{_hidden(hidden)}'
        '<label for="user_code">Code</label>'
        f'<input class="code" id="user_code" name="user_code" value="{escape(user_code)}" placeholder="BDFG-HJKL" '
        'required maxlength="16" autocomplete="off" autocapitalize="characters" spellcheck="false">'
        f"{_person(username)}"
        '<button type="submit" name="decision" value="allow">Allow</button>'
        '<button type="submit" class="quiet" name="decision" value="refuse" formnovalidate>Refuse</button></form>',
    )


def message(title: str, text: str, *, alert: bool = False) -> str:
    return _page(title, _alert(text) if alert else f'<p role="status">{escape(text)}</p>')


def _page(title: str, body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} · Canton</title><style>{_STYLE}</style></head>"
        f"<body><main><h1>{escape(title)}</h1>{body}"
        '<p class="note">This is Canton\'s embedded issuer, for demos and laptops only.</p></main></body></html>'
    )


def _person(username: str) -> str:
    return (
        '<label for="username">Username</label>'
        f'<input id="username" name="username" value="{escape(username)}" required maxlength="128" '
        'autocomplete="username" autocapitalize="none" spellcheck="false">'
        '<label for="password">Password</label>'
        '<input id="password" name="password" type="password" required maxlength="1024" '
        'autocomplete="current-password">'
    )


def _hidden(fields: Mapping[str, str]) -> str:
    return "".join(f'<input type="hidden" name="{escape(n)}" value="{escape(v)}">' for n, v in fields.items())


def _alert(text: str) -> str:
    return f'<p class="alert" role="alert">{escape(text)}</p>' if text else ""
