"""Recipes, public keys and remote build nodes; and the answers to invalid requests."""

from __future__ import annotations

from typing import Any

import pytest

from service_client import GARBAGE
from services.ims.ims_client import RSA, Ims

UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"
NODE = "x3000c0s17b1n0"


def recipe(ims: Ims, **more: Any) -> dict[str, Any]:
    body = {"name": "r", "recipe_type": "kiwi-ng", "linux_distribution": "sles15", **more}
    return dict(ims.do("POST", "/v3/recipes", body, 201))


def archive(ims: Ims, key: str = "r.tgz") -> dict[str, str]:
    etag = ims.s3.put("ims", key, key.encode())
    return {"path": f"s3://ims/{key}", "etag": etag, "type": "s3"}


def test_a_recipe(ims: Ims) -> None:
    assert ims.recipe()["name"].startswith("cray-shasta-csm-sles15sp5-barebones")
    pairs = [{"key": "a", "value": "b"}]
    recipe_record = recipe(ims, template_dictionary=pairs, require_dkms="no", link=archive(ims))
    assert (recipe_record["template_dictionary"], recipe_record["require_dkms"], recipe_record["arch"]) == (
        pairs,
        False,
        "x86_64",
    )
    assert recipe_record == ims.get(f"/v2/recipes/{recipe_record['id']}") == ims.get("/recipes")[-1]
    assert recipe(ims)["template_dictionary"] == []
    assert recipe(ims, recipe_type="packer", linux_distribution="centos7")["link"] is None


def test_a_recipe_is_changed(ims: Ims) -> None:
    path, link = f"/v3/recipes/{recipe(ims)['id']}", archive(ims)
    patch = {"arch": "aarch64", "require_dkms": False, "template_dictionary": [{"key": "a", "value": "1"}]}
    changed = ims.do("PATCH", path, {**patch, "link": link})
    assert {name: changed[name] for name in patch} == patch
    assert changed == ims.get(path)
    assert ims.do("PATCH", path, {"link": link}) == changed
    assert ims.refusal("PATCH", path, {"link": archive(ims, "other")})[0] == 409
    assert ims.refusal("PATCH", path, {"name": "n"})[0] == 422
    assert ims.refusal("PATCH", f"/v3/recipes/{UNKNOWN_ID}", patch)[0] == 404
    assert ims.do("PATCH", path, {"require_dkms": "yes"})["require_dkms"] is True
    assert ims.ask("PATCH", path, {"template_dictionary": None}).status == 500


def test_wrong_recipes(ims: Ims) -> None:
    reply = ims.ask("POST", "/v3/recipes", {"name": "r", "recipe_type": "x", "template_dictionary": [{"key": 1}, 5]})
    assert reply.json()["errors"] == {
        "recipe_type": ["Recipe type must be one of: kiwi-ng, packer."],
        "linux_distribution": ["Missing data for required field."],
        "template_dictionary": {
            "0": {"key": ["Not a valid string."], "value": ["Missing data for required field."]},
            "1": {"_schema": ["Invalid input type."]},
        },
    }
    missing = {"type": "s3", "path": "s3://ims/none"}
    body = {"name": "r", "recipe_type": "packer", "linux_distribution": "sles12", "link": missing}
    status, detail = ims.refusal("POST", "/v3/recipes", body)
    assert (status, detail[:60]) == (422, "The s3 artifact {'path': 's3://ims/none', 'etag': '', 'type'")


def test_the_real_one_trips_over_a_link_that_another_recipe_has(ims: Ims) -> None:
    link = archive(ims)
    recipe(ims, link=link)
    body = {"name": "r", "recipe_type": "packer", "linux_distribution": "sles12", "link": link}
    assert ims.ask("POST", "/v3/recipes", body).status == 500


@pytest.mark.parametrize("where", ["one", "all"])
def test_a_recipe_goes_and_comes_back(ims: Ims, where: str) -> None:
    recipe = ims.recipe()
    tail = f"/{recipe['id']}" if where == "one" else ""
    ims.do("DELETE", f"/v3/recipes{tail}", status=204)
    assert ims.ask("GET", f"/v3/recipes/{recipe['id']}").status == 404
    assert ims.find(recipe["link"]["path"]) is None
    deleted = ims.get(f"/v3/deleted/recipes/{recipe['id']}")
    assert deleted in ims.get("/v3/deleted/recipes")
    assert deleted["link"]["path"] == recipe["link"]["path"].replace("s3://ims/", "s3://ims/deleted/")
    ims.do("PATCH", f"/v3/deleted/recipes{tail}", {"operation": "undelete"}, 204)
    assert ims.get(f"/v3/recipes/{recipe['id']}") == recipe
    assert ims.find(recipe["link"]["path"]) is not None
    assert ims.get("/v3/deleted/recipes") == []


