"""The version: readable without a token, part of every answer, and how far a client's version may differ."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fastapi import FastAPI

from api.conftest import Api, issuer_entry, serving
from canton import __version__
from canton.api.middleware.compatibility import too_far
from canton.api.v1.version import Version

pytestmark = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
MAJOR, MINOR = (int(part) for part in __version__.split(".")[:2])


def agent(major: int, minor: int) -> str:
    return f"canton/{major}.{minor}.0 (test)"


def test_the_version_needs_no_token(api: Api) -> None:
    reply = api.get("/v1/version")
    Version.model_validate_json(reply.text)
    assert reply.json == {"version": __version__, "api": "1", "login": None}


def test_every_answer_has_the_version(api: Api) -> None:
    for path in ("/v1/version", "/v1/whoami", "/v1/none", "/problems/forbidden", "/openapi.json"):
        assert api.get(path).headers["canton-version"] == __version__, path


def test_the_first_issuer_is_where_to_log_in(api: Api) -> None:
    settings = api.services.settings
    entries = {name: issuer_entry(name, ("us", "them"), "cli") for name in ("hpc", "other")}
    with serving(replace(api.services, settings=replace(settings, issuers=entries)), api.mint) as server:
        login = server.get("/v1/version").json["login"]
    assert login == {"issuer": "https://hpc", "client_id": "cli", "audience": "us"}


def test_without_another_issuer_the_login_is_the_embedded_one(api: Api) -> None:
    with serving(replace(api.services, issuer=FastAPI()), api.mint) as server:
        reply = server.get("/v1/version")
        Version.model_validate_json(reply.text)
        assert reply.json["login"] == {"issuer": f"{server.url}/issuer", "client_id": "canton", "audience": "canton"}
    settings = api.services.settings
    public = replace(settings, api=replace(settings.api, public_url="https://canton.example.org/"))
    with serving(replace(api.services, issuer=FastAPI(), settings=public), api.mint) as server:
        assert server.get("/v1/version").json["login"]["issuer"] == "https://canton.example.org/issuer"


def test_a_client_one_minor_version_away_is_served(admin: Api) -> None:
    for minor in (MINOR - 1, MINOR, MINOR + 1):
        assert admin.get("/v1/whoami", User_Agent=agent(MAJOR, minor)).status == 200
    for user_agent in ("curl/8.5.0", "canton", "canton/x.y.z", "my-canton/0.0.1", "canton/9", ""):
        assert admin.get("/v1/whoami", User_Agent=user_agent).status == 200


def test_a_client_further_away_is_told_what_to_install(admin: Api) -> None:
    for client, code in (
        ((MAJOR, MINOR + 2), "client-too-new"),
        ((MAJOR + 1, 0), "client-too-new"),
        ((MAJOR + 1, MINOR), "client-too-new"),
    ):
        refusal = admin.get("/v1/whoami", User_Agent=agent(*client))
        assert (refusal.status, refusal.code) == (400, code)
        assert refusal.headers["canton-version"] == __version__
        assert f"install canton {MAJOR}.{MINOR}" in refusal.json["detail"]
        assert refusal.json["details"] == {"client": f"{client[0]}.{client[1]}", "server": __version__}
        assert admin.get("/v1/version", User_Agent=agent(*client)).status == 200


def test_a_refused_client_changes_nothing(admin: Api) -> None:
    assert admin.post("/v1/tenants", {"name": "psi"}, User_Agent=agent(MAJOR, MINOR + 2)).code == "client-too-new"
    assert admin.get("/v1/tenants").json["items"] == []


def test_the_rule_itself(backend: str) -> None:
    for client, server, expected in (
        ((1, 4), "1.5.0", None),
        ((1, 6), "1.5.2.dev0", None),
        ((1, 3), "1.5.0", "client-too-old"),
        ((0, 5), "1.5.0", "client-too-old"),
        ((0, 9), "1.0.0", "client-too-old"),
        ((1, 7), "1.5.0", "client-too-new"),
        ((2, 5), "1.5.0", "client-too-new"),
    ):
        too_old_or_new = too_far(client, server)
        assert (None if too_old_or_new is None else too_old_or_new.code) == expected, (client, server)
