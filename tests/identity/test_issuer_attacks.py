"""The embedded issuer under attack: its redirects, its pages, its codes and its patience."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from canton.issuer import devices, requests
from canton.issuer.settings import Client, User
from canton.issuer.state import State
from identity.browser import Answer, Browser, form_of
from identity.fake_issuer import Clock
from identity.issuers import (
    CALLBACK,
    DEVICE_CODE,
    Embedded,
    Pkce,
    ask_token,
    code_for,
    embedded,
    log_in,
    login_address,
    redeem,
    refresh,
)
from keycloak_realm import SERVICE_SECRET, password

EVIL = '"><script>alert(1)</script>'


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def timed(tmp_path: Path, clock: Clock) -> Iterator[Embedded]:
    """An embedded issuer whose clock the test sets."""
    with embedded(tmp_path / "issuer.db", clock=clock) as issuer:
        yield issuer


def login_page(issuer: Embedded, browser: Browser, **changes: str | None) -> Answer:
    return browser.get(login_address(issuer, Pkce().challenge, **changes))


NATIVE = Client("native", redirect_uris=("http://127.0.0.1/callback", "http://[::1]/callback"))
CONSOLE = Client("console", redirect_uris=(CALLBACK, "https://canton.example.org/callback"))
CONFIDENTIAL = Client("confidential", "secret", ("http://127.0.0.1/callback",))


@pytest.mark.parametrize(
    ("client", "address", "allowed"),
    [
        (NATIVE, "http://127.0.0.1/callback", True),
        (NATIVE, "http://127.0.0.1:1/callback", True),
        (NATIVE, "http://127.0.0.1:65535/callback", True),
        (NATIVE, "http://[::1]:49152/callback", True),
        (NATIVE, "https://127.0.0.1:49152/callback", False),
        (NATIVE, "http://localhost:49152/callback", False),
        (NATIVE, "http://127.0.0.2:49152/callback", False),
        (NATIVE, "http://127.0.0.1:49152/callback/", False),
        (NATIVE, "http://127.0.0.1:49152/callback?x=1", False),
        (NATIVE, "http://127.0.0.1:49152/Callback", False),
        (NATIVE, "http://127.0.0.1:49152/callback#x", False),
        (NATIVE, "http://127.0.0.1:0/callback", False),
        (NATIVE, "http://127.0.0.1:/callback", False),
        (NATIVE, "http://127.0.0.1:123456/callback", False),
        (NATIVE, "http://127.0.0.1:1@evil.example/callback", False),
        (NATIVE, "http://127.0.0.1:1\\@evil.example/callback", False),
        (NATIVE, "http://127.0.0.1.evil.example/callback", False),
        (NATIVE, "http://127.0.0.1:49152/callback\n", False),
        (NATIVE, "http://127.0.0.1:４９/callback", False),  # noqa: RUF001  # digits, but not those
        (CONSOLE, CALLBACK, True),
        (CONSOLE, "http://127.0.0.1:8701/callback", False),
        (CONSOLE, "https://canton.example.org/callback", True),
        (CONSOLE, "https://canton.example.org:444/callback", False),
        (CONSOLE, "https://canton.example.org/callback/x", False),
        (CONSOLE, "https://evil.example/?https://canton.example.org/callback", False),
        (CONSOLE, "javascript:alert(1)", False),
        (CONSOLE, "//evil.example", False),
        (CONSOLE, "", False),
        (CONFIDENTIAL, "http://127.0.0.1:49152/callback", False),
    ],
)
def test_where_a_browser_may_be_sent(client: Client, address: str, allowed: bool) -> None:
    assert requests.is_redirect_allowed(client, address) == allowed


def test_an_open_redirect_is_not_to_be_had_by_post(shared: Embedded) -> None:
    """The form sends the parameters again, and they are checked again."""
    browser = Browser()
    page = login_page(shared, browser)
    for changes in ({"redirect_uri": "http://evil.example/"}, {"client_id": "unknown"}):
        filled = {"username": "alice", "password": password("alice"), **changes}
        answer = browser.submit(page, filled)
        assert (answer.status, answer.headers["Location"]) == (400, None)


def test_pkce_cannot_be_taken_off_by_post(shared: Embedded) -> None:
    browser = Browser()
    page = login_page(shared, browser)
    for changes in ({"code_challenge_method": "plain"}, {"code_challenge": ""}, {"code_challenge": "short"}):
        answer = browser.submit(page, {"username": "alice", "password": password("alice"), **changes})
        assert answer.sent_to["error"] == "invalid_request"


def test_a_browser_comes_back_with_state_and_issuer(shared: Embedded) -> None:
    browser = Browser()
    answer = browser.log_in(login_page(shared, browser, state="a&b=c#d é"), "alice")
    assert answer.status == 303
    assert answer.sent_to["state"] == "a&b=c#d é"
    assert answer.sent_to["iss"] == shared.url


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": None}, "unsupported_response_type"),
        ({"prompt": "none"}, "login_required"),
        ({"scope": "x" * 1025}, "invalid_request"),
    ],
)
def test_requests_that_are_sent_back(shared: Embedded, changes: dict[str, str | None], error: str) -> None:
    answer = login_page(shared, Browser(), **changes)
    assert (answer.status, answer.sent_to["error"], answer.sent_to["state"]) == (303, error, "a state")


def test_a_parameter_twice(shared: Embedded) -> None:
    twice = login_address(shared, Pkce().challenge) + "&" + urlencode({"redirect_uri": "http://evil.example/"})
    assert Browser().get(twice).status == 400


@pytest.mark.parametrize("what", ["state", "nonce", "scope", "code_challenge_method", "client_id", "redirect_uri"])
def test_nothing_from_the_address_becomes_markup(shared: Embedded, what: str) -> None:
    browser = Browser()
    answer = login_page(shared, browser, **{what: EVIL})
    assert "<script" not in answer.text
    if answer.status == 200:
        assert form_of(answer).fields.get(what) == EVIL


def test_names_do_not_become_markup(tmp_path: Path) -> None:
    users = (User("eve", EVIL, password("eve"), (EVIL,), (EVIL,)),)
    with embedded(tmp_path / "issuer.db", users=users) as own:
        browser = Browser()
        page = login_page(own, browser)
        assert "<script" not in browser.log_in(page, EVIL, "wrong").text
        wrong = browser.submit(
            browser.get(f"{own.url}/device?{urlencode({'user_code': EVIL})}"),
            {"username": EVIL, "password": "x", "user_code": EVIL},
            press="allow",
        )
        assert wrong.status == 401
        assert "<script" not in wrong.text
        assert log_in(own, "eve")["access_token"]


@pytest.mark.parametrize("path", ["authorize", "device"])
def test_pages_are_locked_down(shared: Embedded, path: str) -> None:
    browser = Browser()
    page = login_page(shared, browser) if path == "authorize" else browser.get(f"{shared.url}/device")
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    style = re.search(r"<style>(.*?)</style>", page.text, re.DOTALL)
    assert style
    assert f"'sha256-{b64encode(hashlib.sha256(style[1].encode()).digest()).decode()}'" in policy
    # Chromium holds the redirect that answers a form to form-action, too.
    assert ("http://127.0.0.1:8700" in policy) == (path == "authorize")
    assert page.headers["X-Frame-Options"] == "DENY"
    assert page.headers["Cache-Control"] == "no-store"
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    origin = shared.url.removesuffix("/issuer")
    assert page.text.count(f"<strong>{origin}</strong>") == 1
    text = page.text.replace(f"<strong>{origin}</strong>", "")
    assert not re.search(r"<(script|link|img|iframe)|https?://(?!127\.0\.0\.1:8700/callback)| style=| on\w+=", text)


@pytest.mark.parametrize("path", ["authorize", "device"])
def test_pages_are_accessible(own: Embedded, path: str) -> None:
    """Every field has a label, the page has a language and one heading."""
    browser = Browser()
    page = login_page(own, browser) if path == "authorize" else browser.get(f"{own.url}/device")
    input_ids = set(re.findall(r'<input (?!type="hidden")[^>]*id="([^"]+)"', page.text))
    assert input_ids >= {"username", "password"}
    assert set(re.findall(r'<label for="([^"]+)"', page.text)) == input_ids
    assert '<html lang="en">' in page.text
    assert page.text.count("<h1>") == 1
    wrong = browser.submit(page, {"username": "alice", "password": "x", "user_code": "BDFGHJKL"}, press="allow")
    assert 'role="alert"' in wrong.text


@pytest.mark.parametrize("path", ["authorize", "device"])
def test_a_form_from_elsewhere_is_refused(own: Embedded, path: str) -> None:
    """All ports of 127.0.0.1 share cookies: a valid cookie alone is not enough, and a request without one fails."""
    browser = Browser()
    page = login_page(own, browser) if path == "authorize" else browser.get(f"{own.url}/device")
    fields = form_of(page).fields | {"username": "alice", "password": password("alice"), "decision": "allow"}
    url = f"{own.url}/{path}"
    port = urlsplit(own.url).port
    assert browser.post(url, fields | {"form_token": ""}).status == 403
    assert browser.post(url, fields | {"form_token": "guess"}).status == 403
    assert Browser().post(url, fields).status == 403
    for origin in ("http://evil.example", "http://127.0.0.1:1", f"https://127.0.0.1:{port}", "null"):
        assert browser.post(url, fields, {"Origin": origin}).status == 403
    assert browser.post(url, fields, {"Origin": f"http://127.0.0.1:{port}"}).status in (303, 400)


def test_the_cookie_is_out_of_reach_of_others(shared: Embedded) -> None:
    cookie = login_page(shared, Browser()).headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/issuer" in cookie


def test_no_answer_under_a_foreign_name(shared: Embedded) -> None:
    for host in ("evil.example", f"evil.example:{urlsplit(shared.url).port}", "127.0.0.1"):
        assert Browser().get(f"{shared.url}/jwks", {"Host": host}).status == 421


def test_guessing_a_password_gets_slower(timed: Embedded, clock: Clock) -> None:
    browser = Browser()
    page = login_page(timed, browser)
    tries = [browser.log_in(page, "alice", f"guess {n}") for n in range(6)]
    assert [answer.status for answer in tries] == [401] * 5 + [429]
    assert tries[-1].headers["Retry-After"] == "1"
    # Even the correct password has to wait; other people do not.
    assert browser.log_in(page, "alice").status == 429
    assert browser.log_in(page, "bob").status == 303
    clock.now += 1
    assert browser.log_in(page, "alice", "guess").status == 401
    clock.now += 1
    assert browser.log_in(page, "alice").status == 429
    clock.now += 1
    assert browser.log_in(page, "alice").status == 303
    assert browser.log_in(page, "alice", "guess").status == 401


def test_guessing_in_parallel_is_not_quicker(timed: Embedded) -> None:
    browser = Browser()
    page = login_page(timed, browser)
    with ThreadPoolExecutor(12) as pool:
        tries = list(pool.map(lambda n: browser.log_in(page, "alice", f"guess {n}").status, range(12)))
    assert sorted(tries) == [401] * 5 + [429] * 7


def test_unknown_people_look_like_known_ones(own: Embedded) -> None:
    browser = Browser()
    page = login_page(own, browser)
    known_page, unknown = (browser.log_in(page, name, "guess") for name in ("alice", "wendy"))
    assert known_page.status == unknown.status
    assert known_page.text.replace("alice", "wendy") == unknown.text


def test_guessing_a_secret_gets_slower(timed: Embedded, clock: Clock) -> None:
    def robot(secret: str) -> int:
        return ask_token(timed, "canton-robot", grant_type="client_credentials", client_secret=secret).status

    assert [robot("guess") for _ in range(6)] == [401] * 5 + [429]
    clock.now += 1
    assert robot(SERVICE_SECRET) == 200


def start_device(issuer: Embedded, client: str = "canton-cli") -> dict[str, Any]:
    return Browser().post(f"{issuer.url}/device_authorization", {"client_id": client}).json


def poll(issuer: Embedded, started: dict[str, Any]) -> tuple[int, str]:
    answer = ask_token(issuer, "canton-cli", grant_type=DEVICE_CODE, device_code=started["device_code"])
    return answer.status, answer.json.get("error", "")


def decide(issuer: Embedded, user_code: str, press: str = "allow", username: str = "bob") -> Answer:
    browser = Browser()
    filled = {"username": username, "password": password(username), "user_code": user_code}
    return browser.submit(browser.get(f"{issuer.url}/device"), filled, press=press)


def test_guessing_a_user_code_gets_slower(timed: Embedded, clock: Clock) -> None:
    """Only a person who can log in may enter codes at all."""
    started = start_device(timed)
    tries = [decide(timed, f"BBBB-BBB{letter}").status for letter in "BCDFGH"]
    assert tries == [400] * 5 + [429]
    assert decide(timed, started["user_code"]).status == 429
    assert decide(timed, started["user_code"], username="alice").status == 200
    assert poll(timed, started)[0] == 200


@pytest.mark.parametrize("typed_code", ["{0}-{1}", "{0}{1}", " {0} - {1} "])
@pytest.mark.parametrize("small", [True, False])
def test_a_code_typed_by_hand(own: Embedded, typed_code: str, small: bool) -> None:
    started = start_device(own)
    assert re.fullmatch(r"[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}", started["user_code"])
    typed = typed_code.format(*started["user_code"].split("-"))
    assert decide(own, typed.lower() if small else typed).status == 200
    assert poll(own, started)[0] == 200


def test_a_device_that_is_refused(own: Embedded) -> None:
    started = start_device(own)
    assert decide(own, started["user_code"], press="refuse").status == 200
    assert poll(own, started) == (400, "access_denied")
    assert decide(own, started["user_code"]).status == 400


def test_to_refuse_needs_no_login(own: Embedded) -> None:
    started, browser = start_device(own), Browser()
    page = browser.get(f"{own.url}/device?user_code={started['user_code']}")
    assert re.search(r'value="refuse"[^>]* formnovalidate', page.text)
    assert f"</strong> asks to act for you at <strong>{own.url.partition('/issuer')[0]}" in page.text
    answer = browser.submit(page, {}, press="refuse")
    assert (answer.status, "was refused" in answer.text) == (200, True)
    assert poll(own, started) == (400, "access_denied")


def test_a_refusal_without_a_login_does_not_tell_which_codes_there_are(own: Embedded) -> None:
    browser = Browser()
    pages = {
        browser.submit(browser.get(f"{own.url}/device"), {"user_code": code}, press="refuse").text
        for code in (start_device(own)["user_code"], "BBBB-BBBB")
    }
    assert len(pages) == 1
    assert browser.submit(browser.get(f"{own.url}/device"), {}, press="refuse").status == 400


def test_allowing_a_device_needs_a_login(own: Embedded) -> None:
    started, browser = start_device(own), Browser()
    for press in ("allow", "nothing"):
        page = browser.get(f"{own.url}/device")
        answer = browser.submit(page, {"user_code": started["user_code"], "decision": press}, press=press)
        assert answer.status != 200
    assert poll(own, started) == (400, "authorization_pending")


def test_a_decision_is_made_once(own: Embedded) -> None:
    """A second person who enters the same code does not become the device's owner."""
    started = start_device(own)
    assert decide(own, started["user_code"], username="alice").status == 200
    assert decide(own, started["user_code"], username="bob").status == 400
    answer = ask_token(own, "canton-cli", grant_type=DEVICE_CODE, device_code=started["device_code"])
    assert answer.status == 200


