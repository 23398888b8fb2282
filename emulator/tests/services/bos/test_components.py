"""``/components``: reading, writing, and what BOS adds."""

from __future__ import annotations

import pytest

from csm_emulator.state.clock import rfc3339
from service_client import MOMENT
from services.bos.bos_client import BLUE, DOWN, LOOK, OTHER, UP, UP_TOO, Body, Bos, StubbedServices

NOW = rfc3339(MOMENT, 0)[:-1]
ARTEFACTS = {"kernel": "s3://boot-images/a/kernel", "kernel_parameters": "quiet", "initrd": "s3://boot-images/a/initrd"}
NONE = {"kernel": "", "kernel_parameters": "", "initrd": ""}
TRIED = {"power_on_attempts": 2, "power_off_graceful_attempts": 1, "power_off_forceful_attempts": 0}
UNTRIED = dict.fromkeys(TRIED, 0)


def names(bos: Bos, query: str) -> list[str]:
    return [component["id"] for component in bos.get(f"/components?{query}")]


def test_every_node_of_hsm_is_there_from_the_start(bos: Bos) -> None:
    nodes = bos.hsm("GET", "/State/Components?type=Node").json()["Components"]
    assert names(bos, "") == sorted(node["ID"] for node in nodes)
    assert bos.component_of(UP) == {
        "id": UP,
        "actual_state": {"boot_artifacts": NONE, "bss_token": "", "last_updated": NOW},
        "desired_state": {"boot_artifacts": NONE, "bss_token": "", "configuration": "", "last_updated": NOW},
        "staged_state": {"last_updated": NOW},
        "last_action": {"action": "newly_discovered", "failed": False, "last_updated": NOW},
        "event_stats": UNTRIED,
        "status": {"phase": "", "status": "stable", "status_override": ""},
        "enabled": False,
        "error": "",
        "session": "",
    }


def test_pages_follow_one_another(bos: Bos) -> None:
    everyone = names(bos, "page_size=0")
    assert names(bos, "page_size=2") == everyone[:2]
    assert names(bos, f"page_size=3&start_after_id={everyone[1]}") == everyone[2:5]
    assert names(bos, f"start_after_id={everyone[-1]}") == []


def test_filters(bos: Bos) -> None:
    bos.patch(UP, enabled=True, session="one", desired_state={"configuration": "c"})
    bos.patch(DOWN, staged_state={"session": "two"})
    assert names(bos, "enabled=true") == [UP]
    assert names(bos, "session=one") == [UP]
    assert names(bos, "session=one&enabled=false") == []
    assert names(bos, "staged_session=two") == [DOWN]
    assert names(bos, "status=on_hold") == [UP]
    assert names(bos, "status=on_hold,stable&session=one") == [UP]
    assert names(bos, f"ids={UP},{OTHER},x9c0s0b0n0") == [UP, OTHER]
    assert names(bos, "phase=powering_on") == []


def test_enabled_false_alone_filters_nothing(bos: Bos) -> None:
    bos.patch(UP, enabled=True)
    assert names(bos, "enabled=false") == names(bos, "")
    assert UP not in names(bos, "enabled=false&status=stable,on_hold")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("enabled=maybe", "Wrong type, expected 'boolean' for query parameter 'enabled'"),
        ("page_size=many", "Wrong type, expected 'integer' for query parameter 'page_size'"),
        ("page_size=-1", "-1 is less than the minimum of 0"),
        ("phase=flying", "'flying' is not one of ['configuring', 'powering_off', 'powering_on', '']"),
        ("session=a%20b", "'a b' does not match"),
        (f"ids={'x' * 128}", f"'{'x' * 128}' is too long"),
    ],
)
def test_parameters_that_are_not_right(bos: Bos, query: str, message: str) -> None:
    status, detail = bos.refusal("GET", f"/components?{query}")
    assert (status, detail[: len(message)]) == (400, message)


def test_one_that_is_not_there(bos: Bos) -> None:
    for method, body in (("GET", None), ("PATCH", {"enabled": False}), ("DELETE", None)):
        reply = bos.ask(method, "/components/x9c0s0b0n0", body)
        assert (reply.status, reply.media) == (404, "application/problem+json")
        assert reply.json() == {
            "detail": "Component 'x9c0s0b0n0' does not exist",
            "status": 404,
            "title": "The resource was not found",
            "type": "about:blank",
        }


