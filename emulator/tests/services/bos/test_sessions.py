"""``/sessions``: creation, filters and status."""

from __future__ import annotations

import pytest

from csm_emulator.state.clock import rfc3339
from service_client import MOMENT, reopen
from services.bos.bos_client import BLUE, DOWN, LOOK, UP, UP_TOO, Bos

NOW = rfc3339(MOMENT, 0)[:-1]


def ids(bos: Bos, query: str = "") -> set[str]:
    return {session["name"] for session in bos.get(f"/sessions?{query}")}


def test_a_session_as_it_begins(bos: Bos) -> None:
    bos.template()
    session = bos.do("POST", "/sessions", {"name": "one", "template_name": "t", "operation": "boot", "limit": None})
    assert session == {
        "name": "one",
        "tenant": None,
        "operation": "boot",
        "template_name": "t",
        "limit": "",
        "stage": False,
        "include_disabled": False,
        "components": "",
        "status": {"status": "pending", "start_time": NOW, "end_time": None, "error": None},
    }
    assert bos.session_of("one") == session


def test_names_are_made_up_and_never_twice(bos: Bos) -> None:
    bos.template()
    first, second = bos.session(), bos.session()
    assert first != second
    assert len(first) == 36
    reopened_bos = Bos(reopen(bos.site))
    assert reopened_bos.session() not in (first, second)


def test_two_of_a_name(bos: Bos) -> None:
    bos.template()
    bos.session(name="one")
    reply = bos.ask("POST", "/sessions", {"name": "one", "template_name": "t", "operation": "boot"})
    assert (reply.status, reply.json()["title"]) == (409, "The resource to be created already exists")
    assert reply.json()["detail"] == "Session 'one' already exists"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"template_name": "none"}, "Session Template Name invalid: none"),
        ({"operation": "dance"}, "'dance' is not one of ['boot', 'reboot', 'shutdown'] - 'operation'"),
        ({"operation": None}, "None is not of type 'string' - 'operation'"),
        ({"stage": "yes"}, "'yes' is not of type 'boolean' - 'stage'"),
        ({"name": "a b"}, "'a b' does not match"),
        ({"limit": 7}, "7 is not of type 'string' - 'limit'"),
        ({"tenant": "x"}, "Additional properties are not allowed ('tenant' was unexpected)"),
    ],
)
def test_what_is_refused(bos: Bos, fields: dict[str, object], message: str) -> None:
    bos.template()
    status, detail = bos.refusal("POST", "/sessions", {"template_name": "t", "operation": "boot", **fields})
    assert (status, detail[: len(message)]) == (400, message)
    assert ids(bos) == set()


def test_options_that_forbid(bos: Bos) -> None:
    bos.template()
    body = {"template_name": "t", "operation": "boot"}
    bos.session(limit="nid1")
    bos.options(reject_nids=True, session_limit_required=True)
    assert bos.refusal("POST", "/sessions", body) == (
        400,
        "session_limit_required option is set, but this session has no limit specified",
    )
    for limit in ("nid1", f"{UP},&nid2", "!nid3"):
        message = f"reject_nids: session limit appears to contain NIDs: {limit}"
        assert bos.refusal("POST", "/sessions", {**body, "limit": limit}) == (400, message)
    bos.session(limit="green,x1nid")


def test_a_shutdown_needs_no_image(bos: Bos) -> None:
    bos.template(path="s3://boot-images/gone/manifest.json")
    assert bos.refusal("POST", "/sessions", {"template_name": "t", "operation": "boot"})[0] == 400
    assert bos.state(bos.session("shutdown")) == "pending"


def test_lists_by_status_and_age(bos: Bos) -> None:
    bos.template()
    bos.session("shutdown", name="old", limit="none")
    bos.step(3600)
    bos.session(name="new")
    assert ids(bos) == {"old", "new"}
    assert ids(bos, "status=complete") == {"old"}
    assert ids(bos, "min_age=1h") == {"old"}
    assert ids(bos, "max_age=59m") == {"new"}
    assert ids(bos, "min_age=1d") == set()
    assert ids(bos, "min_age=0") == {"old", "new"}


@pytest.mark.parametrize("query", ["min_age=soon", "max_age=1y", "status=over", "min_age="])
def test_filters_that_make_no_sense(bos: Bos, query: str) -> None:
    for method in ("GET", "DELETE"):
        assert bos.refusal(method, f"/sessions?{query}")[0] == 400


def test_an_age_beyond_the_calendar(bos: Bos) -> None:
    assert bos.ask("GET", "/sessions?min_age=9999999w").status == 500
    message = "Error parsing age field: date value out of range"
    assert bos.refusal("DELETE", "/sessions?min_age=9999999w") == (400, message)