@pytest.mark.parametrize("where", ["one", "all"])
def test_a_recipe_goes_for_good(ims: Ims, where: str) -> None:
    recipe = ims.recipe()
    tail = f"/{recipe['id']}" if where == "one" else ""
    ims.do("DELETE", f"/v3/recipes{tail}", status=204)
    ims.do("DELETE", f"/v3/deleted/recipes{tail}", status=204)
    assert ims.find(recipe["link"]["path"].replace("s3://ims/", "s3://ims/deleted/")) is None
    assert ims.ask("GET", f"/v3/deleted/recipes/{recipe['id']}").status == 404


@pytest.mark.parametrize(("query", "stays"), [("", False), ("?cascade=no", True)])
def test_v2_deletes_recipes(ims: Ims, query: str, *, stays: bool) -> None:
    recipe = ims.recipe()
    ims.do("DELETE", f"/v2/recipes/{recipe['id']}{query}", status=204)
    assert (ims.find(recipe["link"]["path"]) is not None) is stays
    ims.do("DELETE", f"/v2/recipes{query}", status=204)
    assert ims.get("/v3/recipes") == ims.get("/v3/deleted/recipes") == []


def test_a_recipe_whose_archive_is_gone_cannot_come_back(ims: Ims) -> None:
    recipe = ims.recipe()
    ims.do("DELETE", f"/v3/recipes/{recipe['id']}", status=204)
    key = ims.get("/v3/deleted/recipes")[0]["link"]["path"].removeprefix("s3://ims/")
    ims.s3.delete("ims", key)
    for tail in ("", f"/{recipe['id']}"):
        assert ims.refusal("PATCH", f"/v3/deleted/recipes{tail}", {"operation": "undelete"})[0] == 422
    assert ims.get("/v3/recipes") == []


def test_keys(ims: Ims) -> None:
    key = ims.do("POST", "/v2/public-keys", {"name": "k", "public_key": RSA}, 201)
    assert key == ims.get(f"/v3/public-keys/{key['id']}") == ims.again().get("/public-keys")[0]
    assert ims.ask("POST", "/v3/public-keys", {"name": "k"}).json()["errors"] == {
        "public_key": ["Missing data for required field."]
    }


@pytest.mark.parametrize("where", ["one", "all"])
def test_a_key_goes_and_comes_back(ims: Ims, where: str) -> None:
    key = ims.key()
    key_record = ims.get(f"/v3/public-keys/{key}")
    tail = f"/{key}" if where == "one" else ""
    ims.do("DELETE", f"/v3/public-keys{tail}", status=204)
    assert ims.get("/v3/public-keys") == []
    assert ims.get(f"/v3/deleted/public-keys/{key}") == {**key_record, "deleted": "2027-01-15T08:00:00"}
    ims.do("PATCH", f"/v3/deleted/public-keys{tail}", {"operation": "undelete"}, 204)
    assert ims.get("/v3/public-keys") == [key_record]
    ims.do("DELETE", f"/v3/public-keys{tail}", status=204)
    ims.do("DELETE", f"/v3/deleted/public-keys{tail}", status=204)
    assert ims.get("/v3/deleted/public-keys") == []
    other_key = ims.key()
    ims.do("DELETE", f"/v2/public-keys{'/' + other_key if tail else ''}", status=204)
    assert ims.get("/v3/public-keys") == ims.get("/v3/deleted/public-keys") == []


PATHS = ("images", "recipes", "public-keys", "jobs")


@pytest.mark.parametrize("path", [*(f"/v3/{path}" for path in PATHS), "/v2/images", "/v3/remote-build-nodes"])
def test_garbage(ims: Ims, path: str) -> None:
    for body in GARBAGE:
        reply = ims.ask("POST", path, body)
        assert 400 <= reply.status <= 500, body
        if reply.status == 500:
            assert reply.json() == {"message": "Internal Server Error"}


@pytest.mark.parametrize("kind", ["images", "recipes", "public-keys"])
def test_garbage_for_the_deleted(ims: Ims, kind: str) -> None:
    for body in GARBAGE:
        assert 400 <= ims.ask("PATCH", f"/v3/deleted/{kind}", body).status <= 500, body