def test_a_device_code_is_good_for_its_client_only(shared: Embedded) -> None:
    """Even for a client that may log devices in, and after a person allowed it."""
    started = start_device(shared)
    assert decide(shared, started["user_code"]).status == 200
    fields = {"grant_type": DEVICE_CODE, "device_code": started["device_code"]}
    assert ask_token(shared, "canton-native", **fields).json["error"] == "invalid_grant"
    assert ask_token(shared, "canton-cli", **fields).status == 200


def test_a_device_code_expires_without_a_decision(timed: Embedded, clock: Clock) -> None:
    started = start_device(timed)
    clock.now += 600
    assert poll(timed, started) == (400, "expired_token")
    assert decide(timed, started["user_code"]).status == 400


def test_who_polls_too_often_is_slowed_down_further(timed: Embedded, clock: Clock) -> None:
    started = start_device(timed)
    intervals = []
    for pause in (0, 0, 1, 10, 16):
        clock.now += pause
        intervals.append(poll(timed, started)[1])
    assert intervals == ["authorization_pending", "slow_down", "slow_down", "slow_down", "authorization_pending"]


def test_waiting_devices_are_bounded(timed: Embedded, clock: Clock) -> None:
    with State(timed.settings.state).transaction() as connection:
        for _ in range(999):
            devices.start(connection, "canton-cli", "", 5, clock.now + 600)
    assert "device_code" in start_device(timed)
    assert start_device(timed)["error"] == "temporarily_unavailable"
    clock.now += 700
    assert "device_code" in start_device(timed)


