"""The embedded issuer's state: what survives a restart, what its file contains, and which settings it refuses."""

from __future__ import annotations

import logging
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from canton.domain.errors import InvalidSetting
from canton.drivers.oidc.issuer import IssuerSettings
from canton.drivers.oidc.verify import OidcVerifier
from canton.issuer.app import create_issuer
from canton.issuer.passwords import check_password, hash_password
from canton.issuer.settings import Client, User
from identity.browser import Browser
from identity.fake_issuer import claims_of, header_of
from identity.issuers import (
    DEVICE_CODE,
    Embedded,
    Pkce,
    ask_token,
    code_for,
    embedded,
    embedded_settings,
    kid_of,
    log_in,
    redeem,
    refresh,
)
from keycloak_realm import password


def test_a_restart_forgets_nothing(tmp_path: Path) -> None:
    state, pkce = tmp_path / "issuer.db", Pkce()
    with embedded(state) as first:
        login = log_in(first, "alice")
        used = refresh(first, login["refresh_token"]).json
        code = code_for(first, "alice", pkce)
        device = Browser().post(f"{first.url}/device_authorization", {"client_id": "canton-cli"}).json
        keys = Browser().get(f"{first.url}/jwks").json
    with embedded(state) as second:
        assert Browser().get(f"{second.url}/jwks").json == keys
        assert redeem(second, code, code_verifier=pkce.verifier).status == 200
        answer = ask_token(second, "canton-cli", grant_type=DEVICE_CODE, device_code=device["device_code"])
        assert answer.json["error"] == "authorization_pending"
        assert refresh(second, login["refresh_token"]).status == 400
        assert refresh(second, used["refresh_token"]).status == 400, "the family outlived the reuse"


def test_a_removed_person_cannot_renew_a_login(tmp_path: Path) -> None:
    state = tmp_path / "issuer.db"
    with embedded(state) as first:
        token = log_in(first, "alice")["refresh_token"]
    with embedded(state, users=()) as second:
        assert refresh(second, token).json["error"] == "invalid_grant"


def test_the_state_is_private_and_holds_no_code_and_no_token(tmp_path: Path) -> None:
    state = tmp_path / "below" / "issuer.db"
    with embedded(state) as own:
        pkce = Pkce()
        code = code_for(own, "alice", pkce)
        tokens = redeem(own, code, code_verifier=pkce.verifier).json
        device = Browser().post(f"{own.url}/device_authorization", {"client_id": "canton-cli"}).json
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    assert stat.S_IMODE(state.parent.stat().st_mode) == 0o700
    content = state.read_bytes()
    for secret in (code, tokens["refresh_token"], tokens["access_token"], device["device_code"], password("alice")):
        assert secret.encode() not in content
    with sqlite3.connect(state) as connection:
        assert connection.execute("SELECT count(*) FROM family").fetchone() == (1,)
    connection.close()


def test_a_state_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    state = tmp_path / "issuer.db"
    state.touch(0o644)
    create_issuer(embedded_settings("http://127.0.0.1:1/issuer", state))
    assert stat.S_IMODE(state.stat().st_mode) == 0o600


def test_a_state_file_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to be looked at as if it were one" * 20)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for state in (tmp_path, tmp_path / "text", tmp_path / "link", tmp_path / "text" / "below"):
        with pytest.raises(InvalidSetting, match="cannot keep its state"):
            create_issuer(embedded_settings("http://127.0.0.1:1/issuer", state))
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("algorithm", ["ES256", "RS256", "EdDSA"])
def test_the_issuer_signs_with_the_configured_algorithm(tmp_path: Path, algorithm: str) -> None:
    with embedded(tmp_path / "issuer.db", algorithm=algorithm) as own:
        tokens = log_in(own, "alice")
        assert header_of(tokens["access_token"]) == {
            "alg": algorithm,
            "typ": "at+jwt",
            "kid": kid_of(tokens["access_token"]),
        }
        door = OidcVerifier([IssuerSettings("laptop", own.url, ("canton",))])
        assert door.verify(tokens["access_token"]).username == "alice"
        (key,) = Browser().get(f"{own.url}/jwks").json["keys"]
        assert not {"d", "p", "q", "k"} & set(key)


def test_another_algorithm_is_a_rotation(tmp_path: Path) -> None:
    state = tmp_path / "issuer.db"
    create_issuer(embedded_settings("http://127.0.0.1:1/issuer", state, algorithm="EdDSA"))
    with embedded(state) as own:
        keys = Browser().get(f"{own.url}/jwks").json["keys"]
        assert [key["alg"] for key in keys] == ["ES256", "EdDSA"]
        assert header_of(log_in(own, "alice")["access_token"])["alg"] == "ES256"