def test_the_error_pages_of_flask(ims: Ims) -> None:
    plain = ims.ask("POST", "/v3/images", b"{}", {"content-type": "text/plain"})
    assert (plain.status, plain.media) == (415, "application/json")
    assert "Content-Type was not 'application/json'" in plain.json()["message"]
    bad = ims.ask("POST", "/v3/images", b"{")
    assert (bad.status, bad.json()["message"][:15]) == (400, "The browser (or")
    status, detail = ims.refusal("POST", "/v3/images", {})
    assert (status, detail[:18]) == (400, "No input provided.")
    assert ims.refusal("GET", "/v3/nothing")[0] == 404
    assert ims.refusal("GET", "/v3/images/")[0] == 404
    wrong = ims.ask("PUT", "/v3/images", {})
    assert wrong.status == wrong.json()["status"] == 405
    assert wrong.json()["message"] == wrong.json()["detail"] == "The method is not allowed for the requested URL."


def test_how_it_is(ims: Ims) -> None:
    assert ims.get("/healthz/ready") == ims.get("/healthz/live") == {}
    assert set(ims.get("/version")) == {"version"}


def up_and_down(ims: Ims) -> tuple[str, str]:
    machine = ims.site.machine
    nodes = [part.xname for part in machine.parts("Node")]
    up = next(node for node in nodes if machine.boot.sends_heartbeats(node))
    return up, next(node for node in nodes if not machine.boot.sends_heartbeats(node))


def test_remote_build_nodes(ims: Ims) -> None:
    up, down = up_and_down(ims)
    for xname in (up, down, "missing"):
        assert ims.do("POST", "/v3/remote-build-nodes", {"xname": xname}, 201) == {"xname": xname}
    assert [node["xname"] for node in ims.again().get("/v3/remote-build-nodes")] == [up, down, "missing"]


def test_how_remote_build_nodes_are(ims: Ims) -> None:
    up, down = up_and_down(ims)
    for xname in (up, down, "missing"):
        ims.do("POST", "/v3/remote-build-nodes", {"xname": xname}, 201)
    well, off, missing = ims.get("/v3/remote-build-nodes/status")
    assert well == {
        "xname": up,
        "sshStatus": "SSH connection established.",
        "podmanStatus": "Podman present at /usr/bin/podman",
        "nodeArch": "x86_64",
        "numCurrentJobs": 0,
        "ableToRunJobs": True,
    }
    assert off["sshStatus"].startswith(
        "Unable to connect to node. Error: [Errno None] Unable to connect to port 22 on "
    )
    assert (off["ableToRunJobs"], off["numCurrentJobs"]) == (False, -1)
    assert missing["sshStatus"] == "Unable to connect to node. Error: [Errno -2] Name or service not known"
    assert ims.get(f"/v3/remote-build-nodes/status/{up}") == well
    assert ims.ask("GET", f"/v3/remote-build-nodes/status/{NODE}").status == 404
    ims.do("DELETE", f"/v3/remote-build-nodes/{up}", status=204)
    assert ims.ask("GET", f"/v3/remote-build-nodes/{up}").status == 404
    ims.do("DELETE", "/v3/remote-build-nodes", status=204)
    assert ims.get("/v3/remote-build-nodes") == []


def test_a_job_on_a_remote_node_ends_with_the_node(ims: Ims) -> None:
    up, _ = up_and_down(ims)
    ims.do("POST", "/v3/remote-build-nodes", {"xname": up}, 201)
    image = next(image for image in ims.get("/v3/images") if image["arch"] == "x86_64")
    job = ims.customize(image["id"])
    assert job["remote_build_node"] == up
    assert ims.get("/v3/remote-build-nodes/status")[0]["numCurrentJobs"] == 1
    ims.until(job["id"], "waiting_on_user")
    ims.site.machine.power.reset(up, "ForceOff", "test")
    ims.until(job["id"], "error", most=120)
    assert "Remote job is no longer accessible after 12 consecutive errors" in ims.logs(job["id"])
    assert ims.pod(job["id"]).phase == "Failed"


def test_bodies_of_more_parts_than_a_machine_has_are_refused(ims: Ims) -> None:
    status, detail = ims.refusal("POST", "/v3/images", {"name": "i", "metadata": {str(n): "" for n in range(200_001)}})
    assert (status, detail) == (413, "The request body has more than 200000 parts.")