def test_only_the_clients_that_may_start_a_device(shared: Embedded) -> None:
    assert start_device(shared, "canton-web")["error"] == "unauthorized_client"
    assert start_device(shared, "unknown")["error"] == "invalid_client"


def test_a_code_runs_out(timed: Embedded, clock: Clock) -> None:
    pkce = Pkce()
    code = code_for(timed, "alice", pkce)
    clock.now += 60
    assert redeem(timed, code, code_verifier=pkce.verifier).status == 400


def test_a_code_is_good_for_its_client_only(shared: Embedded) -> None:
    """Even for a client that knows the verifier and names the right address."""
    pkce = Pkce()
    code = code_for(shared, "alice", pkce)
    assert redeem(shared, code, code_verifier=pkce.verifier, client_id="canton-native").json["error"] == "invalid_grant"


def test_a_login_runs_out_however_often_it_is_refreshed(timed: Embedded, clock: Clock) -> None:
    token = log_in(timed, "alice")["refresh_token"]
    for _ in range(7):
        clock.now += 3600
        token = refresh(timed, token).json["refresh_token"]
    clock.now += 3600
    refusal = refresh(timed, token).json
    assert refusal["error"] == "invalid_grant"
    assert "log in" not in refusal["error_description"], "the client says what to do"


def test_one_of_many_with_the_same_code_wins(own: Embedded) -> None:
    pkce = Pkce()
    code = code_for(own, "alice", pkce)
    with ThreadPoolExecutor(8) as pool:
        tries = list(pool.map(lambda _: redeem(own, code, code_verifier=pkce.verifier).status, range(8)))
    assert sorted(tries) == [200] + [400] * 7


