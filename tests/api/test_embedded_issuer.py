"""The embedded issuer beside the API: a flood of passwords takes nothing from callers who have a token."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest

from api.conftest import Api, Reply, serving
from canton.api.middleware import rate_limits as rates
from canton.api.middleware.rate_limits import RateLimits
from canton.api.services import Services
from canton.issuer import logins
from canton.issuer.app import create_issuer
from canton.issuer.pool import THREADS, WAITING
from identity.issuers import embedded_settings
from tokens import Mint

pytestmark = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
HOST = "127.0.0.1:8700"
CROWD = 100


@pytest.fixture
def with_issuer(services: Services, tmp_path: Path) -> Services:
    return replace(services, issuer=create_issuer(embedded_settings(f"http://{HOST}/issuer", tmp_path / "issuer.db")))


@pytest.fixture
def api(with_issuer: Services, tokens: Mint) -> Iterator[Api]:
    with serving(with_issuer, tokens) as running:
        yield running


def log_in(api: Api, n: int) -> Reply:
    form = {"form_token": "t", "username": f"guess-{n}", "password": "x", "user_code": "BBBB-BBBB", "decision": "allow"}
    return api.call(
        "POST",
        "/issuer/device",
        urlencode(form).encode(),
        Host=HOST,
        Cookie="canton-issuer-form=t",
        Content_Type="application/x-www-form-urlencoded",
    )


def test_people_who_log_in_do_not_delay_callers_with_a_token(admin: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, checking = threading.Event(), threading.Semaphore(0)

    def check_password(*_: object) -> bool:
        checking.release()
        gate.wait(30)
        return False

    monkeypatch.setattr(logins, "check_password", check_password)
    admin.get("/v1/whoami")
    with ThreadPoolExecutor(CROWD) as crowd:
        started = time.monotonic()
        answers = [crowd.submit(log_in, admin, n) for n in range(CROWD)]
        try:
            for _ in range(THREADS):
                assert checking.acquire(timeout=20)
            while sum(answer.done() for answer in answers) < CROWD - THREADS - WAITING:
                assert time.monotonic() < started + 20, Counter(answer.done() for answer in answers)
                time.sleep(0.01)
            assert not checking.acquire(blocking=False), "those who wait have no thread"
            slowest = 0.0
            for path in ("/v1/version", "/v1/whoami", "/v1/tenants") * 5:
                began = time.monotonic()
                assert admin.get(path).status == 200
                slowest = max(slowest, time.monotonic() - began)
        finally:
            gate.set()
        replies = [answer.result(60) for answer in answers]
    # Behind the passwords they would wait for the gate; a quiet machine needs 0.05 s.
    assert slowest < 10
    assert Counter(answer.status for answer in replies) == {401: THREADS + WAITING, 503: CROWD - THREADS - WAITING}
    refusals = [answer for answer in replies if answer.status == 503]
    assert {answer.headers["retry-after"] for answer in refusals} == {"2"}
    assert all("Try again in a moment" in answer.text for answer in refusals)
    assert log_in(admin, 0).status == 401, "it goes on"


def test_requests_to_the_issuer_are_charged_to_their_address(
    with_issuer: Services, tokens: Mint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rates, "time", SimpleNamespace(monotonic=lambda: 0.0))
    with serving(replace(with_issuer, rate_limits=RateLimits(1e6, 1e6, 0.5)), tokens) as running:
        replies = [running.get("/issuer/jwks", Host=HOST) for _ in range(8)]
        assert [reply.status for reply in replies] == [200] * 5 + [429] * 3
        assert replies[-1].code == "too-many-requests"
        assert int(replies[-1].headers["retry-after"]) > 0
        assert running.as_("root", "canton-provider-admin").get("/v1/whoami").status == 200