def test_deleting_by_filter_and_by_name(bos: Bos) -> None:
    bos.template()
    bos.session("shutdown", name="over", limit="none")
    bos.step(LOOK)
    bos.session(name="new")
    assert bos.ask("DELETE", "/sessions?status=complete").status == 204
    assert ids(bos) == {"new"}
    assert bos.ask("DELETE", "/sessions/new").status == 204
    for method in ("GET", "DELETE"):
        assert bos.refusal(method, "/sessions/new") == (404, "Session 'new' does not exist")
    assert bos.refusal("GET", "/sessions/new/status") == (404, "Session 'new' does not exist")


def test_a_patch(bos: Bos) -> None:
    bos.template()
    bos.session(name="one")
    session = bos.do("PATCH", "/sessions/one", {"status": {"status": "running"}, "components": UP})
    assert session["status"] == {"status": "running", "start_time": NOW, "end_time": None, "error": None}
    assert bos.nodes_of("one") == [UP]
    assert bos.refusal("PATCH", "/sessions/one", {"status": {"status": "odd"}})[0] == 400
    assert bos.refusal("PATCH", "/sessions/none", {"components": ""})[0] == 404


def test_what_a_session_has_come_to(bos: Bos) -> None:
    bos.template()
    bos.session(name="one")
    bos.do("PATCH", "/components", {"patch": {"session": "one"}, "filters": {"ids": ",".join(BLUE)}})
    bos.patch(UP, enabled=True, status={"phase": "powering_on"})
    bos.patch(UP, status={"status_override": ""}, error="no luck")
    bos.patch(UP_TOO, status={"phase": "configuring", "status_override": "failed"}, error="no luck")
    bos.patch(DOWN, enabled=True, status={"phase": "powering_off"})
    bos.step(1.25)
    assert bos.get("/sessions/one/status") == {
        "status": "pending",
        "managed_components_count": 4,
        "phases": {
            "percent_complete": 50.0,
            "percent_powering_on": 25.0,
            "percent_powering_off": 0.0,
            "percent_configuring": 0.0,
        },
        "percent_staged": 0.0,
        "percent_successful": 25.0,
        "percent_failed": 25.0,
        "error_summary": {"no luck": {"count": 2, "list": f"{UP},{UP_TOO}"}},
        "timing": {"start_time": NOW, "end_time": None, "duration": "0:00:01.250000"},
    }


def test_long_lists_of_errors_are_cut(bos: Bos) -> None:
    bos.template()
    bos.session(name="one")
    names = [f"c{number:02}" for number in range(11)]
    bos.do("PUT", "/components", [{"id": name, "session": "one", "error": "e"} for name in names])
    summary = bos.get("/sessions/one/status")["error_summary"]
    assert summary == {"e": {"count": 11, "list": ",".join(names[:10]) + "..."}}


def test_a_status_that_was_saved_stays_when_the_session_is_over(bos: Bos) -> None:
    bos.template()
    name = bos.session("shutdown", limit="none")
    bos.step(LOOK)
    saved = bos.get(f"/sessions/{name}/status")
    assert (saved["status"], saved["managed_components_count"]) == ("complete", 0)
    bos.patch(UP, session=name)
    assert bos.get(f"/sessions/{name}/status") == saved
    status_reply = bos.do("POST", f"/sessions/{name}/status")
    assert status_reply["managed_components_count"] == 1
    assert bos.get(f"/sessions/{name}/status") == status_reply


def test_a_start_that_is_no_time(bos: Bos) -> None:
    bos.template()
    bos.session(name="one")
    bos.do("PATCH", "/sessions/one", {"status": {"start_time": "yesterday"}})
    assert bos.ask("GET", "/sessions/one/status").status == 500
    assert bos.ask("GET", "/sessions?min_age=1h").status == 500
    bos.do("PATCH", "/sessions/one", {"status": {"status": "complete"}})
    bos.step(3 * LOOK)
    assert ids(bos) == set()


def test_sessions_that_are_over_go_after_a_week(bos: Bos) -> None:
    bos.template()
    bos.session("shutdown", name="one", limit="none")
    bos.step(7 * 86400 - 60)
    assert ids(bos) == {"one"}
    bos.step(90)
    assert ids(bos) == set()


def test_how_long_they_stay_is_an_option(bos: Bos) -> None:
    bos.template()
    bos.session("shutdown", name="one", limit="none")
    bos.options(cleanup_completed_session_ttl="0")
    bos.step(30 * 86400)
    assert ids(bos) == {"one"}
    bos.options(cleanup_completed_session_ttl="1h")
    bos.step(2 * LOOK)
    assert ids(bos) == set()
