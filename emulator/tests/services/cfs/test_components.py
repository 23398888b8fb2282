"""Components in version 3: stored fields, computed fields, and filters."""

from __future__ import annotations

import pytest

from service_client import GARBAGE
from services.cfs.cfs_client import JSON_BODY, NEW, NODE, OLD, OTHER, URL, Cfs

STATE = {
    "clone_url": URL.format("one"),
    "playbook": "site.yml",
    "commit": OLD,
    "session_name": "s",
    "status": "applied",
}


STATE_LAYER = {"clone_url": URL.format("one"), "commit": OLD}


def test_every_node_is_a_component_from_the_start(cfs: Cfs) -> None:
    nodes = sorted(node.xname for node in cfs.site.machine.parts("Node"))
    assert cfs.nodes() == nodes
    assert cfs.get(f"/v3/components/{NODE}") == {
        "id": NODE,
        "desired_config": "",
        "enabled": True,
        "error_count": 0,
        "configuration_status": "unconfigured",
        "logs": f"ara.cmn.emulator.local/hosts?name={NODE}",
    }
    assert cfs.get(f"/v3/components/{NODE}?state_details=true")["state"] == []


def test_a_node_that_hsm_gets_is_a_component_after_the_next_sync(cfs: Cfs) -> None:
    new = "x9000c0s0b0n0"
    body = {"Components": [{"ID": new, "State": "On", "Role": "Compute", "NID": 7}]}
    assert cfs.hsm("POST", "/State/Components", body).status == 204
    assert new not in cfs.nodes()
    cfs.step(9)
    assert cfs.say("GET", f"/v3/components/{new}").status == 404
    cfs.step(1)
    assert cfs.get(f"/v3/components/{new}")["enabled"] is True
    assert new in cfs.nodes()


def test_a_deleted_component_comes_back_while_hsm_has_the_node(cfs: Cfs) -> None:
    assert cfs.say("DELETE", f"/v3/components/{NODE}").status == 204
    assert cfs.problem("GET", f"/v3/components/{NODE}") == (
        404,
        "Component not found.",
        f"Component {NODE} could not be found",
    )
    assert cfs.problem("DELETE", f"/v2/components/{NODE}")[0] == 404
    cfs.step(10)
    assert NODE in cfs.nodes()


def test_hsm_is_asked_once_in_an_interval_and_its_failure_is_harmless(cfs: Cfs) -> None:
    cfs.step(10)
    cfs.asked.clear()
    fault = cfs.break_("server-error", "smd")
    nodes = cfs.nodes()
    cfs.get("/v3/components")
    assert [service for service, _ in cfs.asked].count("smd") == 1
    cfs.site.clear_fault(fault)
    cfs.step(10)
    assert cfs.nodes() == nodes


def test_a_put_replaces_everything_and_a_patch_only_what_it_names(cfs: Cfs) -> None:
    whole = {"state": [], "desired_config": "c", "error_count": 2, "enabled": False, "tags": {"a": "b", "e": ""}}
    assert cfs.do("PUT", f"/v3/components/{NODE}", whole) == {**whole, "id": NODE}
    patched = cfs.do("PATCH", f"/v3/components/{NODE}", {"tags": {"c": "d", "a": ""}, "retry_policy": 5})
    assert patched == {**whole, "id": NODE, "tags": {"c": "d"}, "retry_policy": 5}
    assert cfs.get(f"/v3/components/{NODE}?state_details=true").items() >= patched.items()


@pytest.mark.parametrize(
    ("patch", "errors"),
    [
        ({"desired_config": "c"}, 0),
        ({"state": []}, 0),
        ({"enabled": False}, 2),
        ({"state": [STATE]}, 2),
        ({"desired_config": "c", "error_count": 7}, 7),
    ],
)
def test_errors_are_counted_anew_when_something_new_is_wanted(cfs: Cfs, patch: dict[str, object], errors: int) -> None:
    cfs.do("PATCH", f"/v3/components/{NODE}", {"error_count": 2})
    assert cfs.do("PATCH", f"/v3/components/{NODE}", patch)["error_count"] == errors


