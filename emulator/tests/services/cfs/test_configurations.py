"""Configurations: layers, branches, tenants."""

from __future__ import annotations

from typing import Any

import pytest

from csm_emulator.transport.call import Reply
from service_client import GARBAGE
from services.cfs.cfs_client import JSON_BODY, NEW, NODE, OLD, URL, Cfs

ONE: dict[str, Any] = {"clone_url": URL.format("one"), "playbook": "site.yml", "branch": "main"}
TWO: dict[str, Any] = {"clone_url": URL.format("two"), "playbook": "site.yml", "commit": NEW, "name": "second"}
BLUE, RED = "vcluster-blue", "vcluster-red"


def put(cfs: Cfs, *layers: dict[str, Any], **more: Any) -> Any:
    return cfs.do("PUT", "/v3/configurations/c", {"layers": list(layers), **more})


def test_a_branch_becomes_its_commit_and_is_read_back_as_it_was_answered(cfs: Cfs) -> None:
    inventory = {"clone_url": URL.format("two"), "branch": "main"}
    configuration = put(cfs, ONE, TWO, additional_inventory=inventory, description="d")
    assert configuration == {
        "name": "c",
        "description": "d",
        "last_updated": "2027-01-15T08:00:00Z",
        "layers": [{**ONE, "commit": OLD}, TWO],
        "additional_inventory": {**inventory, "commit": OLD},
    }
    assert cfs.get("/v3/configurations/c") == configuration
    assert cfs.get("/v3/configurations") == {"configurations": [configuration], "next": None}
    assert cfs.reopened().get("/v3/configurations/c") == configuration


def test_a_patch_looks_at_the_branches_again(cfs: Cfs) -> None:
    put(cfs, ONE, TWO, additional_inventory={"clone_url": URL.format("two"), "branch": "main"})
    cfs.set_desired("c", NODE)
    cfs.branches["cray", "one", "main"] = NEW
    cfs.step(60)
    changed = cfs.do("PATCH", "/v3/configurations/c")
    assert [layer["commit"] for layer in changed["layers"]] == [NEW, NEW]
    assert changed["additional_inventory"]["commit"] == OLD
    assert changed["last_updated"] == "2027-01-15T08:01:00Z"
    details = cfs.get(f"/v3/components/{NODE}?config_details=true")["desired_state"]
    assert [layer["commit"] for layer in details] == [NEW, NEW]
    cfs.branches.clear()
    assert cfs.problem("PATCH", "/v3/configurations/c")[0] == 400
    assert cfs.get("/v3/configurations/c") == changed


def test_branches_can_be_dropped(cfs: Cfs) -> None:
    body = {"layers": [ONE], "additional_inventory": {"clone_url": URL.format("two"), "branch": "main"}}
    configuration = cfs.do("PUT", "/v3/configurations/c?drop_branches=true", body)
    assert configuration["layers"] == [{"clone_url": ONE["clone_url"], "playbook": "site.yml", "commit": OLD}]
    assert configuration["additional_inventory"] == {"clone_url": URL.format("two"), "commit": OLD}


@pytest.mark.parametrize(
    ("url", "branch", "command", "code"),
    [
        (URL.format("none"), "main", "['git', 'clone', '{url}']", 128),
        ("https://github.com/cray/one.git", "main", "['git', 'clone', '{url}']", 128),
        ("ssh://git@x/vcs/cray/one.git", "main", "['git', 'clone', '{url}']", 128),
        (URL.format("one"), "none", "['git', 'checkout', 'none']", 1),
        (URL.format("one"), "--help", "['git', 'checkout', '--help']", 129),
    ],
)
def test_what_cannot_be_cloned_or_checked_out_is_refused(
    cfs: Cfs, url: str, branch: str, command: str, code: int
) -> None:
    body = {"layers": [{"clone_url": url, "playbook": "site.yml", "branch": branch}]}
    detail = (
        f"Failed interacting with the specified clone_url: Command '{command.format(url=url)}' returned non-zero exit "
        f"status {code}."
    )
    problem = (400, "Error converting branch name to commit", detail)
    assert cfs.problem("PUT", "/v3/configurations/c", body) == problem
    assert cfs.say("GET", "/v3/configurations/c").status == 404


def test_other_revisions_than_branches(cfs: Cfs) -> None:
    nothing = put(cfs, {**ONE, "branch": ""})
    assert nothing["layers"][0]["commit"] == OLD
    cfs.branches["cray", "one", "cray/cos/1.2"] = NEW
    assert put(cfs, {**ONE, "branch": "cray/cos/1.2"})["layers"][0]["commit"] == NEW
    short = {**ONE, "clone_url": "nonsense"}
    assert cfs.problem("PUT", "/v3/configurations/c", {"layers": [short]})[2] == "list index out of range"


def test_the_vcs_may_be_away(cfs: Cfs) -> None:
    cfs.instead["vcs"] = Reply(503)
    assert cfs.problem("PUT", "/v3/configurations/c", {"layers": [ONE]})[0] == 400
    cfs.configure("c", "one")


