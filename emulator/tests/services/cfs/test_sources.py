"""Sources, and the credentials behind them."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from service_client import GARBAGE
from services.cfs.cfs_client import JSON_BODY, OLD, URL, Cfs

ONE = URL.format("one")


def new(cfs: Cfs, **more: Any) -> Any:
    credentials = {"username": "crayvcs", "password": cfs.password}
    return cfs.do("POST", "/v3/sources", {"clone_url": ONE, "credentials": credentials, **more})


def path(name: str) -> str:
    return f"/v3/sources/{quote(quote(name, safe=''), safe='')}"


def test_a_source_is_named_by_its_url_and_shows_no_password(cfs: Cfs) -> None:
    source = new(cfs, description="d")
    secret = source["credentials"]["secret_name"]
    assert source == {
        "name": ONE,
        "description": "d",
        "clone_url": ONE,
        "credentials": {"authentication_method": "password", "secret_name": secret},
        "last_updated": "2027-01-15T08:00:00Z",
    }
    assert secret.startswith("cfs-source-credentials-")
    assert cfs.get(path(ONE)) == source
    assert cfs.get("/v3/sources") == {"sources": [source], "next": None}
    reopened_cfs = cfs.reopened()
    assert reopened_cfs.get(path(ONE)) == source
    assert reopened_cfs.records.credentials(ONE) == {"username": "crayvcs", "password": cfs.password}
    assert new(reopened_cfs, name="other")["credentials"]["secret_name"] != secret
    problem = (409, "Conflicting source name", "A source with the name other already exists")
    body = {"name": "other", "clone_url": "u", "credentials": {"username": "u", "password": "p"}}
    assert reopened_cfs.problem("POST", "/v3/sources", body) == problem


def test_a_branch_of_a_source_is_asked_for_with_its_credentials(cfs: Cfs) -> None:
    new(cfs, name="s")
    layer = {"source": "s", "playbook": "site.yml", "branch": "main"}
    configuration = cfs.do("PUT", "/v3/configurations/c", {"layers": [layer]})
    assert configuration["layers"] == [{**layer, "commit": OLD}]
    cfs.do("PATCH", "/v3/sources/s", {"credentials": {"username": "crayvcs", "password": "wrong"}})
    status, title, detail = cfs.problem("PATCH", "/v3/configurations/c")
    assert (status, title) == (400, "Error converting branch name to commit")
    assert detail.endswith("returned non-zero exit status 128.")


def test_a_patch_changes_what_it_names_and_keeps_the_secret(cfs: Cfs) -> None:
    source_before = new(cfs, name="s", ca_cert={"configmap_name": "m"})
    cfs.step(1)
    source_after = cfs.do(
        "PATCH", "/v3/sources/s", {"description": "d", "credentials": {"username": "u", "password": "p"}}
    )
    assert source_after == {**source_before, "description": "d", "last_updated": "2027-01-15T08:00:01Z"}
    assert cfs.records.credentials("s") == {"username": "u", "password": "p"}
    half = {"credentials": {"username": "u"}}
    detail = "Both username and password must be provided for password authentication credentials"
    assert cfs.problem("PATCH", "/v3/sources/s", half) == (400, "Invalid credentials", detail)
    assert cfs.problem("PATCH", "/v3/sources/none", {})[0] == 404
    assert cfs.do("PATCH", "/v3/sources/s", {"ca_cert": None})["ca_cert"] is None


def test_a_source_that_is_used_stays(cfs: Cfs) -> None:
    new(cfs, name="s")
    credentials = new(cfs, name="t")["credentials"]
    cfs.do("PUT", "/v3/configurations/c", {"layers": [{"source": "s", "playbook": "p", "commit": OLD}]})
    cfs.do("PATCH", "/v3/options", {"additional_inventory_source": "t"})
    assert [source["name"] for source in cfs.get("/v3/sources?in_use=true")["sources"]] == ["s", "t"]
    assert cfs.get("/v3/sources?in_use=false")["sources"] == []
    for name in ("s", "t"):
        problem = (400, "Source is in use.", f"Source {name} is referenced by some configurations")
        assert cfs.problem("DELETE", f"/v3/sources/{name}") == problem
    cfs.do("PATCH", "/v3/options", {"additional_inventory_source": ""})
    assert cfs.say("DELETE", "/v3/sources/t").status == 204
    cfs.do("POST", "/v3/sources/restored", {"clone_url": ONE, "credentials": credentials})
    assert cfs.records.credentials("restored") is None
    assert cfs.problem("GET", "/v3/sources/t") == (404, "Source not found", "Source t could not be found")
    assert cfs.problem("DELETE", "/v3/sources/t")[0] == 404


def test_a_lost_source_is_restored_with_the_name_of_its_secret(cfs: Cfs) -> None:
    secret = {"authentication_method": "password", "secret_name": "gone"}
    source = cfs.do("POST", "/v3/sources/s", {"clone_url": ONE, "credentials": secret})
    assert (source["name"], source["credentials"]) == ("s", secret)
    assert cfs.say("POST", "/v3/sources/s", {"clone_url": ONE, "credentials": secret}).status == 409
    layer = {"source": "s", "playbook": "site.yml", "branch": "main"}
    detail = "Error loading Vault secret: None, on get http://cray-vault.vault:8200/v1/secret/data/gone"
    assert cfs.problem("PUT", "/v3/configurations/c", {"layers": [layer]})[2] == detail


def test_pages(cfs: Cfs) -> None:
    for name in ("c", "a", "b"):
        new(cfs, name=name)
    first = cfs.get("/v3/sources?limit=2")
    assert [source["name"] for source in first["sources"]] == ["a", "b"]
    assert first["next"] == {"in_use": None, "limit": 2, "after_id": "b"}


@pytest.mark.parametrize(
    "body",
    [
        {"clone_url": "u"},
        {"clone_url": "u", "credentials": {"username": "u"}},
        {"clone_url": "u", "credentials": {"username": "u", "password": ""}},
        {"clone_url": "", "credentials": {"username": "u", "password": "p"}},
        {"clone_url": "u", "credentials": {"username": "u", "password": "p", "authentication_method": "key"}},
        {"clone_url": "u", "credentials": {"username": "u", "password": "p"}, "ca_cert": {}},
    ],
)
def test_what_a_source_must_be(cfs: Cfs, body: dict[str, Any]) -> None:
    assert cfs.problem("POST", "/v3/sources", body)[:2] == (400, "Bad Request")
    assert cfs.get("/v3/sources")["sources"] == []


def test_garbage_is_refused(cfs: Cfs) -> None:
    new(cfs, name="s")
    sources_before = cfs.get("/v3/sources")
    for body in GARBAGE:
        for method, where in (("POST", "/v3/sources"), ("POST", "/v3/sources/t"), ("PATCH", "/v3/sources/s")):
            assert cfs.ask(method, where, body, JSON_BODY).status == 400, (method, where, body)
    assert cfs.get("/v3/sources") == sources_before