def test_one_of_many_with_the_same_refresh_token_wins(own: Embedded) -> None:
    token = log_in(own, "alice")["refresh_token"]
    with ThreadPoolExecutor(8) as pool:
        tries = list(pool.map(lambda _: refresh(own, token).status, range(8)))
    assert sorted(tries) == [200] + [400] * 7


def test_a_client_gets_only_the_grants_it_has(shared: Embedded) -> None:
    for client, grant in (
        ("canton-cli", "authorization_code"),
        ("canton-web", DEVICE_CODE),
        ("canton-cli", "client_credentials"),
    ):
        fields = {"grant_type": grant, "code": "x", "device_code": "x"}
        assert ask_token(shared, client, **fields).json["error"] == "unauthorized_client"


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        ("Basic " + b64encode(f"canton-robot:{SERVICE_SECRET.replace(' ', '+')}".encode()).decode(), 200),
        ("Basic " + b64encode(b"canton-robot:wrong").decode(), 401),
        ("Basic " + b64encode(b"unknown:x").decode(), 401),
        ("Basic \u00e9", 401),
        ("Basic !!!", 401),
        ("Bearer x", 401),
        ("Basic " + b64encode(b"\xff\xfe").decode(), 401),
    ],
)
def test_secrets_in_the_header(own: Embedded, authorization: str, status: int) -> None:
    answer = Browser().post(f"{own.url}/token", {"grant_type": "client_credentials"}, {"Authorization": authorization})
    assert answer.status == status


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{}", "application/json", 415),
        (b"x=" + b"a" * 20_000, "application/x-www-form-urlencoded", 413),
        (b"grant_type=password&grant_type=refresh_token", "application/x-www-form-urlencoded", 400),
        (b"&".join(b"f%d=1" % n for n in range(100)), "application/x-www-form-urlencoded", 400),
        (b"client_id=%ff%fe", "application/x-www-form-urlencoded", 400),
        (b"\xff\xfe", "application/x-www-form-urlencoded", 400),
        (b"", "application/x-www-form-urlencoded", 401),
        (b"client_id=canton-cli", "application/x-www-form-urlencoded", 400),
        (b"client_id=canton-cli&grant_type=refresh_token", "application/x-www-form-urlencoded", 400),
        (b"client_id=canton-cli&grant_type=refresh_token&refresh_token=%00", "application/x-www-form-urlencoded", 400),
    ],
)
@pytest.mark.parametrize("path", ["token", "revoke", "device_authorization"])
def test_bodies_that_make_no_sense(shared: Embedded, path: str, body: bytes, kind: str, status: int) -> None:
    if path != "token" and body.startswith(b"client_id=canton-cli"):
        status = 200
    answer = Browser().send(f"{shared.url}/{path}", body, kind)
    assert answer.status == status
    assert status == 200 or answer.json["error"]
