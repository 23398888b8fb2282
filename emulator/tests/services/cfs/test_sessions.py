"""Sessions: creation, reports, filters and deletion."""

from __future__ import annotations

from typing import Any

import pytest

from service_client import GARBAGE
from services.cfs.cfs_client import JSON_BODY, Cfs

IMAGE = "f34ff35e-d782-4a65-a1b8-243a3cd740af"
DAY = 86400


@pytest.fixture(autouse=True)
def configuration(cfs: Cfs) -> None:
    cfs.configure("c", "one", "two")


def make(cfs: Cfs, name: str, **more: Any) -> Any:
    return cfs.do("POST", "/v3/sessions", {"name": name, "configuration_name": "c", **more})


def names(cfs: Cfs, query: str = "") -> list[str]:
    return [session["name"] for session in cfs.get(f"/v3/sessions?{query}")["sessions"]]


def test_a_session_as_it_begins(cfs: Cfs) -> None:
    reply = cfs.say("POST", "/v3/sessions", {"name": "s", "configuration_name": "c"})
    assert reply.status == 201
    assert reply.json() == {
        "name": "s",
        "configuration": {"name": "c", "limit": ""},
        "ansible": {"config": "cfs-default-ansible-cfg", "limit": "", "verbosity": 0, "passthrough": ""},
        "target": {"definition": "dynamic", "groups": None, "image_map": None},
        "status": {
            "artifacts": [],
            "session": {
                "job": None,
                "ims_job": None,
                "status": "pending",
                "succeeded": "none",
                "start_time": "2027-01-15T08:00:00",
                "completion_time": None,
            },
        },
        "tags": {},
        "debug_on_failure": False,
        "logs": "ara.cmn.emulator.local/?label=s",
    }
    assert cfs.get("/v3/sessions/s") == reply.json()
    assert cfs.runs.created == ["s"]
    assert cfs.reopened().get("/v3/sessions/s") == reply.json()


def test_everything_that_can_be_asked_for_is_there(cfs: Cfs) -> None:
    target = {
        "definition": "image",
        "groups": [{"name": "Compute", "members": [IMAGE]}],
        "image_map": [{"source_id": IMAGE, "result_name": "new"}],
    }
    session = make(
        cfs,
        "s.with-all.1",
        configuration_limit="0",
        ansible_limit="Compute",
        ansible_config="mine",
        ansible_verbosity=4,
        ansible_passthrough="--tags a -e x=y",
        target=target,
        tags={"bos_session": "b"},
        debug_on_failure=True,
    )
    assert session["configuration"] == {"name": "c", "limit": "0"}
    assert session["ansible"] == {
        "config": "mine",
        "limit": "Compute",
        "verbosity": 4,
        "passthrough": "--tags a -e x=y",
    }
    assert (session["target"], session["tags"], session["debug_on_failure"]) == (target, {"bos_session": "b"}, True)


@pytest.mark.parametrize("name", ["debug_noop", "debug_fail", "debug_facts"])
def test_built_in_playbooks_need_no_configuration(cfs: Cfs, name: str) -> None:
    assert make(cfs, "s", configuration_name=name)["configuration"]["name"] == name


def _target(definition: str, *groups: tuple[str, list[str]]) -> dict[str, Any]:
    return {
        "target": {"definition": definition, "groups": [{"name": name, "members": members} for name, members in groups]}
    }


@pytest.mark.parametrize(
    ("more", "status", "detail"),
    [
        ({"configuration_name": "none"}, 400, "No configurations exist named none"),
        ({"name": "taken"}, 409, "A session with the name taken already exists"),
        (_target("dynamic", ("g", ["x"])), 400, "'dynamic' target definitions must not contain groups specifications."),
        (_target("spec"), 400, "At least one target group must be specified."),
        (_target("spec", ("g", [])), 400, "Group member lists must not be empty."),
        (_target("spec", ("g", [""])), 400, "Group members must not be blank."),
        (
            _target("image", ("g", ["x", IMAGE])),
            400,
            "The following Image target group member(s) are not valid UUIDs: [('g', 'x')].",
        ),
        ({"target": {"definition": "cloud"}}, 400, "'cloud' is not one of ['image', 'spec', 'repo', 'dynamic'] - "),
        ({"target": {"groups": [{"name": "g"}]}}, 400, "'members' is a required property - 'target.groups.0'"),
        ({"ansible_passthrough": "--become"}, 400, "Error validating ansible-passthrough: unrecognized arguments: "),
        ({"ansible_passthrough": "-f many"}, 400, "Error validating ansible-passthrough: argument -f/--forks: invalid"),
        ({"ansible_passthrough": "-e 'a"}, 500, "The server encountered an internal error"),
        ({"ansible_verbosity": 5}, 400, "5 is greater than the maximum of 4 - 'ansible_verbosity'"),
        ({"ansible_limit": "a b"}, 400, r"'a b' does not match '^[^\\s;]*$' - 'ansible_limit'"),
        ({"name": "Upper"}, 400, "'Upper' does not match "),
        ({"name": "s" * 46}, 400, f"'{'s' * 46}' is too long - 'name'"),
        ({"configuration_name": ""}, 400, "'' should be non-empty - 'configuration_name'"),
        ({"tags": {"a": 1}}, 400, "1 is not of type 'string' - 'tags.a'"),
        ({"what": 1}, 400, "Additional properties are not allowed ('what' was unexpected)"),
    ],
)
def test_what_a_session_cannot_be(cfs: Cfs, more: dict[str, Any], status: int, detail: str) -> None:
    make(cfs, "taken")
    problem = cfs.problem("POST", "/v3/sessions", {"name": "s", "configuration_name": "c", **more})
    assert problem[0] == status
    assert problem[2].startswith(detail)
    assert names(cfs) == ["taken"]
    assert cfs.runs.created == ["taken"]