def test_the_status_follows_layers_errors_and_configuration(cfs: Cfs) -> None:
    cfs.configure("c", "one", "two")
    cfs.set_desired("c", NODE)
    assert cfs.status(NODE) == "pending"
    add = {"state_append": STATE}
    cfs.do("PATCH", f"/v3/components/{NODE}", add)
    assert cfs.status(NODE) == "pending"
    cfs.do("PATCH", f"/v3/components/{NODE}", {"state_append": {**STATE, "clone_url": URL.format("two")}})
    assert cfs.status(NODE) == "configured"
    cfs.configure("c", "one", "two", commit=NEW)
    assert cfs.status(NODE) == "pending"
    cfs.do("PATCH", f"/v3/components/{NODE}", {"error_count": 3})
    assert cfs.status(NODE) == "failed"
    cfs.do("PATCH", f"/v3/components/{NODE}", {"retry_policy": 4})
    assert cfs.status(NODE) == "pending"
    cfs.do("PATCH", f"/v3/components/{NODE}", {"retry_policy": -1, "error_count": 1000})
    assert cfs.status(NODE) == "pending"
    cfs.do("PATCH", f"/v3/components/{NODE}", {"desired_config": "none such"})
    assert cfs.status(NODE) == "configured"
    cfs.do("PATCH", f"/v3/components/{NODE}", {"state": []})
    assert cfs.status(NODE) == "unconfigured"


def test_a_failed_layer_waits_for_retries_and_the_option_counts_where_no_policy_is(cfs: Cfs) -> None:
    cfs.configure("c", "one")
    cfs.set_desired("c", NODE)
    cfs.do("PATCH", f"/v3/components/{NODE}", {"state_append": {**STATE, "status": "failed"}, "error_count": 1})
    assert cfs.status(NODE) == "pending"
    cfs.do("PATCH", "/v3/options", {"default_batcher_retry_policy": 1})
    assert cfs.status(NODE) == "failed"
    details = cfs.get(f"/v3/components/{NODE}?config_details=true")["desired_state"]
    assert [layer["status"] for layer in details] == ["failed"]
    cfs.do("PATCH", f"/v3/components/{NODE}", {"state_append": {**STATE, "commit": f"{OLD}_skipped"}})
    assert cfs.status(NODE) == "configured"


def test_an_appended_layer_replaces_the_one_of_its_repository_and_playbook(cfs: Cfs) -> None:
    other_layer = {**STATE, "clone_url": URL.format("two")}
    for layer in (STATE, other_layer, {**STATE, "commit": NEW, "status": "failed"}):
        cfs.step(1)
        cfs.do("PATCH", f"/v3/components/{NODE}", {"state_append": layer})
    state = cfs.get(f"/v3/components/{NODE}?state_details=true")["state"]
    assert state == [
        {**other_layer, "last_updated": "2027-01-15T08:00:02Z"},
        {**STATE, "commit": NEW, "status": "failed", "last_updated": "2027-01-15T08:00:03Z"},
    ]


def test_a_layer_that_is_sent_unchanged_keeps_its_time(cfs: Cfs) -> None:
    cfs.do("PATCH", f"/v3/components/{NODE}", {"state": [STATE]})
    cfs.step(60)
    other_layer = {**STATE, "playbook": "other.yml"}
    state = cfs.do("PATCH", f"/v3/components/{NODE}", {"state": [STATE, other_layer]})["state"]
    assert [layer["last_updated"] for layer in state] == ["2027-01-15T08:00:00Z", "2027-01-15T08:01:00Z"]