def test_it_is_loud(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        create_issuer(embedded_settings("http://127.0.0.1:1/issuer", tmp_path / "issuer.db"))
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "demos and laptops only" in record.getMessage()


@pytest.mark.parametrize("hashed", [True, False])
def test_passwords_may_be_given_plain_or_as_hashes(tmp_path: Path, hashed: bool) -> None:
    users = (User("alice", "Alice", hash_password(password("alice")) if hashed else password("alice")),)
    with embedded(tmp_path / "issuer.db", users=users) as own:
        assert log_in(own, "alice")["access_token"]


def test_hashes_of_passwords() -> None:
    first, second = hash_password("secret"), hash_password("secret")
    assert first != second
    assert check_password("secret", first)
    assert check_password("secret", second)
    assert not check_password("Secret", first)
    assert not check_password("", first)


def test_settings_show_no_secret(tmp_path: Path) -> None:
    text = repr(embedded_settings("http://127.0.0.1:1/issuer", tmp_path / "issuer.db"))
    assert password("alice") not in text
    assert "guards nothing" not in text


ALICE = User("alice", "Alice", "x")


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"url": "http://192.0.2.1:8700/issuer"}, "works on this machine only"),
        ({"url": "https://login.example.org"}, "works on this machine only"),
        ({"url": "http://login.example.org", "allow_remote": True}, "in the clear"),
        ({"url": "http://127.0.0.1.example.org/issuer"}, "works on this machine only"),
        ({"url": "http://0.0.0.0:8700/issuer"}, "works on this machine only"),
        ({"url": "127.0.0.1:8700"}, "must look like"),
        ({"url": "http://127.0.0.1:8700/issuer/"}, "must look like"),
        ({"url": "http://[::1/issuer"}, "not an address"),
        ({"algorithm": "HS256"}, "cannot sign"),
        ({"algorithm": "none"}, "cannot sign"),
        ({"users": (ALICE, ALICE)}, "twice"),
        ({"users": (replace(ALICE, username="a/b"),)}, "is not up to 128 letters"),
        ({"users": (replace(ALICE, username="service-account-robot"),)}, "does not begin"),
        ({"users": (replace(ALICE, password=""),)}, "needs a password"),
        ({"clients": (Client("a", grants=("password",)),)}, "no grant"),
        ({"clients": (Client("a", grants=("client_credentials",)),)}, "needs a secret"),
        ({"clients": (Client("a", grants=("authorization_code",)),)}, "needs a redirect"),
        ({"clients": (Client("a", redirect_uris=("javascript:alert(1)",)),)}, "http"),
        ({"clients": (Client("a", redirect_uris=("http://a/#b",)),)}, "fragment"),
    ],
)
def test_settings_that_are_refused(tmp_path: Path, changes: dict[str, Any], what: str) -> None:
    good = embedded_settings("http://127.0.0.1:8700/issuer", tmp_path / "issuer.db")
    with pytest.raises(InvalidSetting, match=what):
        replace(good, **changes)


def test_a_remote_issuer_where_the_settings_allow_it(tmp_path: Path) -> None:
    settings = embedded_settings("https://login.example.org/issuer", tmp_path / "issuer.db", allow_remote=True)
    assert create_issuer(settings).routes


def subject(issuer: Embedded, username: str) -> str:
    return str(claims_of(log_in(issuer, username)["access_token"])["sub"])


def test_a_name_has_the_same_sub_as_long_as_the_file_has_it(tmp_path: Path) -> None:
    """The sub is not the name: a binding belongs to the person, and not to the next person with the name."""
    state = tmp_path / "issuer.db"
    with embedded(state) as issuer:
        first = {name: subject(issuer, name) for name in ("alice", "bob")}
        old = log_in(issuer, "alice")["refresh_token"]
    assert len({*first.values(), *first}) == 4
    users = embedded_settings("http://127.0.0.1:1/issuer", state).users
    with embedded(state) as issuer:
        assert subject(issuer, "alice") == first["alice"]
    with embedded(state, users=tuple(user for user in users if user.username != "alice")):
        pass
    with embedded(state) as issuer:
        assert subject(issuer, "alice") != first["alice"]
        assert subject(issuer, "bob") == first["bob"]
        assert refresh(issuer, old).status == 400, "the login of who had the name before"