def test_garbage_is_refused(cfs: Cfs) -> None:
    make(cfs, "s")
    session_before = cfs.get("/v3/sessions/s")
    for body in GARBAGE:
        for version in ("v2", "v3"):
            assert cfs.ask("POST", f"/{version}/sessions", body, JSON_BODY).status == 400, body
            assert cfs.ask("PATCH", f"/{version}/sessions/s", body, JSON_BODY).status in (400, 500), body
    crooked: list[Any] = [{"status": None}, {"status": {"session": []}}, {"status": {"artifacts": {}}}, {"status": []}]
    for content in (*crooked, []):
        for version in ("v2", "v3"):
            assert cfs.say("PATCH", f"/{version}/sessions/s", content).status in (200, 500), content
    deep = b'{"status":{"session":{"x":' + b"[" * 300 + b"]" * 300 + b"}}}"
    assert cfs.ask("PATCH", "/v3/sessions/s", deep, JSON_BODY).status == 500
    assert cfs.get("/v3/sessions/s") == session_before
    cfs.site.save()


def test_an_invalid_start_time_only_breaks_filters_by_age(cfs: Cfs) -> None:
    make(cfs, "s")
    cfs.do("PATCH", "/v3/sessions/s", {"status": {"session": {"start_time": "nonsense", "status": "complete"}}})
    assert cfs.problem("GET", "/v3/sessions?min_age=1d")[0] == 500
    assert names(cfs) == ["s"]
    cfs.do("PATCH", "/v3/options", {"session_ttl": "1m"})
    cfs.step(600)
    assert names(cfs) == ["s"]


def test_a_status_goes_forward_only_and_nothing_empty_overwrites(cfs: Cfs) -> None:
    make(cfs, "s")

    def report(**fields: Any) -> dict[str, Any]:
        session = cfs.do("PATCH", "/v3/sessions/s", {"status": {"session": fields}})
        return dict(session["status"]["session"])

    assert report(status="running", job="cfs-1")["job"] == "cfs-1"
    assert report(status="pending")["status"] == "running"
    assert report(job="", completion_time=None)["job"] == "cfs-1"
    assert report(succeeded="false")["succeeded"] == "false"
    assert report(succeeded="unknown", status="nonsense")["succeeded"] == "false"
    assert report(succeeded="true", status="complete")["succeeded"] == "true"
    status, title, detail = cfs.problem("PATCH", "/v3/sessions/s", {"status": {"session": {"job": "cfs-2"}}})
    assert (status, title) == (409, "Session patch conflict.")
    assert detail == (
        "Session s could not be patched: status.session.job field cannot be updated after it has been set; "
        "current value: cfs-1, patch value: cfs-2"
    )
    assert cfs.do("PATCH", "/v2/sessions/s", {"status": {"session": {"job": "cfs-2"}}})["status"]["session"]["job"]
    assert cfs.get("/v3/sessions/s")["status"]["session"]["job"] == "cfs-2"
    assert cfs.problem("PATCH", "/v3/sessions/s", {"tags": {}}) == (
        400,
        "Bad Request",
        "Only status can be updated after session creation",
    )
    assert cfs.problem("PATCH", "/v3/sessions/none", {})[:2] == (404, "Session not found.")


