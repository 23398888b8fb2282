"""Version 2 and version 3 show the same store."""

from __future__ import annotations

from services.cfs.cfs_client import NEW, NODE, OLD, OTHER, URL, Cfs

V2_STATE = {"cloneUrl": URL.format("one"), "playbook": "site.yml", "commit": f"{OLD}_failed", "sessionName": "s"}
V3_STATE = {
    "clone_url": URL.format("one"),
    "playbook": "site.yml",
    "commit": OLD,
    "status": "failed",
    "session_name": "s",
    "last_updated": "2027-01-15T08:00:00Z",
}


def test_a_component_of_version_2(cfs: Cfs) -> None:
    body = {
        "id": NODE,
        "state": [V2_STATE],
        "desiredConfig": "c",
        "retryPolicy": 2,
        "enabled": False,
        "tags": {"a": "b"},
    }
    assert cfs.do("PUT", f"/v2/components/{NODE}", body) == {
        **body,
        "state": [{**V2_STATE, "lastUpdated": "2027-01-15T08:00:00Z"}],
        "errorCount": 0,
    }
    assert cfs.get(f"/v3/components/{NODE}?state_details=true")["state"] == [V3_STATE]
    component = cfs.get(f"/v2/components/{NODE}")
    assert component["configurationStatus"] == "configured"
    assert component["state"][0]["commit"] == f"{OLD}_failed"
    assert cfs.get("/v2/components?configName=c&enabled=false") == [component]
    add = {"stateAppend": {**V2_STATE, "commit": NEW}}
    assert cfs.do("PATCH", f"/v2/components/{NODE}", add)["state"][0]["commit"] == NEW
    assert cfs.get(f"/v3/components/{NODE}?state_details=true")["state"][0]["status"] == "applied"


def test_the_details_of_version_2(cfs: Cfs) -> None:
    cfs.configure("c", "one")
    cfs.set_desired("c", NODE)
    assert cfs.get(f"/v2/components/{NODE}?configDetails=true")["desiredState"] == [
        {"cloneUrl": URL.format("one"), "playbook": "site.yml", "commit": OLD}
    ]
    cfs.do("PATCH", f"/v2/components/{NODE}", {"desiredConfig": ""})
    assert cfs.get(f"/v2/components/{NODE}?configDetails=true")["desiredState"] == []


def test_many_components_of_version_2(cfs: Cfs) -> None:
    components = cfs.do("PATCH", "/v2/components", {"patch": {"enabled": False}, "filters": {"ids": NODE}})
    assert [(component["id"], component["enabled"]) for component in components] == [(NODE, False)]
    components = cfs.do("PATCH", "/v2/components", [{"id": OTHER, "desiredConfig": "c"}])
    assert components[0]["desiredConfig"] == "c"
    components = cfs.do("PUT", "/v2/components", [{"id": "x1", "state": [], "desiredConfig": ""}])
    assert components == [{"id": "x1", "state": [], "desiredConfig": "", "errorCount": 0}]
    assert cfs.problem("PUT", "/v2/components/x2", {"id": "x2"})[0] == 500
    two = {"cloneUrl": "u", "playbook": "p", "commit": "a_b_c", "sessionName": "s"}
    assert cfs.problem("PATCH", "/v2/components", [{"id": OTHER, "stateAppend": two}])[0] == 500
    # The layer is compared with the stored one, so the first passes.
    assert cfs.say("PATCH", f"/v2/components/{OTHER}", {"stateAppend": {"commit": "c"}}).status == 200
    assert cfs.problem("PATCH", f"/v2/components/{OTHER}", {"stateAppend": {"commit": "c"}})[0] == 500


def test_lists_of_version_2_have_one_page(cfs: Cfs) -> None:
    cfs.configure("c1", "one")
    cfs.configure("c2", "one")
    for name in ("s1", "s2"):
        cfs.do("POST", "/v3/sessions", {"name": name, "configuration_name": "c1"})
    for path in ("components", "configurations", "sessions"):
        assert len(cfs.get(f"/v2/{path}")) >= 2
    cfs.do("PATCH", "/v3/options", {"default_page_size": 1})
    detail = "The response size exceeds the default_page_size.  Use the v3 API to page through the results."
    for path in ("components", "configurations", "sessions"):
        assert cfs.problem("GET", f"/v2/{path}") == (400, "The response size is too large", detail)


def test_a_configuration_of_version_2(cfs: Cfs) -> None:
    layer = {"cloneUrl": URL.format("one"), "branch": "main", "specialParameters": {"imsRequireDkms": True}}
    configuration = cfs.do(
        "PUT", "/v2/configurations/c", {"layers": [layer], "additional_inventory": {"cloneUrl": "u"}}
    )
    assert configuration == {
        "name": "c",
        "lastUpdated": "2027-01-15T08:00:00Z",
        "layers": [{**layer, "commit": OLD}],
        "additional_inventory": {"cloneUrl": "u"},
    }
    assert cfs.get("/v2/configurations/c") == configuration
    assert cfs.get("/v2/configurations") == [configuration]
    layer_v3 = cfs.get("/v3/configurations/c")["layers"][0]
    assert layer_v3["special_parameters"] == {"ims_require_dkms": True}
    cfs.branches["cray", "one", "main"] = NEW
    assert cfs.do("PATCH", "/v2/configurations/c")["layers"][0]["commit"] == NEW
    assert cfs.get("/v3/configurations/c")["layers"][0]["commit"] == NEW
    assert cfs.say("DELETE", "/v2/configurations/c").status == 204
    assert cfs.say("GET", "/v3/configurations/c").status == 404


