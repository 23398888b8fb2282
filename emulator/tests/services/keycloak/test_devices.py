"""The device flow, with the forms that a user fills in."""

from __future__ import annotations

import html
import re
import time
from typing import Any

import pytest

from csm_emulator.services.keycloak.login import devices
from services.keycloak.conftest import DEVICE_CODE, OIDC, REALM, RealmClient, claims, error


class ManualClock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    clock = ManualClock()
    monkeypatch.setattr(time, "time", clock)
    return clock


def _begin(visitor: RealmClient, **form: str) -> dict[str, Any]:
    reply = visitor.post(f"{OIDC}/auth/device", client_id="shasta", **form)
    assert reply.status == 200
    device: dict[str, Any] = reply.json()
    return device


def _poll(visitor: RealmClient, device: dict[str, Any]) -> Any:
    return visitor.token(grant_type=DEVICE_CODE, client_id="shasta", device_code=device["device_code"])


def _action(page: bytes) -> str:
    match = re.search(r'<form[^>]*action="([^"]+)"', page.decode())
    assert match
    return html.unescape(match[1])


def _hidden(page: bytes) -> dict[str, str]:
    return dict(re.findall(r'<input[^>]*type="hidden"[^>]*name="([^"]*)"[^>]*value="([^"]*)"', page.decode()))


def _decide(visitor: RealmClient, device: dict[str, Any], username: str, button: str) -> bytes:
    page = visitor.get(f"{REALM}/device?user_code={device['user_code']}").body
    login = {"username": username, "password": visitor.passwords[username], "credentialId": ""}
    page = visitor.post(_action(page), **login).body
    assert b"Grant Access to shasta" in page
    return visitor.post(_action(page), **_hidden(page), **{button: "x"}).body


def test_the_answer_to_a_device(visitor: RealmClient) -> None:
    device = _begin(visitor)
    assert re.fullmatch("[A-Z]{4}-[A-Z]{4}", device["user_code"])
    assert device["verification_uri"] == "https://localhost:8443/keycloak/realms/shasta/device"
    assert device["verification_uri_complete"] == f"{device['verification_uri']}?user_code={device['user_code']}"
    assert (device["expires_in"], device["interval"]) == (600, 5)


def test_pending_slow_down_and_granted(visitor: RealmClient, wall: ManualClock) -> None:
    device = _begin(visitor, scope="openid")
    assert error(_poll(visitor, device)) == (
        400,
        "authorization_pending",
        "The authorization request is still pending",
    )
    wall.now += 1
    assert error(_poll(visitor, device)) == (400, "slow_down", "Slow down")
    assert b"Device Login Successful" in _decide(visitor, device, "bea", "accept")
    wall.now += 6
    answer = _poll(visitor, device).json()
    token_claims = claims(answer["access_token"])
    assert (token_claims["preferred_username"], token_claims["azp"], token_claims["scope"]) == (
        "bea",
        "shasta",
        "openid profile email",
    )
    assert token_claims["jti"].startswith("onrtdg:")
    assert token_claims["auth_time"] == int(wall.now)
    assert "refresh_token" in answer
    wall.now += 6
    assert error(_poll(visitor, device)) == (400, "invalid_grant", "Device code not valid")


def test_denied(visitor: RealmClient, wall: ManualClock) -> None:
    device = _begin(visitor)
    assert b"Consent denied" in _decide(visitor, device, "user", "cancel")
    for _ in range(2):
        assert error(_poll(visitor, device)) == (400, "access_denied", "The end user denied the authorization request")
        wall.now += 6


def test_expired(visitor: RealmClient, wall: ManualClock) -> None:
    device = _begin(visitor)
    wall.now += 601
    assert error(_poll(visitor, device)) == (400, "expired_token", "Device code is expired")
    page = visitor.get(f"{REALM}/device?user_code={device['user_code']}").body
    assert b"The code has expired" in page


def test_the_code_may_be_typed(visitor: RealmClient) -> None:
    device = _begin(visitor)
    page = visitor.get(f"{REALM}/device").body
    typed = device["user_code"].lower().replace("-", " ")
    assert b"Sign in to your account" in visitor.post(_action(page), device_user_code=typed).body
    wrong = visitor.post(_action(page), device_user_code="ZZZZ-ZZZZ").body
    assert b"Invalid code, please try again." in wrong


def test_a_wrong_password_is_asked_for_again(visitor: RealmClient) -> None:
    device = _begin(visitor)
    page = visitor.get(f"{REALM}/device?user_code={device['user_code']}").body
    odd = '"><script>alert(1)</script>'
    page = visitor.post(_action(page), username=odd, password=odd).body
    assert b"Invalid username or password." in page
    assert b"<script>" not in page
    login = {"username": "admin", "password": visitor.passwords["admin"]}
    assert b"Grant Access" in visitor.post(_action(page), **login).body


def test_a_decision_needs_a_login(visitor: RealmClient) -> None:
    device = _begin(visitor)
    for code in ("", device["user_code"], device["device_code"], "x"):
        page = visitor.post(f"{REALM}/login-actions/consent", code=code, accept="Yes").body
        assert b"Invalid code" in page
    assert error(_poll(visitor, device))[1] == "authorization_pending"


def test_a_decision_is_made_once(visitor: RealmClient, wall: ManualClock) -> None:
    device = _begin(visitor)
    _decide(visitor, device, "bea", "cancel")
    page = visitor.get(f"{REALM}/device?user_code={device['user_code']}").body
    assert b"Invalid code" in page
    assert error(_poll(visitor, device))[1] == "access_denied"


def test_who_may_not_begin(visitor: RealmClient) -> None:
    begin = f"{OIDC}/auth/device"
    wrong = (401, "invalid_client", "Invalid client or Invalid client credentials")
    assert error(visitor.post(begin)) == wrong
    credentials = {"client_id": "wlm-client", "client_secret": visitor.secrets["wlm-client"]}
    assert error(visitor.post(begin, **credentials))[:2] == (400, "unauthorized_client")


@pytest.mark.parametrize("code", ["", "x", "\0", "\u2603"])
def test_codes_that_were_never_issued(visitor: RealmClient, code: str) -> None:
    reply = visitor.token(grant_type=DEVICE_CODE, client_id="shasta", device_code=code)
    assert error(reply) == (400, "invalid_grant", "Device code not valid")
    reply = visitor.token(grant_type=DEVICE_CODE, client_id="shasta")
    assert error(reply) == (400, "invalid_request", "Missing parameter: device_code")


def test_devices_are_forgotten_when_there_are_too_many_or_keycloak_restarts(
    alone: RealmClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "MAX_DEVICES", 2)
    device_logins = [_begin(alone) for _ in range(3)]
    assert error(_poll(alone, device_logins[0]))[1] == "invalid_grant"
    assert error(_poll(alone, device_logins[2]))[1] == "authorization_pending"
    forget = alone.site.services["keycloak"].restarted
    assert forget
    forget()
    assert error(_poll(alone, device_logins[2]))[1] == "invalid_grant"