def test_lists_are_filtered_by_everything_at_once(cfs: Cfs) -> None:
    cfs.configure("c", "one")
    cfs.set_desired("c", NODE, OTHER)
    cfs.do("PATCH", f"/v3/components/{OTHER}", {"enabled": False, "tags": {"a": "b"}})

    def ids_of(query: str) -> list[str]:
        return [component["id"] for component in cfs.get(f"/v3/components?{query}")["components"]]

    assert ids_of("status=pending") == [NODE, OTHER]
    assert ids_of("config_name=c&enabled=false") == [OTHER]
    assert ids_of("tags=a=b") == [OTHER]
    assert ids_of(f"ids={NODE},{OTHER},x1&enabled=True") == [NODE]
    assert ids_of("status=configured") == []
    assert len(ids_of("status=unconfigured")) == len(cfs.nodes()) - 2
    assert cfs.problem("GET", "/v3/components?tags=a") == (400, "Error parsing the tags provided.", "")


def test_pages_follow_one_another(cfs: Cfs) -> None:
    nodes = cfs.nodes()
    first = cfs.get("/v3/components?limit=2&enabled=true")
    assert [component["id"] for component in first["components"]] == nodes[:2]
    assert first["next"] == {
        "ids": "",
        "status": "",
        "enabled": True,
        "config_name": "",
        "state_details": False,
        "config_details": False,
        "tags": "",
        "limit": 2,
        "after_id": nodes[1],
    }
    last_page = cfs.get(f"/v3/components?limit={len(nodes) - 2}&after_id={nodes[1]}")
    assert [component["id"] for component in last_page["components"]] == nodes[2:]
    assert last_page["next"] is None
    cfs.do("PATCH", "/v3/options", {"default_page_size": 3})
    assert len(cfs.get("/v3/components")["components"]) == 3


def test_many_are_patched_by_a_filter_or_one_by_one(cfs: Cfs) -> None:
    body = {"patch": {"desired_config": "c", "id": "ignored"}, "filters": {"ids": f"{OTHER},{NODE}", "status": ""}}
    assert cfs.do("PATCH", "/v3/components", body) == {"component_ids": [NODE, OTHER]}
    assert [cfs.get(f"/v3/components/{xname}")["desired_config"] for xname in (NODE, OTHER)] == ["c", "c"]
    patches = [{"id": OTHER, "enabled": False}, {"id": OTHER, "tags": {"a": "b"}}]
    assert cfs.do("PATCH", "/v3/components", patches) == {"component_ids": [OTHER, OTHER]}
    assert cfs.get(f"/v3/components/{OTHER}").items() >= {"enabled": False, "tags": {"a": "b"}}.items()
    unknown = [{"id": NODE, "enabled": False}, {"id": "missing"}]
    assert cfs.problem("PATCH", "/v3/components", unknown)[0] == 404
    assert cfs.get(f"/v3/components/{NODE}")["enabled"] is True
    assert cfs.problem("PATCH", "/v3/components", [{"enabled": False}]) == (
        400,
        "Error parsing the data provided.",
        "'id'",
    )
    assert cfs.do("PATCH", "/v3/components", {"patch": {"enabled": False}, "filters": {}}) == {
        "component_ids": cfs.nodes()
    }


def test_many_are_put_at_once(cfs: Cfs) -> None:
    new = [{"id": "x1", "state": [], "desired_config": ""}, {"id": "x2", "state": [], "desired_config": "c"}]
    assert cfs.do("PUT", "/v3/components", new) == {"component_ids": ["x1", "x2"]}
    assert cfs.get("/v3/components/x2")["error_count"] == 0
    assert cfs.problem("PUT", "/v3/components", [{"state": []}])[1:] == ("Error parsing the data provided.", "'id'")


def test_a_component_without_a_state_breaks_every_list_that_it_is_in(cfs: Cfs) -> None:
    cfs.do("PUT", "/v3/components/x1", {"desired_config": ""})
    assert cfs.problem("GET", "/v3/components")[:2] == (500, "Internal Server Error")
    assert cfs.problem("GET", "/v3/components/x1")[0] == 500
    assert cfs.problem("PATCH", "/v3/components/x1", {"state_append": STATE})[0] == 500
    assert len(cfs.get(f"/v3/components?ids={NODE}")["components"]) == 1
    cfs.do("PATCH", "/v3/components/x1", {"state": []})
    assert "x1" in cfs.nodes()


