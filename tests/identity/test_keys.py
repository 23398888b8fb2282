"""The issuer's keys: rotated, disabled, unreachable, and fetched once for many requests at the same time."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from canton import wiring_issuers
from canton.contracts.identity import Identity
from canton.domain.errors import CantonError, IssuerUnavailable, TokenInvalid
from canton.drivers.oidc.fetch import MAX_BYTES
from canton.drivers.oidc.issuer import IssuerSettings
from canton.drivers.oidc.keyring import MAX_WAIT, MAX_WAITING
from canton.drivers.oidc.verify import Clocks, OidcVerifier
from canton.issuer.state import State
from canton.issuer.tokens import access_token, person
from canton.settings import loading
from identity.fake_issuer import Clock, Publisher, make_key, public, publisher, sign

OLD, NEW = make_key("ES256"), make_key("EdDSA")


class Site:
    def __init__(self, published: Publisher) -> None:
        self.published = published
        self.wall, self.steady = Clock(), Clock()
        settings = IssuerSettings("cscs", published.url, ("canton",), longest_lifetime=10**6)
        self.door = OidcVerifier([settings], Clocks(self.wall, self.steady))

    def token(self, kid: str = "old", **claims: Any) -> str:
        key, algorithm = (NEW, "EdDSA") if kid == "new" else (OLD, "ES256")
        now = int(self.wall.now)
        good = {"iss": self.published.url, "aud": "canton", "iat": now, "exp": now + 10**5, "sub": "1"}
        return sign(key, algorithm, {"kid": kid, "typ": "at+jwt"}, good | {"preferred_username": "alice"} | claims)

    def publish(self, *kids: str) -> None:
        self.published.publish(*(public(NEW if kid == "new" else OLD, kid) for kid in kids))

    def verify(self, token: str) -> Identity:
        return self.door.verify(token)

    def refuses(self, token: str) -> bool:
        try:
            self.door.verify(token)
        except TokenInvalid:
            return True
        return False


@pytest.fixture
def site() -> Iterator[Site]:
    with publisher() as published:
        new_site = Site(published)
        new_site.publish("old")
        yield new_site


def at_once(count: int, work: Callable[[int], object]) -> list[object]:
    barrier = threading.Barrier(count)

    def run(n: int) -> object:
        barrier.wait(10)
        try:
            return work(n)
        except CantonError as error:
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_keys_are_fetched_once_and_when_first_needed(site: Site) -> None:
    assert site.published.requested_paths == []
    for n in range(20):
        site.verify(site.token(jti=n))
    assert site.published.requested_paths == ["/.well-known/openid-configuration", "/jwks"]


def test_many_verifications_at_once_fetch_keys_once(site: Site) -> None:
    site.published.gate.clear()
    threading.Timer(0.3, site.published.gate.set).start()
    results = at_once(MAX_WAITING, lambda n: site.verify(site.token(jti=n)).username)
    assert results == ["alice"] * MAX_WAITING
    assert site.published.fetches == 1


def test_a_new_key_is_taken_at_once(site: Site) -> None:
    site.verify(site.token())
    site.publish("old", "new")
    site.steady.now += 10
    assert site.verify(site.token("new")).username == "alice"
    assert site.verify(site.token()).username == "alice"


def test_unknown_keys_make_us_look_once_in_ten_seconds(site: Site) -> None:
    site.verify(site.token())
    site.steady.now += 10
    for n in range(50):
        assert site.refuses(site.token(f"guess {n}"))
    assert site.published.fetches == 2
    site.steady.now += 9.9
    assert site.refuses(site.token("another"))
    assert site.published.fetches == 2
    site.steady.now += 0.1
    assert site.refuses(site.token("another"))
    assert site.published.fetches == 3


def test_many_unknown_keys_at_once_cause_one_fetch(site: Site) -> None:
    site.verify(site.token())
    site.steady.now += 10
    site.published.gate.clear()
    threading.Timer(0.3, site.published.gate.set).start()
    assert at_once(MAX_WAITING, lambda n: site.refuses(site.token(f"guess {n}"))) == [True] * MAX_WAITING
    assert site.published.fetches == 2


def test_verifications_beyond_the_queue_are_refused_at_once(site: Site) -> None:
    site.verify(site.token())
    site.steady.now += 10
    site.published.gate.clear()
    started = time.monotonic()
    results = at_once(3 * MAX_WAITING, lambda n: (site.refuses(site.token(f"guess {n}")), n))
    assert {type(result) for result in results} == {IssuerUnavailable}
    assert time.monotonic() - started < 2 * MAX_WAIT
    site.published.gate.set()


def test_new_requests_do_not_wait_for_a_slow_fetch(site: Site) -> None:
    site.verify(site.token())
    site.steady.now += 10
    site.published.gate.clear()
    with pytest.raises(IssuerUnavailable):
        site.verify(site.token("first"))
    started = time.monotonic()
    for n in range(20):
        with pytest.raises(IssuerUnavailable):
            site.verify(site.token(f"guess {n}"))
    assert time.monotonic() - started < MAX_WAIT / 2
    site.published.gate.set()


def test_good_tokens_do_not_wait_for_a_look(site: Site) -> None:
    site.verify(site.token())
    site.steady.now += 400
    site.published.gate.clear()
    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(site.verify, site.token(jti="looks"))
        while site.published.requested_paths.count("/.well-known/openid-configuration") < 2:
            assert not looking.done()
        assert site.verify(site.token(jti="goes on")).username == "alice"
        assert not looking.done()
        site.published.gate.set()
        assert looking.result(10).username == "alice"


def test_a_disabled_key_stops_verifying(site: Site) -> None:
    """Even for a token that was verified before: a cached token is valid only as long as its key."""
    token = site.token()
    site.verify(token)
    site.publish("new")
    site.steady.now += 299
    assert site.verify(token).username == "alice"
    site.steady.now += 1
    assert site.refuses(token)
    assert site.refuses(site.token(jti="fresh"))
    assert site.verify(site.token("new")).username == "alice"


def test_a_key_replaced_under_its_name_stops_verifying(site: Site) -> None:
    token = site.token()
    site.verify(token)
    site.published.publish(public(make_key("ES256"), "old"))
    site.steady.now += 300
    assert site.refuses(token)


def test_no_keys_is_an_answer(site: Site) -> None:
    token = site.token()
    site.verify(token)
    site.publish()
    site.steady.now += 300
    assert site.refuses(token)


def test_a_refresh_that_changes_nothing_forgets_nothing(site: Site) -> None:
    token = site.token()
    site.verify(token)
    remembered = dict(site.door._cache)
    site.steady.now += 300
    site.verify(token)
    assert site.published.fetches == 2
    assert dict(site.door._cache) == remembered


def test_an_outage_is_survived_for_an_hour_and_brings_no_new_key(site: Site) -> None:
    token = site.token()
    site.verify(token)
    site.published.down = True
    site.publish("old", "new")
    for _ in range(12):
        site.steady.now += 300
        assert site.verify(token).username == "alice"
        assert site.verify(site.token(jti=site.steady.now)).username == "alice"
        with pytest.raises(IssuerUnavailable):
            site.verify(site.token("new"))
    site.steady.now += 299
    assert site.verify(token).username == "alice"
    site.steady.now += 1
    for late in (token, site.token(jti="late"), site.token("new")):
        with pytest.raises(IssuerUnavailable, match="too long to trust"):
            site.verify(late)
    site.published.down = False
    site.steady.now += 10
    assert site.verify(site.token("new")).username == "alice"


def test_an_issuer_that_is_down_is_asked_once_in_ten_seconds(site: Site) -> None:
    site.published.down = True
    for _ in range(20):
        with pytest.raises(IssuerUnavailable, match="not known yet"):
            site.verify(site.token())
    assert len(site.published.requested_paths) == 1
    site.published.down = False
    site.steady.now += 10
    assert site.verify(site.token()).username == "alice"


DISCOVERY = "/.well-known/openid-configuration"


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        (DISCOVERY, {"issuer": "https://evil.example", "jwks_uri": "HERE/jwks"}),
        (DISCOVERY, {"issuer": "HERE/", "jwks_uri": "HERE/jwks"}),
        (DISCOVERY, {"issuer": "HERE"}),
        (DISCOVERY, {"issuer": "HERE", "jwks_uri": ["HERE/jwks"]}),
        (DISCOVERY, {"issuer": "HERE", "jwks_uri": "http://keys.example.org/jwks"}),
        (DISCOVERY, {"issuer": "HERE", "jwks_uri": "file:///etc/passwd"}),
        (DISCOVERY, [1, 2]),
        (DISCOVERY, b"<html>"),
        (DISCOVERY, b"\xff\xfe"),
        (DISCOVERY, b"[" * 100_000),
        (DISCOVERY, (500, {})),
        (DISCOVERY, (302, {"Location": "HERE/moved"})),
        ("/jwks", (307, {"Location": "HERE/moved"})),
        ("/jwks", {"keys": "none"}),
        ("/jwks", {"no": "keys"}),
        ("/jwks", {"keys": [{}] * 101}),
        ("/jwks", json.dumps({"keys": [public(NEW, "new")]}).encode().ljust(MAX_BYTES + 1)),
        ("/jwks", (404, {})),
    ],
)
def test_documents_that_are_not_believed(site: Site, path: str, answer: Any) -> None:
    """Nothing is read from them, a redirect is not followed, and the keys from before stay valid."""
    good_token = site.token()
    site.verify(good_token)
    site.published.answers["/moved"] = {"keys": [public(NEW, "new")], "issuer": site.published.url}
    site.published.answers[path] = here(answer, site.published.url)
    site.steady.now += 300
    assert site.verify(good_token).username == "alice"
    with pytest.raises(IssuerUnavailable):
        site.verify(site.token("new"))
    assert "/moved" not in site.published.requested_paths


def here(answer: Any, url: str) -> Any:
    if isinstance(answer, str):
        return answer.replace("HERE", url)
    if isinstance(answer, dict):
        return {name: here(value, url) for name, value in answer.items()}
    return type(answer)(here(value, url) for value in answer) if isinstance(answer, tuple | list) else answer


def test_strange_keys_do_not_spoil_the_rest(site: Site) -> None:
    strange: list[Any] = [None, 7, "key", {}, {"kty": ["RSA"], "kid": "a"}, {"kty": "EC", "crv": {}, "kid": "b"}]
    strange += [public(OLD, "c", alg=["ES256"]), public(OLD, "d", key_ops=7), public(OLD, "e", x="", y="!")]
    site.published.answers["/jwks"] = {"keys": [*strange, public(OLD, "old")]}
    assert site.verify(site.token()).username == "alice"


def test_no_proxy_of_the_environment(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    fresh = Site(site.published)
    assert fresh.verify(fresh.token()).username == "alice"


def test_keys_come_over_the_network_or_not_at_all(site: Site, tmp_path: Path) -> None:
    (tmp_path / "jwks").write_text(json.dumps({"keys": [public(OLD, "old")]}))
    site.published.answers[DISCOVERY] = {"issuer": site.published.url, "jwks_uri": (tmp_path / "jwks").as_uri()}
    with pytest.raises(IssuerUnavailable) as caught:
        site.verify(site.token())
    assert "must name a host" in caught.value.cause


def test_keys_never_come_over_plain_http_from_elsewhere(site: Site) -> None:
    """Whatever address an issuer publishes for them; no request is sent to it."""
    fetched: list[str] = []

    def fetch(url: str) -> dict[str, object]:
        fetched.append(url)
        return {"issuer": site.published.url, "jwks_uri": "http://keys.example.org/jwks", "keys": [public(OLD, "old")]}

    settings = IssuerSettings("cscs", site.published.url, ("canton",), longest_lifetime=10**6)
    with pytest.raises(IssuerUnavailable) as caught:
        OidcVerifier([settings], fetching=lambda _: fetch).verify(site.token())
    assert "https" in caught.value.cause
    assert fetched == [site.published.url + DISCOVERY]


def test_the_embedded_issuers_keys_are_known_in_process(tmp_path: Path) -> None:
    """No server listens at its address here: a server that asked itself over HTTP would wait for itself."""
    users = tmp_path / "users.toml"
    users.write_text('[users.ann]\npassword = "choose your own"\n')
    users.chmod(0o600)
    environment = {
        "CANTON_EMBEDDED_ISSUER_ENABLED": "true",
        "CANTON_EMBEDDED_ISSUER_USERS": str(users),
        "CANTON_EMBEDDED_ISSUER_STATE": str(tmp_path / "issuer.db"),
    }
    configured, url = loading.load(environment, f"sqlite:///{tmp_path / 'canton.db'}"), "http://127.0.0.1:9"
    door = wiring_issuers.make_verifier(configured, url)
    wiring_issuers.make_issuer(configured, url)
    embedded = wiring_issuers.embedded(configured, url)
    with State(embedded.state).transaction() as connection:
        now = int(time.time())
        token = access_token(connection, embedded, person(embedded.users[0]), "canton", "", now)
    assert at_once(MAX_WAITING, lambda _: door.verify(token).username) == ["ann"] * MAX_WAITING
