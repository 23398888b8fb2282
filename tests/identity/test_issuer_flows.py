"""Logging in, in every way Canton offers: the same steps with the embedded issuer and with a real Keycloak."""

from __future__ import annotations

import time
from typing import Any

import pytest

from canton.contracts.identity import ClaimBinding, Identity
from canton.domain.errors import TokenInvalid
from canton.drivers.oidc.issuer import IssuerSettings
from canton.drivers.oidc.mapping import Rule, preset
from canton.drivers.oidc.verify import Clocks, OidcVerifier
from identity.browser import Answer, Browser
from identity.fake_issuer import Clock, claims_of
from identity.issuers import (
    DEVICE_CODE,
    Issuer,
    Pkce,
    ask_token,
    code_for,
    kid_of,
    log_in,
    login_address,
    redeem,
    refresh,
)
from keycloak_realm import SERVICE_SECRET

PSI, CSCS = ClaimBinding("tenant-operator", "psi"), ClaimBinding("tenant-operator", "cscs")


def door(issuer: Issuer, mapping: tuple[Rule, ...] = preset("csm"), steady: Clock | None = None) -> OidcVerifier:
    settings = IssuerSettings("site", issuer.url, ("canton",), mapping, person_claims=("sid", "amr"))
    return OidcVerifier([settings], Clocks(steady=steady or time.monotonic))


def who(issuer: Issuer, token: str) -> Identity:
    return door(issuer).verify(token)


def test_log_in_with_a_browser(issuer: Issuer) -> None:
    tokens = log_in(issuer, "alice")
    alice = who(issuer, tokens["access_token"])
    assert (alice.issuer, alice.username, alice.name) == ("site", "alice", "Alice Psi")
    assert alice.groups == {"psi"}
    assert alice.claims_bindings == (PSI,)
    assert 0 < alice.expires_at / 1_000_000 - time.time() <= 300


@pytest.mark.parametrize("which", ["id_token", "refresh_token"])
def test_only_the_access_token_opens_the_door(issuer: Issuer, which: str) -> None:
    """Even where the site accepts the audience of an ID token."""
    tokens = log_in(issuer, "alice")
    settings = IssuerSettings("site", issuer.url, ("canton", "canton-web"), preset("csm"))
    with pytest.raises(TokenInvalid):
        OidcVerifier([settings]).verify(tokens[which])


@pytest.mark.parametrize(
    ("username", "bindings"),
    [
        ("bob", {CSCS}),
        ("carol", {PSI, CSCS}),
        ("ruth", {ClaimBinding("provider-admin", None)}),
        ("nemo", set()),
    ],
)
def test_roles_of_the_realm_become_bindings(issuer: Issuer, username: str, bindings: set[ClaimBinding]) -> None:
    assert set(who(issuer, log_in(issuer, username)["access_token"]).claims_bindings) == bindings


def test_groups_become_bindings_by_a_rule_of_the_site(issuer: Issuer) -> None:
    token = log_in(issuer, "carol")["access_token"]
    rules = (Rule("groups", "/{tenant}", "tenant-viewer", "{tenant}"),)
    claims_bindings = door(issuer, rules).verify(token).claims_bindings
    assert set(claims_bindings) == {ClaimBinding("tenant-viewer", "psi"), ClaimBinding("tenant-viewer", "cscs")}
    assert door(issuer, ()).verify(token).claims_bindings == ()


def test_a_wrong_password(issuer: Issuer) -> None:
    for username in ("bob", "unknown"):
        browser = Browser()
        answer = browser.log_in(browser.get(login_address(issuer, Pkce().challenge)), username, "wrong")
        assert answer.headers["Location"] is None
        assert "wrong" in answer.text or "Invalid" in answer.text


def refused(answer: Answer, error: str = "invalid_grant", status: int = 400) -> bool:
    return (answer.status, answer.json.get("error")) == (status, error)


def test_a_code_needs_its_verifier(issuer: Issuer) -> None:
    for changes in ({}, {"code_verifier": Pkce().verifier}, {"code_verifier": ""}):
        assert refused(redeem(issuer, code_for(issuer, "alice", Pkce()), **changes))


def test_a_challenge_in_the_clear_is_refused(issuer: Issuer) -> None:
    for changes in ({"code_challenge": None, "code_challenge_method": None}, {"code_challenge_method": "plain"}):
        answer = Browser().get(login_address(issuer, Pkce().challenge, **changes))
        assert answer.sent_to["error"] == "invalid_request"
        assert "code" not in answer.sent_to


def test_a_code_is_good_once_and_its_second_use_ends_the_login(issuer: Issuer) -> None:
    pkce = Pkce()
    code = code_for(issuer, "alice", pkce)
    tokens = redeem(issuer, code, code_verifier=pkce.verifier).json
    assert refused(redeem(issuer, code, code_verifier=pkce.verifier))
    assert refused(refresh(issuer, tokens["refresh_token"]))


def test_a_code_is_good_for_its_address_only(issuer: Issuer) -> None:
    pkce = Pkce()
    wrong: list[dict[str, str]] = [{"redirect_uri": "http://127.0.0.1:8700/other"}, {"redirect_uri": ""}]
    for changes in wrong:
        code = code_for(issuer, "alice", pkce)
        assert refused(redeem(issuer, code, code_verifier=pkce.verifier, **changes))