def test_what_is_put_is_read_back(bos: Bos) -> None:
    put: Body = {"desired_state": {"boot_artifacts": ARTEFACTS, "configuration": "c"}, "retry_policy": 7}
    component = bos.do("PUT", "/components/anything", {"id": "ignored", **put})
    assert component == {
        "id": "anything",
        "desired_state": {**put["desired_state"], "last_updated": NOW},
        "retry_policy": 7,
        "session": "",
        "event_stats": UNTRIED,
    }
    assert bos.component_of("anything") == {
        **component,
        "status": {"phase": "", "status": "stable", "status_override": ""},
    }
    bos.do("DELETE", "/components/anything")
    assert bos.ask("GET", "/components/anything").status == 404


def test_a_put_of_many_replaces_each(bos: Bos) -> None:
    components = bos.do("PUT", "/components", [{"id": UP, "enabled": False}, {"id": "new", "error": "e"}])
    assert components == [{"id": UP, "enabled": False}, {"id": "new", "error": "e"}]
    assert "desired_state" not in bos.component_of(UP)


def test_a_deleted_node_is_found_again_by_discovery(bos: Bos) -> None:
    bos.do("DELETE", f"/components/{UP}")
    assert bos.ask("GET", f"/components/{UP}").status == 404
    bos.step(299)
    assert bos.ask("GET", f"/components/{UP}").status == 404
    bos.step(2)
    assert bos.component_of(UP)["last_action"]["action"] == "newly_discovered"


def test_discovery_asks_hsm_once_in_its_interval(bos: Bos, stubs: StubbedServices) -> None:
    for _ in range(3):
        bos.get("/components")
    assert stubs.requests("smd") == []
    bos.step(400)
    for _ in range(3):
        bos.get("/components")
    assert len(stubs.requests("smd", "GET", "/hsm/v2/State/Components")) == 1


def test_a_patch_merges_states_and_artefacts(bos: Bos) -> None:
    bos.patch(UP, desired_state={"boot_artifacts": ARTEFACTS, "configuration": "c"})
    component = bos.patch(UP, desired_state={"boot_artifacts": {"kernel": "k"}})
    assert component["desired_state"]["boot_artifacts"] == {**ARTEFACTS, "kernel": "k"}
    assert component["desired_state"]["configuration"] == "c"


def test_an_enabled_component_is_on_hold_until_the_first_round(bos: Bos) -> None:
    assert bos.patch(UP, enabled=True)["status"]["status_override"] == "on_hold"
    assert bos.status_of(UP) == "on_hold"
    bos.step(LOOK)
    assert bos.status_of(UP) != "on_hold"


def test_a_new_desired_state_resets_session_and_counts(bos: Bos) -> None:
    bos.patch(UP, session="s", event_stats=TRIED)
    assert bos.component_of(UP)["event_stats"] == TRIED
    component = bos.patch(UP, desired_state={"configuration": "c"})
    assert (component["session"], component["event_stats"]) == ("", UNTRIED)
    component = bos.patch(UP, session="s", event_stats=TRIED, desired_state={"bss_token": "t"})
    assert (component["session"], component["event_stats"]) == ("s", TRIED)


def test_times_are_of_the_last_change(bos: Bos) -> None:
    bos.step(100)
    later = rfc3339(MOMENT + 100, 0)[:-1]
    component = bos.patch(
        UP,
        actual_state={"boot_artifacts": ARTEFACTS},
        desired_state={"configuration": "c"},
        staged_state={"configuration": "c"},
        last_action={"failed": True},
    )
    assert {
        component[name]["last_updated"] for name in ("actual_state", "desired_state", "staged_state", "last_action")
    } == {later}
    component = bos.patch(UP_TOO, actual_state={"bss_token": "unknown"}, desired_state={"bss_token": "unknown"})
    assert (component["actual_state"]["last_updated"], component["desired_state"]["last_updated"]) == (NOW, NOW)


