"""An issuer that answers slowly, and strangers whose tokens make the server call it: other requests go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from api.conftest import Api, serving
from canton.api.services import Services
from canton.drivers.oidc.fetch import TIMEOUT
from canton.drivers.oidc.issuer import IssuerSettings
from canton.drivers.oidc.verify import OidcVerifier
from identity.fake_issuer import Publisher, make_key, public, publisher, sign
from tokens import Mint

STRANGERS = 60
pytestmark = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
KEY = make_key("ES256")


@pytest.fixture
def slow() -> Iterator[Publisher]:
    """An issuer that published its keys and then gives no answer until the test ends."""
    with publisher() as issuer:
        issuer.publish(public(KEY, "known"))
        yield issuer


@pytest.fixture
def api(services: Services, tokens: Mint, slow: Publisher) -> Iterator[Api]:
    issuer = IssuerSettings("slow", slow.url, ("canton",), refetch_after=0.1)
    with serving(replace(services, verifier=OidcVerifier([tokens.settings, issuer])), tokens) as running:
        yield running


def token(slow: Publisher, kid: str) -> str:
    claims = {"iss": slow.url, "aud": "canton", "sub": "1", "preferred_username": "ann", "exp": int(time.time()) + 300}
    return sign(KEY, "ES256", {"kid": kid, "typ": "at+jwt"}, claims)


def latency(api: Api) -> float:
    started = time.monotonic()
    assert api.get("/v1/whoami").status == 200
    return time.monotonic() - started


def test_strangers_with_unknown_keys_do_not_delay_others(admin: Api, slow: Publisher) -> None:
    path = admin.post("/v1/service-accounts", {"name": "ci", "tenant": None, "permissions": ["node.read"]}).headers[
        "location"
    ]
    account = replace(admin, token=admin.post(f"{path}/tokens").json["token"])
    neighbour = replace(admin, token=token(slow, "known"))
    latency(neighbour)
    slow.gate.clear()
    began = time.monotonic()
    time.sleep(0.2)  # the issuer may be asked again
    stopping = threading.Event()

    def keep_asking(n: int) -> set[int]:
        statuses = set[int]()
        while not stopping.is_set():
            time.sleep(0.05)
            statuses.add(replace(admin, token=token(slow, f"guess-{n}-{len(statuses)}")).get("/v1/whoami").status)
        return statuses

    with ThreadPoolExecutor(STRANGERS) as crowd:
        answers = [crowd.submit(keep_asking, n) for n in range(STRANGERS)]
        time.sleep(0.5)
        try:
            slowest = max(latency(caller) for _ in range(10) for caller in (account, admin, neighbour))
            looks = slow.requested_paths.count("/.well-known/openid-configuration")
            most = 2 + (time.monotonic() - began) / TIMEOUT
        finally:
            stopping.set()
            slow.gate.set()
        statuses = set().union(*(answer.result(60) for answer in answers))
    assert slowest < 3.0
    assert statuses <= {401, 503}
    assert looks <= most, "one look at a time, each until it is given up"


def test_a_key_that_is_being_looked_for_is_not_refused_for_good(admin: Api, slow: Publisher) -> None:
    """503 with Retry-After while the issuer is slow, and the key is taken once it has answered."""
    latency(replace(admin, token=token(slow, "known")))
    slow.gate.clear()
    slow.publish(public(KEY, "known"), public(KEY, "new"))
    time.sleep(0.2)
    fresh = replace(admin, token=token(slow, "new"))
    waiting = fresh.get("/v1/whoami")
    assert (waiting.status, waiting.code, waiting.headers["retry-after"]) == (503, "issuer-unavailable", "1")
    slow.gate.set()
    deadline = time.monotonic() + 10
    while fresh.get("/v1/whoami").status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)