@pytest.mark.parametrize(
    ("body", "status", "title"),
    [
        ({"layers": [{**ONE, "commit": OLD}]}, 400, "Error handling branches"),
        ({"layers": [{**TWO, "source": "s"}]}, 400, "Error handling source"),
        ({"layers": [{"playbook": "p"}]}, 400, "Error handling source"),
        ({"layers": [], "additional_inventory": {}}, 200, ""),
        ({"layers": [], "additional_inventory": {"name": "n"}}, 400, "Error handling source"),
        ({"layers": [{"playbook": "p", "source": "s"}]}, 400, "Source does not exist"),
        ({"layers": [ONE, {**ONE, "branch": "main"}]}, 400, "Error with conflicting layers"),
        ({"layers": [{**ONE, "name": "n" * 46}]}, 400, "Bad Request"),
        ({"layers": [{**TWO, "commit": "short"}]}, 400, "Bad Request"),
        ({"layers": [{"clone_url": "u"}]}, 400, "Bad Request"),
        ({"name": "c", "layers": []}, 400, "Bad Request"),
        ({}, 500, "Internal Server Error"),
    ],
)
def test_what_a_configuration_must_be(cfs: Cfs, body: dict[str, Any], status: int, title: str) -> None:
    reply = cfs.say("PUT", "/v3/configurations/c", body)
    assert reply.status == status, reply.body
    if status != 200:
        assert reply.json()["title"] == title
        assert cfs.get("/v3/configurations")["configurations"] == []


def test_garbage_is_refused(cfs: Cfs) -> None:
    for body in GARBAGE:
        for version in ("v2", "v3"):
            assert cfs.ask("PUT", f"/{version}/configurations/c", body, JSON_BODY).status in (400, 500), body
    assert cfs.problem("PUT", f"/v3/configurations/{'c' * 61}", {"layers": []})[0] == 400
    assert cfs.say("PUT", f"/v2/configurations/{'c' * 61}", {"layers": []}).status == 200


def test_a_desired_configuration_cannot_be_deleted(cfs: Cfs) -> None:
    put(cfs, TWO)
    cfs.set_desired("c", NODE)
    problem = (400, "Configuration is in use.", "Configuration c is referenced by the desired state of some components")
    assert cfs.problem("DELETE", "/v3/configurations/c") == problem
    assert cfs.problem("DELETE", "/v2/configurations/c") == problem
    cfs.set_desired("", NODE)
    assert cfs.say("DELETE", "/v3/configurations/c").status == 204
    assert cfs.problem("DELETE", "/v3/configurations/c") == (
        404,
        "Configuration not found",
        "Configuration c could not be found",
    )
    assert cfs.problem("PATCH", "/v3/configurations/c")[0] == 404


def test_pages_and_what_is_in_use(cfs: Cfs) -> None:
    for name in ("c", "a", "b"):
        cfs.configure(name, "one")
    cfs.set_desired("a", NODE)
    first = cfs.get("/v3/configurations?limit=2")
    assert [configuration["name"] for configuration in first["configurations"]] == ["a", "b"]
    assert first["next"] == {"in_use": None, "limit": 2, "after_id": "b"}
    assert [configuration["name"] for configuration in cfs.get("/v3/configurations?after_id=b")["configurations"]] == [
        "c"
    ]
    # The service looks in a field that components do not have any more.
    assert cfs.get("/v3/configurations?in_use=true")["configurations"] == []
    assert len(cfs.get("/v3/configurations?in_use=false")["configurations"]) == 3


def test_a_tenant_sees_and_changes_his_own_only(cfs: Cfs) -> None:
    mine = cfs.do("PUT", "/v3/configurations/c", {"layers": [TWO]}, BLUE)
    assert mine["tenant_name"] == BLUE
    cfs.configure("everybodys", "one")
    assert cfs.do("GET", "/v3/configurations", tenant=BLUE)["configurations"] == [mine]
    assert len(cfs.get("/v3/configurations")["configurations"]) == 2
    detail = "Tenant does not own the requested resources and is forbidden from making changes."
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        body: Any = {"layers": []} if method == "PUT" else None
        for name, tenant in (("c", RED), ("everybodys", BLUE)):
            problem = cfs.problem(method, f"/v3/configurations/{name}", body, tenant)
            assert problem == (403, "Forbidden operation.", detail), (method, name)
    assert cfs.do("GET", "/v3/configurations/c", tenant=BLUE) == mine
    assert cfs.say("DELETE", "/v3/configurations/c", tenant=BLUE).status == 204


def test_tenants_that_cannot_be(cfs: Cfs) -> None:
    problem = (400, "Invalid tenant", "The provided tenant does not exist")
    assert cfs.problem("GET", "/v3/configurations", tenant="vcluster-none") == problem
    assert cfs.say("GET", "/v2/configurations", tenant="vcluster-none").status == 200
    assert cfs.problem("GET", "/v3/configurations", tenant="t" * 128)[1] == "Bad Request"
    cfs.instead["tapms"] = Reply(503)
    assert cfs.problem("GET", "/v3/configurations", tenant=BLUE)[0] == 500
    del cfs.instead["tapms"]
    body = {"layers": [TWO], "tenant_name": RED}
    problem = (403, "Forbidden operation.", "Modification to existing field 'tenant_name' is not permitted.")
    assert cfs.problem("PUT", "/v3/configurations/c", body, BLUE) == problem
    cfs.do("PUT", "/v3/configurations/c", body)
    assert cfs.do("GET", "/v3/configurations/c", tenant=RED)["tenant_name"] == RED