def test_the_default_playbook_counts_for_layers_of_version_2(cfs: Cfs) -> None:
    cfs.do("PUT", "/v2/configurations/c", {"layers": [{"cloneUrl": URL.format("one"), "commit": OLD}]})
    cfs.set_desired("c", NODE)
    assert cfs.status(NODE) == "pending"
    layer = {"clone_url": URL.format("one"), "playbook": "site.yml", "commit": OLD, "session_name": "s"}
    cfs.do("PATCH", f"/v3/components/{NODE}", {"state_append": layer})
    assert cfs.status(NODE) == "configured"
    cfs.do("PATCH", "/v2/options", {"defaultPlaybook": "other.yml"})
    assert cfs.status(NODE) == "pending"


def test_a_session_of_version_2(cfs: Cfs) -> None:
    cfs.configure("c", "one")
    reply = cfs.say("POST", "/v2/sessions", {"name": "s", "configurationName": "c", "ansibleVerbosity": 2})
    assert reply.status == 200
    assert reply.json() == {
        "name": "s",
        "configuration": {"name": "c", "limit": ""},
        "ansible": {"config": "cfs-default-ansible-cfg", "limit": None, "verbosity": 2, "passthrough": None},
        "target": {"definition": "dynamic", "groups": None, "image_map": None},
        "status": {
            "artifacts": [],
            "session": {
                "job": None,
                "status": "pending",
                "succeeded": "none",
                "startTime": "2027-01-15T08:00:00",
                "completionTime": None,
            },
        },
        "tags": {},
    }
    assert cfs.problem("POST", "/v2/sessions", {"name": "t", "configurationName": "debug_noop"})[0] == 400
    now = "2027-01-15T09:00:00"
    session = cfs.do("PATCH", "/v2/sessions/s", {"status": {"session": {"status": "complete", "completionTime": now}}})
    assert session["status"]["session"]["completionTime"] == now
    assert cfs.get("/v3/sessions/s")["status"]["session"]["completion_time"] == now
    assert cfs.get("/v2/sessions?status=complete") == [session]
    assert cfs.say("DELETE", "/v2/sessions").status == 204
    assert cfs.get("/v3/sessions")["sessions"] == []


def test_options_of_both_versions(cfs: Cfs) -> None:
    assert cfs.get("/v3/options") == {
        "additional_inventory_source": "",
        "additional_inventory_url": "",
        "batch_size": 25,
        "batch_window": 60,
        "batcher_check_interval": 10,
        "batcher_disable": False,
        "batcher_max_backoff": 3600,
        "batcher_pending_timeout": 300,
        "debug_wait_time": 3600,
        "default_ansible_config": "cfs-default-ansible-cfg",
        "default_batcher_retry_policy": 3,
        "default_page_size": 1000,
        "default_playbook": "site.yml",
        "hardware_sync_interval": 10,
        "include_ara_links": True,
        "logging_level": "INFO",
        "session_ttl": "7d",
    }
    v2 = cfs.do("PATCH", "/v2/options", {"sessionTTL": "1h", "batchSize": 3})
    assert v2.items() >= {"sessionTTL": "1h", "batchSize": 3, "hardwareSyncInterval": 10}.items()
    assert "default_page_size" not in v2
    assert len(v2) == 13
    v3 = cfs.do("PATCH", "/v3/options", {"batch_window": 0})
    assert (v3["session_ttl"], v3["batch_size"], v3["batch_window"]) == ("1h", 3, 0)
    assert cfs.reopened().get("/v3/options") == v3


def test_options_that_cannot_be(cfs: Cfs) -> None:
    for body, detail in (
        ({"batch_size": 0}, "0 is less than the minimum of 1 - 'batch_size'"),
        ({"default_playbook": "x.yml"}, "Property is read-only - 'default_playbook'"),
        ({"session_ttl": "soon"}, "'soon' does not match '^(?:[0-9]+[mMhHdDwW]){0,1}$' - 'session_ttl'"),
        ({"logging_level": "LOUD"}, "'LOUD' is not one of ['DEBUG', 'INFO', 'WARNING', 'ERROR'] - 'logging_level'"),
        ({"colour": 1}, "Additional properties are not allowed ('colour' was unexpected)"),
    ):
        assert cfs.problem("PATCH", "/v3/options", body) == (400, "Bad Request", detail)
    assert cfs.get("/v3/options")["batch_size"] == 25


def test_huge_numbers_do_no_harm(cfs: Cfs) -> None:
    cfs.configure("c", "one")
    huge = 10**400
    numbers = [name for name, value in cfs.get("/v3/options").items() if type(value) is int]
    assert cfs.do("PATCH", "/v3/options", dict.fromkeys(numbers, huge))["batch_size"] == huge
    cfs.do("PATCH", f"/v3/components/{NODE}", {"desired_config": "c", "retry_policy": huge, "error_count": -huge})
    cfs.step(100)
    assert cfs.get(f"/v3/components?limit={10**30}")["next"] is None
    cfs.do("PATCH", "/v3/options", dict.fromkeys(numbers, 1))
    cfs.break_("service-restart", "cfs", seconds=1)
    cfs.step(5)
    assert cfs.runs.created
    cfs.site.save()


def test_versions_and_health_of_the_service(cfs: Cfs) -> None:
    for path in ("/", "/versions", "/v2", "/v3"):
        assert cfs.get(path) == {"major": "1", "minor": "31", "patch": "1"}
    assert cfs.get("/healthz") == {"db_status": "ok", "kafka_status": "ok"}
    assert cfs.problem("GET", "/v4/components")[:2] == (404, "Not Found")
    assert cfs.problem("POST", "/v3/components")[:2] == (405, "Method Not Allowed")