def test_no_one_is_sent_to_a_foreign_address(issuer: Issuer) -> None:
    for address in (
        "http://evil.example/",
        "http://127.0.0.1:8700/callback/../x",
        "http://127.0.0.1:8700@evil.example/",
    ):
        answer = Browser().get(login_address(issuer, Pkce().challenge, redirect_uri=address))
        assert answer.status == 400
        assert answer.headers["Location"] is None


def test_refresh_gives_the_same_person_a_new_token(issuer: Issuer) -> None:
    first = log_in(issuer, "alice")
    second = refresh(issuer, first["refresh_token"]).json
    assert second["access_token"] != first["access_token"]
    assert second["refresh_token"] != first["refresh_token"]
    assert who(issuer, second["access_token"]).subject == who(issuer, first["access_token"]).subject
    assert refresh(issuer, second["refresh_token"]).status == 200


def test_a_refresh_token_used_twice_ends_the_login(issuer: Issuer) -> None:
    """A refresh token that is used twice was copied: then neither copy is valid any more."""
    first = log_in(issuer, "alice")["refresh_token"]
    second = refresh(issuer, first).json["refresh_token"]
    assert refused(refresh(issuer, first))
    assert refused(refresh(issuer, second))


def test_a_refresh_token_is_good_for_its_client_only(issuer: Issuer) -> None:
    token = log_in(issuer, "alice")["refresh_token"]
    assert refused(refresh(issuer, token, client="canton-cli"))


def test_a_revoked_login_ends(issuer: Issuer) -> None:
    token = log_in(issuer, "alice")["refresh_token"]
    fields = {"client_id": "canton-web", "token": token}
    assert Browser().post(issuer.endpoints["revocation_endpoint"], fields).status == 200
    assert refused(refresh(issuer, token))


def start_device(issuer: Issuer) -> dict[str, Any]:
    fields = {"client_id": "canton-cli", "scope": "openid"}
    answer = Browser().post(issuer.endpoints["device_authorization_endpoint"], fields)
    assert answer.status == 200, answer.text
    return answer.json


def poll(issuer: Issuer, started: dict[str, Any], client: str = "canton-cli") -> Answer:
    return ask_token(issuer, client, grant_type=DEVICE_CODE, device_code=started["device_code"])


def test_log_in_with_a_device(issuer: Issuer) -> None:
    started = start_device(issuer)
    assert started["interval"] == 1
    assert refused(poll(issuer, started), "authorization_pending")
    assert refused(poll(issuer, started), "slow_down")
    browser = Browser()
    page = browser.get(started["verification_uri_complete"])
    assert issuer.press_to_allow(browser, page, "bob").status == 200
    time.sleep(1.1)
    tokens = poll(issuer, started).json
    assert who(issuer, tokens["access_token"]).claims_bindings == (CSCS,)
    assert refused(poll(issuer, started))
    renewed = refresh(issuer, tokens["refresh_token"], client="canton-cli").json
    assert who(issuer, renewed["access_token"]).username == "bob"


def test_a_device_code_is_good_for_its_client_only(issuer: Issuer) -> None:
    answer = poll(issuer, start_device(issuer), client="canton-web")
    assert answer.status in (400, 401)
    assert answer.json["error"] in ("invalid_grant", "unauthorized_client")


def test_an_invented_device_code(issuer: Issuer) -> None:
    assert refused(poll(issuer, {"device_code": "guess"}))


def as_robot(issuer: Issuer, secret: str) -> Answer:
    return ask_token(issuer, "canton-robot", grant_type="client_credentials", client_secret=secret)


def test_a_client_logs_in_for_itself(issuer: Issuer) -> None:
    answer = as_robot(issuer, SERVICE_SECRET).json
    robot = who(issuer, answer["access_token"])
    assert robot.username == "service-account-canton-robot"
    assert robot.claims_bindings == (PSI,)
    assert "refresh_token" not in answer


def test_a_client_with_a_wrong_secret(issuer: Issuer) -> None:
    for secret in ("wrong", ""):
        answer = as_robot(issuer, secret)
        assert answer.status == 401
        assert answer.json["error"] in ("invalid_client", "unauthorized_client")


def test_no_passwords_for_tokens(issuer: Issuer) -> None:
    """The password grant is off for every client of ours."""
    for client in ("canton-cli", "canton-web"):
        answer = ask_token(issuer, client, grant_type="password", username="alice", password="guess")  # noqa: S106
        assert answer.json["error"] in ("unsupported_grant_type", "unauthorized_client")


def test_keys_rotate(issuer: Issuer) -> None:
    steady = Clock()
    ours = door(issuer, steady=steady)
    token_before = log_in(issuer, "alice")["access_token"]
    assert ours.verify(token_before).username == "alice"
    issuer.add_key()
    token_after = log_in(issuer, "alice")["access_token"]
    assert kid_of(token_after) != kid_of(token_before)
    steady.now += 10
    assert ours.verify(token_after).username == "alice"
    assert ours.verify(token_before).username == "alice"
    issuer.drop_key(kid_of(token_before))
    steady.now += 300
    with pytest.raises(TokenInvalid):
        ours.verify(token_before)
    assert ours.verify(token_after).username == "alice"


def test_a_token_of_one_client_says_so(issuer: Issuer) -> None:
    assert claims_of(log_in(issuer, "alice")["access_token"])["azp"] == "canton-web"
