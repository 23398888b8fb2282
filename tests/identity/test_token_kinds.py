"""Which tokens are access tokens, and which of those speak for a person: real ones and forged shapes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import pytest

from canton.contracts.identity import Identity
from canton.domain.errors import TokenInvalid
from canton.drivers.oidc.issuer import IssuerSettings
from canton.drivers.oidc.verify import OidcVerifier
from identity.browser import Browser
from identity.fake_issuer import Publisher, claims_of, header_of
from identity.issuers import Issuer, Keycloak, ask_token, log_in
from identity.test_verify import World, site, world_at
from keycloak_realm import SERVICE_SECRET

__all__ = ["site"]  # a fixture
ROBOT = "service-account-canton-robot"


def verify(issuer: Issuer, token: str, **changes: Any) -> Identity:
    """Verify a token as a server that accepts every audience of these clients."""
    people = ("sid",) if isinstance(issuer, Keycloak) else ("amr",)
    settings = {"person_claims": people, **changes}
    audiences = ("canton", "canton-web", "canton-robot", issuer.url)
    return OidcVerifier([IssuerSettings("site", issuer.url, audiences, **settings)]).verify(token)


def robot_token(issuer: Issuer) -> str:
    answer = ask_token(issuer, "canton-robot", grant_type="client_credentials", client_secret=SERVICE_SECRET)
    return str(answer.json["access_token"])


def test_a_person_and_a_machine(issuer: Issuer) -> None:
    assert verify(issuer, log_in(issuer, "alice")["access_token"]).is_person
    robot = verify(issuer, robot_token(issuer))
    assert (robot.username, robot.is_person) == (ROBOT, False)


@pytest.mark.parametrize("issuer", ["keycloak"], indirect=True)
@pytest.mark.parametrize(
    "attributes",
    [
        {"use.refresh.tokens": "true", "client_credentials.use_refresh_token": "true"},
        {"access.token.header.type.rfc9068": "true"},
    ],
    ids=["with a session", "at+jwt"],
)
def test_a_machine_stays_one_however_keycloak_is_set(issuer: Issuer, attributes: dict[str, str]) -> None:
    assert isinstance(issuer, Keycloak)
    with issuer.changed_client("canton-robot", attributes=attributes):
        token = robot_token(issuer)
        assert ("sid" in claims_of(token)) == ("use.refresh.tokens" in attributes)
        assert not verify(issuer, token).is_person


@pytest.mark.parametrize("issuer", ["keycloak"], indirect=True)
@pytest.mark.parametrize("client", ["canton-robot", "canton-web"])
def test_a_lightweight_token_says_too_little_for_any_use(issuer: Issuer, client: str) -> None:
    """It has neither audience nor username; a server that accepted it would not know the person."""
    assert isinstance(issuer, Keycloak)
    with issuer.changed_client(client, attributes={"client.use.lightweight.access.token.enabled": "true"}):
        token = robot_token(issuer) if client == "canton-robot" else log_in(issuer, "alice")["access_token"]
    with pytest.raises(TokenInvalid):
        verify(issuer, token)


@pytest.mark.parametrize("which", ["id_token", "refresh_token"])
def test_other_tokens_of_a_login_are_refused(issuer: Issuer, which: str) -> None:
    token = log_in(issuer, "alice")[which]
    for unmarked in (False, True):
        with pytest.raises(TokenInvalid):
            verify(issuer, token, unmarked_tokens=unmarked)


@pytest.mark.parametrize("issuer", ["keycloak"], indirect=True)
def test_signed_userinfo_is_refused(issuer: Issuer) -> None:
    assert isinstance(issuer, Keycloak)
    with issuer.changed_client("canton-web", attributes={"user.info.response.signature.alg": "RS256"}):
        token = log_in(issuer, "alice")["access_token"]
        answer = Browser().get(issuer.endpoints["userinfo_endpoint"], {"Authorization": f"Bearer {token}"})
    assert "typ" not in claims_of(answer.text)
    assert claims_of(answer.text)["preferred_username"] == "alice"
    for unmarked in (False, True):
        with pytest.raises(TokenInvalid):
            verify(issuer, answer.text, unmarked_tokens=unmarked)


@pytest.fixture
def logout_tokens() -> Iterator[tuple[str, list[str]]]:
    """A server for back-channel logouts, and the tokens that arrived there."""
    arrived: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            arrived.append(form["logout_token"][0])
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", arrived
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("issuer", ["keycloak"], indirect=True)
def test_a_logout_token_is_refused(issuer: Issuer, logout_tokens: tuple[str, list[str]]) -> None:
    assert isinstance(issuer, Keycloak)
    where, arrived = logout_tokens
    attributes = {"backchannel.logout.url": where, "backchannel.logout.session.required": "true"}
    with issuer.changed_client("canton-web", attributes=attributes):
        tokens = log_in(issuer, "alice")
        fields = {"client_id": "canton-web", "refresh_token": tokens["refresh_token"]}
        Browser().post(issuer.endpoints["end_session_endpoint"], fields)
    assert len(arrived) == 1
    for unmarked in (False, True):
        with pytest.raises(TokenInvalid):
            verify(issuer, arrived[0], unmarked_tokens=unmarked)


@pytest.mark.parametrize(
    "changes",
    [
        {"sid": None},
        {"sid": ""},
        {"sid": None, "session_state": None, "auth_time": 1},
        {"preferred_username": ROBOT},
        {"preferred_username": ROBOT.upper()},
        {"preferred_username": ROBOT, "session_state": "s"},
        {"clientHost": "10.0.0.1"},
        {"clientId": "canton-robot"},
        {"clientAddress": "10.0.0.1"},
        {"azp": "f7f5-1"},
        {"client_id": "f7f5-1"},
        {"cid": "f7f5-1"},
        {"act": {"sub": "f7f5-2"}},
        {"gty": "client-credentials"},
        {"idtyp": "app"},
    ],
    ids=str,
)
def test_doubt_makes_a_machine(site: Publisher, changes: dict[str, Any]) -> None:
    world = world_at(site)
    assert world.verify(world.token()).is_person
    assert not world.verify(world.token(**changes)).is_person


def test_the_username_of_a_service_account_counts_also_where_another_claim_names_people(site: Publisher) -> None:
    world = world_at(site, username_claim="email")
    assert world.verify(world.token(email="alice@example.org")).is_person
    assert not world.verify(world.token(email="ci@example.org", preferred_username=ROBOT)).is_person


def test_a_site_names_the_claims_that_only_people_have(site: Publisher) -> None:
    world = world_at(site, person_claims=("amr",))
    assert not world.verify(world.token()).is_person
    assert world.verify(world.token(amr=["pwd"])).is_person
    assert not world_at(site, person_claims=()).verify(world.token(amr=["pwd"])).is_person


SHAPES: dict[str, dict[str, Any]] = {
    "no typ": {},
    "no typ, with scope and client": {"scope": "openid", "azp": "canton-web"},
    "as an ID token without a nonce": {"auth_time": 1, "acr": "1", "azp": "canton"},
    "as an ID token with a nonce": {"nonce": "n", "scope": "openid"},
    "as an ID token with at_hash": {"at_hash": "h", "scope": "openid"},
    "as an ID token with c_hash": {"c_hash": "h", "scope": "openid"},
    "as an ID token with s_hash": {"s_hash": "h", "scope": "openid"},
    "as a logout token": {"events": {}, "scope": "openid"},
}


def without_mark(world: World, shape: str, header: str | None) -> str:
    return world.token(header={"typ": header}, typ=None, **SHAPES[shape])


@pytest.mark.parametrize("header", ["JWT", None])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_token_that_does_not_say_that_it_is_an_access_token(site: Publisher, shape: str, header: str | None) -> None:
    world = world_at(site)
    token = without_mark(world, shape, header)
    assert header_of(token).get("typ") == header
    with pytest.raises(TokenInvalid, match="unmarked_tokens"):
        world.verify(token)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_site_may_take_unmarked_tokens_that_are_not_shaped_like_others(site: Publisher, shape: str) -> None:
    world = world_at(site, unmarked_tokens=True)
    token = without_mark(world, shape, "JWT")
    if shape == "no typ, with scope and client":
        assert world.verify(token).username == "alice"
        return
    with pytest.raises(TokenInvalid, match="ID token"):
        world.verify(token)