def test_an_artifact_is_noted_once(cfs: Cfs) -> None:
    make(cfs, "s")
    artifact = {"type": "ims_customized_image", "image_id": IMAGE, "result_id": IMAGE}
    for _ in range(2):
        cfs.do("PATCH", "/v3/sessions/s", {"status": {"artifacts": [artifact]}})
        cfs.records.add_artifact("s", artifact)
    assert cfs.get("/v3/sessions/s")["status"]["artifacts"] == [artifact]


def test_sessions_are_found_by_what_they_are(cfs: Cfs) -> None:
    make(cfs, "old", tags={"a": "b"})
    cfs.end("old")
    cfs.step(DAY)
    make(cfs, "new", tags={"a": "b", "c": "d"})
    cfs.records.change_session("new", status="running")
    assert names(cfs, "status=running") == ["new"]
    assert names(cfs, "status=&succeeded=true") == ["old"]
    assert names(cfs, "name_contains=ol") == ["old"]
    assert names(cfs, "tags=a=b") == ["new", "old"]
    assert names(cfs, "tags=a=b,c=d") == ["new"]
    assert names(cfs, "min_age=1d") == ["old"]
    assert names(cfs, "min_age=25h") == []
    assert names(cfs, "max_age=23h") == ["new"]
    assert names(cfs, "max_age=1w") == ["new", "old"]
    assert [session["name"] for session in cfs.get("/v2/sessions?age=60m")] == ["old"]
    assert cfs.problem("GET", "/v3/sessions?tags=a")[1] == "Error parsing the tags provided."
    assert cfs.problem("GET", "/v3/sessions?min_age=soon")[1] == "Bad Request"
    assert cfs.problem("GET", "/v3/sessions?min_age=999999999w")[0] == 500


def test_pages(cfs: Cfs) -> None:
    for name in ("b", "c", "a"):
        make(cfs, name)
    first = cfs.get("/v3/sessions?limit=2&status=pending")
    assert [session["name"] for session in first["sessions"]] == ["a", "b"]
    assert first["next"] == {
        "age": None,
        "min_age": None,
        "max_age": None,
        "status": "pending",
        "name_contains": None,
        "succeeded": None,
        "tags": None,
        "limit": 2,
        "after_id": "b",
    }
    assert names(cfs, "after_id=b&limit=2") == ["c"]


def test_deleted_sessions_are_reported_to_the_runner(cfs: Cfs) -> None:
    for name in ("a", "b", "c", "d"):
        make(cfs, name)
    for name in ("b", "c"):
        cfs.end(name)
    assert cfs.say("DELETE", "/v3/sessions/a").status == 204
    assert cfs.problem("DELETE", "/v3/sessions/a") == (404, "Session not found.", "Session a could not be found")
    assert cfs.do("DELETE", "/v3/sessions?name_contains=c") == {"session_ids": ["c"]}
    assert cfs.do("DELETE", "/v3/sessions") == {"session_ids": ["b"]}
    assert cfs.do("DELETE", "/v3/sessions?status=") == {"session_ids": ["d"]}
    assert cfs.runs.deleted == ["a", "c", "b", "d"]
    assert cfs.problem("DELETE", "/v3/sessions?tags=a")[:2] == (400, "Error parsing the tags provided.")
    assert cfs.problem("DELETE", "/v3/sessions?max_age=999999999w")[:2] == (400, "Error parsing age field")
    assert cfs.problem("DELETE", "/v2/sessions?tags=a")[0] == 500


def test_completed_sessions_go_when_they_are_old(cfs: Cfs) -> None:
    make(cfs, "ends")
    make(cfs, "stays")
    cfs.end("ends")
    cfs.step(7 * DAY - 1)
    assert names(cfs) == ["ends", "stays"]
    cfs.step(301)
    assert names(cfs) == ["stays"]
    assert cfs.runs.deleted == ["ends"]
    assert cfs.plans() == []
    cfs.end("stays")
    cfs.step(300)
    assert names(cfs) == []


def test_the_time_to_live_can_be_changed_and_switched_off(cfs: Cfs) -> None:
    make(cfs, "s")
    cfs.end("s")
    cfs.do("PATCH", "/v3/options", {"session_ttl": ""})
    cfs.step(30 * DAY)
    assert names(cfs) == ["s"]
    cfs = cfs.reopened()
    cfs.do("PATCH", "/v3/options", {"session_ttl": "999999999w"})
    cfs.do("PATCH", "/v3/options", {"session_ttl": "31d"})
    cfs.step(DAY - 1)
    assert names(cfs) == ["s"]
    cfs.step(301)
    assert names(cfs) == []


def test_links_can_be_left_out(cfs: Cfs) -> None:
    make(cfs, "s")
    cfs.do("PATCH", "/v3/options", {"include_ara_links": False})
    assert cfs.get("/v3/sessions/s")["logs"] is None
