"""Tokens that expire, and the file that stores them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from canton.client import Client, Problem, StoredCredentials
from canton.client import credentials as keeping
from canton.client.credentials import StoredLogin
from canton.client.oidc import Grant, Issuer
from canton.domain.errors import NotAuthenticated
from client import samples
from client.scripted_server import RecordedRequest, Reply, Script, problem, serving


@pytest.fixture
def script() -> Iterator[Script]:
    with serving(Script()) as served:
        yield served


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "credentials" / "alps.json"


def kept(expires_in: float = 300, **changes: str) -> StoredLogin:
    login: StoredLogin = {"server": "s", "access_token": "old", "refresh_token": "r1", "issuer": "i", "client_id": "c"}
    return {**login, "expires_at": time.time() + expires_in, **changes}  # type: ignore[typeddict-item]


class Renewing:
    """An issuer in which every refresh token works once."""

    def __init__(self) -> None:
        self.used: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, stored_login: StoredLogin) -> Grant:
        with self._lock:
            assert stored_login["refresh_token"] not in self.used, "a refresh token was used twice"
            self.used.append(stored_login["refresh_token"])
            number = len(self.used)
        time.sleep(0.02)
        return {"access_token": f"new{number}", "refresh_token": f"r{number + 1}", "expires_at": time.time() + 300}


def only_new(request: RecordedRequest) -> Reply:
    if request.headers["authorization"] == "Bearer old":
        return problem(401, "token-expired", "it ran out")
    return Reply(body=samples.whoami())


class TestRenewing:
    def test_a_token_that_ran_out_is_replaced_and_the_request_repeated(self, script: Script, path: Path) -> None:
        keeping.write(path, kept())
        script.on("GET /v1/whoami", only_new)
        with Client(script.url, StoredCredentials(path, Renewing())) as client:
            assert client.whoami()["id"] == "cscs:alice"
        assert [request.headers["authorization"] for request in script.requests] == ["Bearer old", "Bearer new1"]
        stored_login = keeping.read(path)
        assert stored_login is not None
        assert (stored_login["access_token"], stored_login["refresh_token"], stored_login["issuer"]) == (
            "new1",
            "r2",
            "i",
        )

    def test_it_is_replaced_before_it_runs_out(self, script: Script, path: Path) -> None:
        keeping.write(path, kept(expires_in=5))
        script.on("GET /v1/whoami", only_new)
        with Client(script.url, StoredCredentials(path, Renewing())) as client:
            client.whoami()
        assert len(script.requests) == 1

    def test_once_is_enough(self, script: Script, path: Path) -> None:
        keeping.write(path, kept())
        script.on("GET /v1/whoami", problem(401, "token-expired", "again"))
        renewing = Renewing()
        with Client(script.url, StoredCredentials(path, renewing)) as client, pytest.raises(Problem, match="again"):
            client.whoami()
        assert renewing.used == ["r1"]

    @pytest.mark.parametrize("code", ["token-invalid", "not-authenticated"])
    def test_another_refusal_is_not_answered_with_a_refresh(self, script: Script, path: Path, code: str) -> None:
        keeping.write(path, kept())
        script.on("GET /v1/whoami", problem(401, code, "no"))
        renewing = Renewing()
        with Client(script.url, StoredCredentials(path, renewing)) as client, pytest.raises(Problem):
            client.whoami()
        assert renewing.used == []

    def test_many_at_once_use_a_refresh_token_once(self, path: Path) -> None:
        keeping.write(path, kept())
        renewing = Renewing()
        tokens: list[str | None] = []
        threads = [
            threading.Thread(target=lambda: tokens.append(StoredCredentials(path, renewing).renew("old")))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert tokens == ["new1"] * 8
        assert renewing.used == ["r1"]


class TestFile:
    def test_is_for_its_owner_alone(self, path: Path) -> None:
        keeping.write(path, kept())
        keeping.write(path, kept())
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert [entry.name for entry in path.parent.iterdir()] == ["alps.json"]

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666])
    def test_one_that_others_can_read_is_refused(self, path: Path, mode: int) -> None:
        keeping.write(path, kept())
        path.chmod(mode)
        with pytest.raises(NotAuthenticated, match=f"mode {mode:04o}"):
            StoredCredentials(path, Renewing()).token()

    def test_a_damaged_one_says_what_to_do(self, path: Path) -> None:
        keeping.write(path, kept())
        path.write_text("{")
        with pytest.raises(NotAuthenticated, match="canton login"):
            keeping.read(path)

    def test_a_write_that_fails_leaves_the_old_one(self, path: Path) -> None:
        keeping.write(path, kept())
        with pytest.raises(TypeError):
            keeping.write(path, {"server": object()})  # type: ignore[typeddict-item]
        assert json.loads(path.read_text())["access_token"] == "old"  # noqa: S105
        assert len(list(path.parent.iterdir())) == 1


class TestIssuer:
    @pytest.fixture
    def issuer(self, script: Script) -> Issuer:
        names = ("token_endpoint", "device_authorization_endpoint", "revocation_endpoint")
        metadata = {name: f"{script.url}/{name}" for name in names}
        script.on("GET /.well-known/openid-configuration", Reply(body=metadata | {"issuer": script.url}))
        return Issuer(script.url, "canton-cli", "canton")

    def test_must_be_who_it_says(self, script: Script) -> None:
        script.on("GET /.well-known/openid-configuration", Reply(body={"issuer": "https://elsewhere.example.org"}))
        with pytest.raises(NotAuthenticated, match="elsewhere"):
            Issuer(script.url, "canton-cli").refresh("r1")

    def test_a_device_code_is_polled_as_retry_after_seconds(self, issuer: Issuer, script: Script) -> None:
        device = {"device_code": "d", "user_code": "ABCD", "verification_uri": "https://x", "interval": 1}
        script.on("POST /device_authorization_endpoint", Reply(body=device))
        pending, slower = Reply(400, {"error": "authorization_pending"}), Reply(400, {"error": "slow_down"})
        script.on("POST /token_endpoint", pending, slower, Reply(body={"access_token": "a", "expires_in": 60}))
        slept: list[float] = []
        grant = issuer.poll_device(issuer.start_device(), slept.append)
        assert grant["access_token"] == "a"  # noqa: S105
        assert slept == [1, 1, 6]
        assert script.requests[1].body == {"client_id": "canton-cli", "scope": "openid", "audience": "canton"}

    @pytest.mark.parametrize("error", ["access_denied", "expired_token", "invalid_client"])
    def test_a_refusal_ends_the_polling(self, issuer: Issuer, script: Script, error: str) -> None:
        script.on(
            "POST /device_authorization_endpoint",
            Reply(body={"device_code": "d", "user_code": "A", "verification_uri": "https://u"}),
        )
        script.on("POST /token_endpoint", Reply(400, {"error": error}))
        with pytest.raises(NotAuthenticated, match=error):
            issuer.poll_device(issuer.start_device(), lambda _seconds: None)

    def test_a_used_refresh_token_says_to_log_in(self, issuer: Issuer, script: Script) -> None:
        script.on("POST /token_endpoint", Reply(400, {"error": "invalid_grant"}))
        with pytest.raises(NotAuthenticated, match="log in again: canton login"):
            issuer.refresh("r1")
        assert len([line for line in script.lines() if line == "POST /token_endpoint"]) == 1

    def test_pkce_is_s256(self, issuer: Issuer, script: Script) -> None:
        metadata = {"issuer": script.url, "authorization_endpoint": f"{script.url}/auth"}
        script.on("GET /.well-known/openid-configuration", Reply(body=metadata))
        # The example of RFC 7636, appendix B.
        url = issuer.authorize_url("http://127.0.0.1:9/callback", "st", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        assert "code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" in url
        assert "code_challenge_method=S256" in url

    @pytest.mark.parametrize(
        "page", ["--version", "file:///etc/passwd", "javascript:alert(1)", "http://login.example.org", "https://", ""]
    )
    def test_an_unsafe_page_is_not_opened(self, issuer: Issuer, script: Script, page: str) -> None:
        script.on("POST /device_authorization_endpoint", Reply(body={"device_code": "d", "verification_uri": page}))
        with pytest.raises(NotAuthenticated, match="the login was stopped"):
            issuer.start_device()
        metadata = {"issuer": script.url, "authorization_endpoint": page or "-"}
        script.on("GET /.well-known/openid-configuration", Reply(body=metadata))
        with pytest.raises(NotAuthenticated, match="the login was stopped"):
            Issuer(script.url, "canton-cli").authorize_url("http://127.0.0.1:9/callback", "st", "v")


def test_a_login_is_sent_to_its_own_server_alone(script: Script, path: Path) -> None:
    keeping.write(path, kept(expires_in=1, server="https://canton.example.org"))
    credentials = StoredCredentials(path, Renewing(), script.url)
    with pytest.raises(NotAuthenticated, match=r"is for https://canton\.example\.org"):
        credentials.token()
    with pytest.raises(NotAuthenticated, match=r"is for https://canton\.example\.org"):
        credentials.renew("old")
    keeping.write(path, kept(server=script.url))
    assert StoredCredentials(path, Renewing(), script.url).token() == "old"


@pytest.mark.parametrize("token", ["s3cret\r", "s3cret\nX-Other: 1", "s3cret\x00", "s3crét"])
def test_what_is_no_token_is_not_quoted(token: str) -> None:
    with pytest.raises(NotAuthenticated) as refusal:
        Client("http://127.0.0.1:9", token)
    assert "s3cr" not in str(refusal.value)
