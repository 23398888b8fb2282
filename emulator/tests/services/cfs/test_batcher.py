"""The batcher: the times and components of its sessions, and its handling of their results.

The clock starts on a multiple of its interval.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from services.cfs.cfs_client import NEW, NODE, OTHER, URL, Cfs


@pytest.fixture(autouse=True)
def configuration(cfs: Cfs) -> None:
    cfs.configure("c", "one", "two")


def sessions(cfs: Cfs) -> list[dict[str, Any]]:
    """The sessions of the batcher, oldest first."""
    return [cfs.records.session(name) or {} for name in cfs.runs.created]


def limits(cfs: Cfs) -> list[list[str]]:
    return [session["ansible"]["limit"].split(",") for session in sessions(cfs)]


def option(cfs: Cfs, **values: Any) -> None:
    cfs.do("PATCH", "/v3/options", values)


def test_a_batch_waits_for_its_window(cfs: Cfs) -> None:
    cfs.step(4)
    cfs.set_desired("c", NODE)
    cfs.step(6 + 59)
    assert sessions(cfs) == []
    cfs.step(1)
    (session,) = sessions(cfs)
    assert session["name"].startswith("batcher-")
    assert session["configuration"] == {"name": "c", "limit": "0,1"}
    assert session["ansible"]["limit"] == NODE
    assert session["target"]["definition"] == "dynamic"
    assert session["tags"] == {}
    assert session["status"]["session"]["start_time"] == "2027-01-15T08:01:10"
    cfs.step(60)
    assert len(sessions(cfs)) == 1


def test_a_full_batch_goes_at_the_next_round(cfs: Cfs) -> None:
    option(cfs, batch_size=2)
    nodes = cfs.nodes()[:5]
    cfs.set_desired("c", *nodes)
    cfs.step(9)
    assert sessions(cfs) == []
    cfs.step(1)
    assert limits(cfs) == [nodes[0:2], nodes[2:4]]
    cfs.step(60)
    assert limits(cfs)[2:] == [nodes[4:5]]


def test_latecomers_join_a_batch_that_has_room(cfs: Cfs) -> None:
    cfs.set_desired("c", NODE)
    cfs.step(30)
    cfs.set_desired("c", OTHER)
    cfs.step(40)
    assert limits(cfs) == [[NODE, OTHER]]


def test_nothing_waits_on_an_idle_machine(cfs: Cfs) -> None:
    assert cfs.plans() == []
    cfs.set_desired("c", NODE)
    assert cfs.plans() == ["cfs.batcher"]
    cfs.step(70)
    (session,) = sessions(cfs)
    cfs.apply(session["name"], [NODE])
    cfs.end(session["name"])
    option(cfs, session_ttl="")
    cfs.step(10)
    cfs.step(8 * 86400)
    assert cfs.plans() == []
    assert cfs.status(NODE) == "configured"
    assert len(sessions(cfs)) == 1


def test_only_the_same_work_goes_together(cfs: Cfs) -> None:
    cfs.configure("d", "one")
    half, failed = [node for node in cfs.nodes() if node not in (NODE, OTHER)][:2]
    cfs.set_desired("c", NODE, half, failed)
    cfs.set_desired("d", OTHER)
    layer = {"clone_url": URL.format("one"), "playbook": "site.yml", "commit": "a" * 40, "session_name": "s"}
    cfs.do("PATCH", f"/v3/components/{half}", {"state_append": layer})
    cfs.do("PATCH", f"/v3/components/{failed}", {"state_append": {**layer, "status": "failed"}, "error_count": 1})
    cfs.step(70)
    configurations = {session["ansible"]["limit"]: session["configuration"] for session in sessions(cfs)}
    assert configurations == {
        NODE: {"name": "c", "limit": "0,1"},
        OTHER: {"name": "d", "limit": "0"},
        half: {"name": "c", "limit": "1"},
        failed: {"name": "c", "limit": "0,1"},
    }


def test_disabled_components_and_a_disabled_batcher_wait(cfs: Cfs) -> None:
    cfs.set_desired("c", NODE, OTHER)
    cfs.do("PATCH", f"/v3/components/{OTHER}", {"enabled": False})
    option(cfs, batcher_disable=True)
    cfs.step(600)
    assert sessions(cfs) == []
    option(cfs, batcher_disable=False)
    cfs.step(70)
    assert limits(cfs) == [[NODE]]
    cfs.do("PATCH", f"/v3/components/{OTHER}", {"state": [], "enabled": True})
    cfs.step(70)
    assert limits(cfs) == [[NODE], [OTHER]]


def test_tags_that_all_have_are_those_of_the_session(cfs: Cfs) -> None:
    cfs.set_desired("c", NODE, OTHER)
    cfs.do("PATCH", f"/v3/components/{NODE}", {"tags": {"bos_session": "b", "mine": "1", "ours": "2"}})
    cfs.do("PATCH", f"/v3/components/{OTHER}", {"tags": {"bos_session": "b", "ours": "3"}})
    cfs.step(70)
    assert sessions(cfs)[0]["tags"] == {"bos_session": "b"}


def test_layers_that_a_good_session_left_out_are_skipped(cfs: Cfs) -> None:
    cfs.set_desired("c", NODE)
    cfs.step(70)
    (session,) = sessions(cfs)
    cfs.records.append_state([NODE], cfs.records.layers(session)[0], "applied", session["name"])
    cfs.end(session["name"])
    cfs.step(10)
    state = cfs.get(f"/v3/components/{NODE}?state_details=true")["state"]
    assert [(layer["status"], layer["session_name"]) for layer in state] == [
        ("applied", session["name"]),
        ("skipped", session["name"]),
    ]
    assert cfs.status(NODE) == "configured"


def test_a_new_desired_configuration_starts_again(cfs: Cfs) -> None:
    cfs.set_desired("c", NODE)
    cfs.step(70)
    cfs.configure("c", "one", "two", commit=NEW)
    cfs.end(cfs.runs.created[0])
    cfs.step(10)
    assert cfs.get(f"/v3/components/{NODE}?state_details=true")["state"] == []
    cfs.step(60)
    assert limits(cfs) == [[NODE], [NODE]]


def test_failures_outside_of_ansible_count_until_retries_are_used_up(cfs: Cfs) -> None:
    cfs.set_desired("c", NODE)
    for count in (1, 2, 3):
        cfs.step(70)
        assert len(cfs.runs.created) == count
        cfs.end(cfs.runs.created[-1], "false")
        cfs.step(10)
        record = cfs.get(f"/v3/components/{NODE}?state_details=true")
        assert record["error_count"] == count
        assert [layer["status"] for layer in record["state"]] == ["failed"]
    assert cfs.status(NODE) == "failed"
    option(cfs, session_ttl="")
    cfs.step(3600)
    assert len(cfs.runs.created) == 3


def test_failures_of_ansible_are_its_own_to_report(cfs: Cfs) -> None:
    cfs.set_desired("c", NODE, OTHER)
    cfs.step(70)
    (session,) = sessions(cfs)
    cfs.records.append_state([NODE], cfs.records.layers(session)[0], "failed", session["name"])
    cfs.end(session["name"], "false")
    cfs.step(10)
    assert cfs.get(f"/v3/components/{NODE}")["error_count"] == 1
    assert cfs.get(f"/v3/components/{OTHER}?state_details=true").items() >= {"error_count": 0, "state": []}.items()
    cfs.step(60)
    assert sorted(limits(cfs)[1:]) == [[NODE], [OTHER]]


def test_a_session_that_ended_somehow_is_a_failure_and_a_deleted_one_is_made_again(cfs: Cfs) -> None:
    cfs.set_desired("c", NODE)
    cfs.step(70)
    cfs.records.change_session(cfs.runs.created[0], status="complete", succeeded="unknown")
    cfs.step(10)
    assert cfs.get(f"/v3/components/{NODE}")["error_count"] == 1
    cfs.step(60)
    cfs.do("DELETE", f"/v3/sessions/{cfs.runs.created[1]}")
    cfs.step(70)
    assert len(cfs.runs.created) == 3
    assert cfs.get(f"/v3/components/{NODE}")["error_count"] == 1


def test_a_session_that_stays_pending_is_deleted(cfs: Cfs) -> None:
    cfs.set_desired("c", NODE)
    cfs.step(70)
    cfs.step(299)
    assert cfs.runs.deleted == []
    cfs.step(1)
    assert cfs.runs.deleted == cfs.runs.created[:1]
    cfs.step(60)
    assert len(cfs.runs.created) == 2
    cfs.records.change_session(cfs.runs.created[1], status="running")
    cfs.step(3600)
    assert len(cfs.runs.deleted) == 1


def test_after_twenty_failures_it_holds_back_longer_and_longer(cfs: Cfs) -> None:
    option(cfs, batch_window=0, batch_size=1, session_ttl="")
    cfs.do("PATCH", f"/v3/components/{NODE}", {"retry_policy": -1})
    cfs.set_desired("c", NODE)
    moments: list[float] = []
    while len(moments) < 24:
        count_before = len(cfs.runs.created)
        cfs.step(10)
        if len(cfs.runs.created) > count_before:
            moments.append(cfs.site.clock.now())
            cfs.end(cfs.runs.created[-1], "false")
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    # The back-off starts with the round that sees the twentieth failure, and grows with each later failure.
    assert gaps == [10.0] * 19 + [70.0, 130.0, 250.0, 490.0]
    option(cfs, batcher_max_backoff=100)
    cfs.step(110)
    good = cfs.runs.created[-1]
    assert good not in cfs.runs.created[:24]
    cfs.end(good)
    cfs.step(10)
    assert cfs.status(NODE) == "configured"
    cfs.set_desired("c", OTHER)
    cfs.step(10)
    assert limits(cfs)[-1] == [OTHER]


def test_its_sessions_survive_a_reopening(cfs: Cfs) -> None:
    cfs.set_desired("c", NODE)
    cfs.step(70)
    name = cfs.runs.created[0]
    cfs.set_desired("c", OTHER)
    cfs.step(30)
    reopened_cfs = cfs.reopened()
    reopened_cfs.end(name, "false")
    reopened_cfs.step(40)
    assert reopened_cfs.get(f"/v3/components/{NODE}")["error_count"] == 1
    assert limits(reopened_cfs) == [[OTHER]]
    assert reopened_cfs.runs.created[0] != name


def test_a_restart_loses_batches_and_finds_sessions_again(cfs: Cfs) -> None:
    cfs.set_desired("c", NODE)
    cfs.step(70)
    cfs.set_desired("c", OTHER)
    cfs.step(30)
    cfs.break_("service-restart", "cfs", seconds=25)
    cfs.step(60)
    assert len(cfs.runs.created) == 1
    cfs.step(30)
    assert limits(cfs) == [[NODE], [OTHER]]
    cfs.end(cfs.runs.created[0])
    cfs.step(10)
    assert cfs.status(NODE) == "configured"


def test_when_the_api_does_not_answer_it_tries_again(cfs: Cfs) -> None:
    cfs.set_desired("c", NODE)
    fault = cfs.break_("server-error", "cfs")
    cfs.step(200)
    assert cfs.runs.created == []
    cfs.site.clear_fault(fault)
    cfs.step(10)
    assert limits(cfs) == [[NODE]]


def test_a_lost_answer_makes_two_sessions(cfs: Cfs) -> None:
    cfs.set_desired("c", NODE)
    cfs.step(65)
    fault = cfs.break_("lost-response", "cfs")
    cfs.step(5)
    cfs.site.clear_fault(fault)
    cfs.step(10)
    assert limits(cfs) == [[NODE], [NODE]]


def test_members_that_cannot_be_looked_at_keep_a_batch(cfs: Cfs) -> None:
    cfs.set_desired("c", NODE, OTHER)
    cfs.step(70)
    cfs.do("PUT", f"/v3/components/{NODE}", {"desired_config": "c"})
    cfs.end(cfs.runs.created[0], "false")
    cfs.step(100)
    assert cfs.get(f"/v3/components/{OTHER}")["error_count"] == 0
    cfs.do("PATCH", f"/v3/components/{NODE}", {"state": []})
    cfs.step(10)
    assert cfs.get(f"/v3/components/{OTHER}")["error_count"] == 1


def test_a_layer_that_cannot_be_compared_is_left(cfs: Cfs) -> None:
    cfs.set_desired("c", NODE, OTHER)
    cfs.do("PATCH", f"/v3/components/{NODE}", {"state_append": {"commit": "c"}})
    cfs.step(70)
    for name in cfs.runs.created:
        cfs.end(name, "false")
    cfs.step(10)
    assert [cfs.get(f"/v3/components/{xname}")["error_count"] for xname in (NODE, OTHER)] == [0, 1]


def test_a_component_that_cannot_be_shown_stops_it(cfs: Cfs) -> None:
    cfs.do("PUT", "/v3/components/x1", {"desired_config": ""})
    cfs.set_desired("c", NODE)
    cfs.step(200)
    assert cfs.runs.created == []
    cfs.do("DELETE", "/v3/components/x1")
    cfs.step(70)
    assert limits(cfs) == [[NODE]]