@pytest.mark.parametrize(
    ("phase", "action", "failed", "word"),
    [
        ("powering_on", "session_setup", False, "power_on_pending"),
        ("powering_on", "powering_on", False, "power_on_called"),
        ("powering_on", "powering_on", True, "power_on_pending"),
        ("powering_off", "session_setup", False, "power_off_pending"),
        ("powering_off", "powering_off_gracefully", False, "power_off_gracefully_called"),
        ("powering_off", "powering_off_forcefully", False, "power_off_forcefully_called"),
        ("configuring", "powering_on", False, "configuring"),
        ("", "powering_on", True, "stable"),
    ],
)
def test_the_status_in_one_word(bos: Bos, phase: str, action: str, failed: bool, word: str) -> None:
    bos.patch(UP, status={"phase": phase}, last_action={"action": action, "failed": failed})
    assert bos.status_of(UP) == word
    bos.patch(UP, status={"status_override": "failed"})
    assert bos.status_of(UP) == "failed"


def test_a_node_may_not_report_while_bos_changes_it(bos: Bos) -> None:
    bos.patch(UP, enabled=True)
    reply = bos.ask("PATCH", f"/components/{UP}", {"actual_state": {"bss_token": "t"}})
    assert (reply.status, reply.json()["title"]) == (409, "Actual state can not be updated.")
    assert reply.json()["detail"] == (
        "BOS is currently changing the state of the node, and the actual state can not be accurately recorded"
    )
    bos.patch(UP, last_action={"action": "powering_on"})
    component = bos.patch(UP, actual_state={"bss_token": "t"})
    assert component["actual_state"] == {**component["actual_state"], "bss_token": "t"}


def test_a_report_to_less_than_a_component(bos: Bos) -> None:
    bos.do("PUT", "/components/bare", {"enabled": True})
    assert bos.ask("PATCH", "/components/bare", {"actual_state": {"bss_token": "t"}}).status == 500


def test_many_are_patched_each_with_its_own(bos: Bos) -> None:
    components = bos.do("PATCH", "/components", [{"id": UP, "error": "a"}, {"id": DOWN, "error": "b"}])
    assert [(component["id"], component["error"]) for component in components] == [(UP, "a"), (DOWN, "b")]
    assert bos.component_of(DOWN)["error"] == "b"


def test_one_unknown_name_and_nothing_is_patched(bos: Bos) -> None:
    body = [{"id": UP, "error": "a"}, {"id": "missing", "error": "b"}]
    assert bos.refusal("PATCH", "/components", body) == (404, "Component 'missing' does not exist")
    assert bos.component_of(UP)["error"] == ""
    components = bos.do("PATCH", "/components?skip_bad_ids=true", body)
    assert [component["id"] for component in components] == [UP]


def test_many_are_patched_alike(bos: Bos) -> None:
    by_ids = {"patch": {"error": "e"}, "filters": {"ids": ",".join(BLUE), "session": None}}
    assert [component["id"] for component in bos.do("PATCH", "/components", by_ids)] == list(BLUE)
    bos.do("PATCH", "/components", {"patch": {"session": "s"}, "filters": {"ids": f"{UP},{OTHER}"}})
    by_session = {"patch": {"error": "f"}, "filters": {"session": "s"}}
    assert [component["id"] for component in bos.do("PATCH", "/components", by_session)] == [UP, OTHER]
    assert bos.component_of(UP)["error"] == bos.component_of(OTHER)["error"] == "f"
    assert bos.component_of(UP_TOO)["error"] == "e"


@pytest.mark.parametrize(
    "filters", [{}, {"ids": ""}, {"ids": UP, "session": "s"}, {"ids": None, "session": None}, {"other": "x"}]
)
def test_a_filter_is_one_of_two(bos: Bos, filters: dict[str, str]) -> None:
    status, detail = bos.refusal("PATCH", "/components", {"patch": {"error": "e"}, "filters": filters})
    assert status == 400
    assert detail.endswith("is not valid under any of the given schemas")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "{} should be non-empty"),
        ({"enabled": "yes"}, "'yes' is not of type 'boolean' - 'enabled'"),
        ({"other": 1}, "Additional properties are not allowed ('other' was unexpected)"),
        ({"retry_policy": -1}, "-1 is less than the minimum of 0 - 'retry_policy'"),
        ({"last_action": {"action": "dance"}}, "'dance' is not one of ["),
        ({"actual_state": {"last_updated": NOW}}, "Property is read-only - 'actual_state.last_updated'"),
        ([], "[] is not of type 'object'"),
    ],
)
def test_bodies_that_do_not_fit(shared_bos: Bos, body: object, message: str) -> None:
    for method in ("PUT", "PATCH"):
        status, detail = shared_bos.refusal(method, f"/components/{UP}", body)
        assert (status, detail[: len(message)]) == (400, message)