@pytest.mark.parametrize(
    ("method", "path", "body", "detail"),
    [
        ("GET", "?limit=0", None, "0 is less than the minimum of 1"),
        ("GET", "?limit=many", None, "Wrong type, expected 'integer' for query parameter 'limit'"),
        ("GET", "?enabled=perhaps", None, "Wrong type, expected 'boolean' for query parameter 'enabled'"),
        ("GET", "?status=lost", None, "'lost' is not one of ['unconfigured', 'failed', 'pending', 'configured', '']"),
        ("PATCH", f"/{NODE}", {"enabled": 1}, "1 is not of type 'boolean' - 'enabled'"),
        ("PATCH", f"/{NODE}", {"logs": "x"}, "Property is read-only - 'logs'"),
        ("PATCH", f"/{NODE}", {"x": 1}, "Additional properties are not allowed ('x' was unexpected)"),
        ("PUT", f"/{NODE}", {"state": [{"commit": "c"}]}, "'clone_url' is a required property - 'state.0'"),
        ("PUT", f"/{NODE}", {"desired_config": "c" * 61}, f"'{'c' * 61}' is too long - 'desired_config'"),
        ("PUT", f"/{NODE}", None, "None is not of type 'object'"),
        ("PATCH", "", 7, "7 is not valid under any of the given schemas"),
    ],
)
def test_errors_have_the_words_of_the_framework(
    shared_cfs: Cfs, method: str, path: str, body: object, detail: str
) -> None:
    status, title, reply_detail = shared_cfs.problem(method, f"/v3/components{path}", body)
    assert (status, title) == (400, "Bad Request")
    assert reply_detail.split("\n")[0] == detail


@pytest.mark.parametrize(
    "path", ["/v2/components", f"/v2/components/{NODE}", "/v3/components", f"/v3/components/{NODE}"]
)
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_garbage_is_refused(shared_cfs: Cfs, method: str, path: str) -> None:
    components_before = shared_cfs.get("/v3/components?state_details=true")
    for body in GARBAGE:
        if path.endswith(NODE) or body != b"[]":
            assert shared_cfs.ask(method, path, body, JSON_BODY).status == 400, body
    assert shared_cfs.ask(method, path, b"<a/>", {"content-type": "text/xml"}).status == 415
    assert shared_cfs.get("/v3/components?state_details=true") == components_before


def test_names_that_no_database_takes(cfs: Cfs) -> None:
    half = "\ud800"
    assert cfs.problem("PUT", "/v3/components", [{"id": half, "state": []}])[0] == 500
    assert cfs.problem("PATCH", "/v3/components", [{"id": half}])[0] == 404
    layer = {"clone_url": f"https://x/vcs/{half}/{half}", "playbook": half, "branch": half}
    assert cfs.problem("PUT", "/v3/configurations/c", {"layers": [layer]})[0] == 400
    source = {"clone_url": half, "credentials": {"username": half, "password": half}}
    assert cfs.problem("POST", "/v3/sources", source)[0] == 500
    cfs.do("PUT", "/v3/configurations/c", {"layers": [{**STATE_LAYER, "playbook": half}]})
    cfs.do("PATCH", f"/v3/components/{NODE}", {"desired_config": "c", "tags": {half: half}})
    cfs.step(70)
    assert len(cfs.runs.created) == 1
    cfs.site.save()


def test_everything_is_there_after_a_restart(cfs: Cfs) -> None:
    cfs.configure("c", "one")
    cfs.set_desired("c", NODE)
    cfs.do("PATCH", f"/v3/components/{NODE}", {"state_append": STATE})
    cfs.do("DELETE", f"/v3/components/{OTHER}")
    component_before = cfs.get(f"/v3/components/{NODE}?state_details=true&config_details=true")
    reopened_cfs = cfs.reopened()
    assert reopened_cfs.get(f"/v3/components/{NODE}?state_details=true&config_details=true") == component_before
    assert reopened_cfs.say("GET", f"/v3/components/{OTHER}").status == 404
