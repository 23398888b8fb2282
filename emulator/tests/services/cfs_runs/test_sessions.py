"""A session from its record to its end, as clients and the cluster see it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from csm_emulator.site import Site
from service_client import MOMENT, Spy
from services.cfs_runs.lab import NODE, OFF, OTHER, PLAYBOOK, THIRD, URL, Lab
from services.cfs_runs.playbooks import count_task_lines, counts

BREAKS = "- hosts: all\n  tasks:\n    - name: Break\n      command: /bin/false\n"


def test_from_pending_to_complete(lab: Lab) -> None:
    lab.configure("c", lab.layer("one"))
    lab.start("s", "c", NODE, OTHER)
    assert lab.status("s") == {**lab.status("s"), "status": "pending", "succeeded": "none", "job": None}
    lab.site.step(2)
    job = lab.status("s")["job"]
    assert job.startswith("cfs-")
    assert lab.status("s")["status"] == "pending"
    (pod,) = lab.pods("s")
    assert pod.owner == ("Job", job)
    assert pod.node == "ncn-m001", "the machine has no workers"
    assert pod.name.startswith(f"{job}-")
    assert pod.labels == {
        "aee": "s",
        "app.kubernetes.io/name": "cray-cfs-aee",
        "cfsession": "s",
        "cfsversion": "v3",
        "configuration": "c",
        "job-name": job,
        "batch.kubernetes.io/job-name": job,
        "controller-uid": pod.labels["controller-uid"],
        "batch.kubernetes.io/controller-uid": pod.labels["controller-uid"],
    }
    assert [(one.name, one.init) for one in pod.containers] == [
        ("git-clone", True),
        ("inventory", False),
        ("ansible", False),
        ("istio-proxy", False),
    ]
    moments: dict[str, float] = {}
    for _ in range(600):
        lab.site.step(1)
        moments.setdefault(lab.status("s")["status"], lab.now)
    assert moments["running"] % 30 == 0
    assert moments["complete"] % 30 == 0
    assert moments["running"] <= 32
    assert lab.status("s")["succeeded"] == "true"
    assert lab.pods("s")[0].phase == "Succeeded"
    (ended,) = {one.ended for one in lab.pods("s")[0].containers if one.name == "ansible"}
    assert ended is not None
    assert 0 <= MOMENT + moments["complete"] - ended <= 30
    assert 60 <= ended - MOMENT <= 240
    assert lab.status("s")["completion_time"].endswith(f":{int(ended) % 60:02}")


def test_jobs_are_on_workers_where_there_are_any(open_machine: Callable[[str], Site]) -> None:
    lab = Lab(open_machine("psi"))
    lab.configure("c", lab.layer("one"))
    names = [f"s{number}" for number in range(6)]
    for name in names:
        lab.start(name, "c")
    lab.site.step(2)
    nodes = {lab.pods(name)[0].node for name in names}
    assert nodes <= {"ncn-w001", "ncn-w002", "ncn-w003"}
    assert len(nodes) > 1


def test_what_the_containers_say(lab: Lab) -> None:
    layer = lab.layer("one")
    lab.configure("c", layer)
    assert lab.run("s", "c", NODE, OTHER) == "true"
    cloned = [line.rpartition(" - cray.cfs.clone - ")[2] for line in lab.log("s", "git-clone")]
    assert cloned == [
        "Starting CFS Clone",
        f"Successfully cloned repo {URL.format('one')}",
        f"Successfully checked out commit {layer['commit']} for repo {URL.format('one')}",
    ]
    assert "Inventory target=dynamic for cfsession=s" in lab.text("s", "inventory")
    assert "Dynamic inventory found a total of" in lab.text("s", "inventory")
    lines = lab.log("s")
    assert lines[:5] == [
        "Waiting for Inventory",
        "Inventory generation completed",
        "SSH keys migrated to /root/.ssh",
        "Sidecar available",
        f"Running site.yml from repo {URL.format('one')}",
    ]
    assert lines[-1] == "All playbooks completed successfully"
    recap = {host: {key: mine[key] for key in count_task_lines(lines)[host]} for host, mine in counts(lines).items()}
    assert recap == count_task_lines(lines)
    assert set(recap) == {NODE, OTHER}


def test_components_hear_of_it(lab: Lab) -> None:
    lab.configure("c", lab.layer("one"), lab.layer("two"))
    assert lab.run("s", "c", NODE) == "true"
    assert lab.states(NODE) == [("one", "applied"), ("two", "applied")]
    assert lab.states(OTHER) == []
    assert counts(lab.log("s"))[NODE]["changed"] == 2
    assert lab.run("again", "c", NODE) == "true"
    assert counts(lab.log("again"))[NODE]["changed"] == 1, "the file is there already, a shell always changes"


def test_a_failing_task_ends_the_session(lab: Lab) -> None:
    lab.configure("c", lab.layer("one"), lab.layer("bad", BREAKS), lab.layer("never"))
    assert lab.run("s", "c", NODE, OTHER) == "false"
    assert lab.states(NODE) == [("one", "applied"), ("bad", "failed")]
    assert lab.errors(NODE) == 1
    assert lab.log("s")[-1] == f"Playbook site.yml from repo {URL.format('bad')} failed"
    assert lab.pods("s")[0].phase == "Failed"
    assert lab.pods("s")[0].container("ansible").code == 2  # type: ignore[union-attr]


def test_who_is_well_when_another_fails(lab: Lab) -> None:
    playbook = "- hosts: all\n  any_errors_fatal: {}\n  tasks:\n    - ping:\n    - fail:\n      when: "
    playbook += f"inventory_hostname == '{NODE}'\n    - ping:\n"
    lab.configure("goes-on", lab.layer("goes-on", playbook.replace("{}", "false")))
    lab.configure("ends", lab.layer("ends", playbook.replace("{}", "true")))
    assert lab.run("s1", "goes-on", NODE, OTHER) == "false"
    assert lab.run("s2", "ends", NODE, OTHER) == "false"
    assert lab.states(NODE) == [("goes-on", "failed"), ("ends", "failed")]
    assert lab.states(OTHER) == [("goes-on", "applied"), ("ends", "incomplete")]


def test_a_node_that_is_not_up(lab: Lab) -> None:
    lab.configure("c", lab.layer("one"))
    assert lab.run("s", "c", NODE, OFF) == "false"
    assert f"fatal: [{OFF}]: UNREACHABLE! => " in lab.text("s")
    assert (lab.states(NODE), lab.states(OFF)) == ([("one", "applied")], [("one", "failed")])
    assert lab.pods("s")[0].container("ansible").code == 4  # type: ignore[union-attr]


def test_a_node_that_falls_in_the_middle(lab: Lab) -> None:
    lab.configure("c", lab.layer("one", "- hosts: all\n  tasks:\n" + "    - file: {path: /x}\n" * 10))
    lab.start("s", "c", NODE, OTHER)
    lab.until_layer("s")
    lab.site.step(60)
    log_before = lab.log("s")
    assert f"changed: [{NODE}]" in log_before
    lab.site.machine.boot.begin_shutdown(NODE)
    assert lab.finish("s") == "false"
    lines = lab.log("s")
    assert lines[: len(log_before)] == log_before
    (place,) = [place for place, line in enumerate(lines) if line.startswith(f"fatal: [{NODE}]: UNREACHABLE!")]
    assert f"changed: [{NODE}]" not in lines[place:]
    assert counts(lines)[OTHER]["ok"] == 11
    assert 0 < counts(lines)[NODE]["ok"] < 11
    assert (lab.states(NODE), lab.states(OTHER)) == ([("one", "failed")], [("one", "applied")])


def test_the_fault_of_a_layer(lab: Lab) -> None:
    lab.configure("c", lab.layer("one"), lab.layer("two"))
    fault = lab.cfs.break_("cfs-layer-fails", NODE, layer="two", task="make")
    assert lab.run("s", "c", NODE, OTHER) == "false"
    assert lab.states(NODE) == [("one", "applied"), ("two", "failed")]
    assert lab.states(OTHER) == [("one", "applied"), ("two", "applied")]
    assert "fatal" not in lab.text("s").split(URL.format("two"))[0]
    assert f"fatal: [{NODE}]: FAILED! => " in lab.text("s").split("TASK [Make it]")[2].split("TASK")[0]
    lab.site.clear_fault(fault)
    lab.cfs.break_("cfs-layer-fails", NODE, layer="0", task="no such task")
    assert lab.run("well", "c", NODE, OTHER) == "true"
    lab.cfs.break_("cfs-layer-fails", NODE, layer=0)
    assert lab.run("number", "c", NODE, OTHER) == "false"
    assert ("one", "failed") in lab.states(NODE)


@pytest.mark.parametrize("stuck", ["s", "*"])
def test_a_session_that_stays_pending(lab: Lab, stuck: str) -> None:
    lab.configure("c", lab.layer("one"))
    lab.cfs.break_("cfs-session-stuck", stuck)
    lab.start("s", "c", NODE)
    lab.start("t", "c", NODE)
    lab.site.step(600)
    assert lab.status("s")["status"] == "pending"
    assert lab.status("s")["job"] is None
    assert lab.pods("s") == []
    assert lab.status("t")["status"] == ("pending" if stuck == "*" else "complete")


def test_a_commit_that_is_not_there(lab: Lab) -> None:
    lab.configure("c", {**lab.layer("one"), "commit": "0" * 40})
    assert lab.run("s", "c", NODE) == "false"
    output = lab.text("s", "git-clone")
    assert f"Exception checking out commit {'0' * 40} for repo {URL.format('one')}" in output
    assert f"stderr: 'fatal: reference is not a tree: {'0' * 40}'" in output
    (pod,) = lab.pods("s")
    assert (pod.phase, pod.container("ansible").state) == ("Failed", "waiting")  # type: ignore[union-attr]
    assert lab.states(NODE) == []
    assert lab.now < 120


@pytest.mark.parametrize("url", [URL.format("absent"), "https://github.com/cray/one.git", "nonsense"])
def test_a_repository_that_is_not_there_is_tried_for_ten_minutes(lab: Lab, url: str) -> None:
    lab.configure("c", {**lab.layer("one"), "clone_url": url})
    lab.start("s", "c", NODE)
    assert lab.finish("s", 540) == "running"
    assert lab.finish("s") == "false"
    assert lab.text("s", "git-clone").count("Cloning failed - Retrying") == 59
    assert "Cloning exceeded retry limit" in lab.text("s", "git-clone")


def test_vcs_comes_back_in_time(lab: Lab) -> None:
    lab.configure("c", lab.layer("one"))
    fault = lab.cfs.break_("server-error", "vcs")
    lab.start("s", "c", NODE)
    lab.site.step(120)
    assert "Cloning failed - Retrying" in lab.text("s", "git-clone")
    lab.site.clear_fault(fault)
    assert lab.finish("s") == "true"


def test_what_ansible_refuses(lab: Lab) -> None:
    lab.configure("c", lab.layer("one", "- hosts: all\n  tasks:\n    - nonsense: {}\n"))
    lab.configure("d", {**lab.layer("two"), "playbook": "absent.yml"})
    assert lab.run("s", "c", NODE) == "false"
    assert "ERROR! couldn't resolve module/action 'nonsense'." in lab.text("s")
    assert "The error appears to be in '/etc/ansible/layer0/site.yml': line 3, column 7, but may" in lab.text("s")
    assert "PLAY" not in lab.text("s")
    assert lab.run("t", "d", NODE) == "false"
    assert "ERROR! the playbook: /etc/ansible/layer0/absent.yml could not be found" in lab.text("t")
    assert (lab.states(NODE), lab.errors(NODE)) == ([], 0)


@pytest.mark.parametrize(("pod_first", "job"), [(False, True), (True, True), (True, False)])
def test_what_is_deleted_from_outside(lab: Lab, pod_first: bool, job: bool) -> None:
    lab.configure("c", lab.layer("one"))
    lab.start("s", "c", NODE)
    lab.until_layer("s")
    (pod,) = lab.pods("s")
    if pod_first:
        lab.site.context.cluster.delete_pod("services", pod.name)
    if job:
        lab.site.context.cluster.delete_job("services", lab.status("s")["job"])
    ended = "unknown" if job else "false"
    assert lab.finish("s", 60) == ended
    assert (lab.status("s")["completion_time"] is None) == job
    lab.site.step(600)
    assert lab.status("s")["succeeded"] == ended
    assert lab.states(NODE) == []
    lab.do("DELETE", "/sessions/s")
    assert list(lab.site.context.cluster.jobs_without_pods()) == []


def test_a_pod_that_is_deleted_after_its_work_changes_nothing(lab: Lab) -> None:
    lab.configure("c", lab.layer("one"))
    assert lab.run("s", "c", NODE) == "true"
    (pod,) = lab.pods("s")
    lab.site.context.cluster.delete_pod("services", pod.name)
    lab.site.step(600)
    assert lab.status("s")["succeeded"] == "true"


def test_a_session_that_is_deleted(lab: Lab) -> None:
    lab.configure("c", lab.layer("one"))
    lab.start("s", "c", NODE)
    lab.until_layer("s")
    lab.do("DELETE", "/sessions/s")
    assert lab.pods("s") == []
    lab.site.step(600)
    assert lab.states(NODE) == []
    assert lab.run("s", "c", NODE) == "true", "its name is free again"
    assert lab.states(NODE) == [("one", "applied")]
    lab.do("DELETE", "/sessions/s")
    assert lab.pods("s") == []


def test_nothing_is_due_when_nothing_runs(lab: Lab) -> None:
    lab.configure("c", lab.layer("one"))
    assert lab.run("s", "c", NODE) == "true"
    lab.site.step(60)
    kinds = {value[1] for value in lab.site.scheduler._table.values()}
    assert not {kind for kind in kinds if kind in ("cfs.operator-looks", "cfs.run-step", "cfs.session-heard")}


def test_layers_by_the_limit_of_the_configuration(lab: Lab) -> None:
    lab.configure("c", lab.layer("one"), lab.layer("two"), lab.layer("three"))
    assert lab.run("s", "c", NODE, configuration_limit="0,2") == "true"
    assert lab.states(NODE) == [("one", "applied"), ("three", "applied")]
    assert lab.run("t", "c", OTHER, configuration_limit="two") == "true"
    assert lab.states(OTHER) == [("two", "applied")]


def test_verbosity_and_what_is_passed_through(lab: Lab) -> None:
    playbook = "- hosts: all\n  gather_facts: false\n  tasks:\n    - name: A\n      command: thing {{ word }}\n"
    playbook += "      tags: a\n    - name: B\n      ping:\n"
    lab.configure("c", lab.layer("one", playbook))
    assert lab.run("s", "c", NODE, ansible_verbosity=1) == "true"
    assert "Using /etc/ansible/ansible.cfg as config file" in lab.log("s")
    assert '"cmd": ["thing", "{{", "word", "}}"]' in lab.text("s")
    assert lab.run("t", "c", OTHER, ansible_verbosity=1, ansible_passthrough="--tags a -e word=said") == "true"
    assert '"cmd": ["thing", "said"]' in lab.text("t")
    assert "TASK [B]" not in lab.text("t")
    assert (lab.states(NODE), lab.states(OTHER)) == ([("one", "applied")], [])


def test_playbooks_for_debugging(lab: Lab) -> None:
    for name, succeeded in (("fail", "false"), ("facts", "true"), ("noop", "true")):
        assert lab.run(name, f"debug_{name}", NODE, OTHER) == succeeded
        assert f"Running {name}.yaml from the debug playbooks" in lab.log(name)
    assert f'fatal: [{NODE} -> localhost]: FAILED! => {{"changed": false, "msg": "This is an intentional' in lab.text(
        "fail"
    )
    assert '"architecture": "x86_64"' in lab.text("facts")
    assert lab.states(NODE) == []


def test_time_to_look_after_a_failure(lab: Lab) -> None:
    lab.configure("c", lab.layer("bad", BREAKS))
    lab.do("PATCH", "/options", {"debug_wait_time": 1200})
    lab.start("s", "c", NODE, debug_on_failure=True)
    lab.start("t", "c", NODE, debug_on_failure=True)
    assert lab.finish("s", 600) == "running"
    assert "This session has failed and will remain running for 1200 seconds to allow debugging" in lab.log("s")
    (pod,) = lab.pods("s")
    lab.site.context.cluster.write_file("services", pod.name, "ansible", "/tmp/complete")  # noqa: S108 (of the container)
    assert lab.finish("s", 60) == "false"
    assert lab.status("t")["status"] == "running"
    assert lab.finish("t") == "false"


def test_the_batcher_brings_a_node_to_its_configuration(lab: Lab) -> None:
    lab.configure("c", lab.layer("one"))
    lab.do("PATCH", "/options", {"batcher_disable": False})
    for xname in (NODE, THIRD):
        lab.do("PATCH", f"/components/{xname}", {"desired_config": "c", "state": [], "enabled": True})
    lab.site.step(600)
    assert [lab.cfs.get(f"/components/{xname}")["configuration_status"] for xname in (NODE, THIRD)] == [
        "configured"
    ] * 2
    (session,) = lab.cfs.get("/sessions")["sessions"]
    assert session["name"].startswith("batcher-")
    assert session["status"]["session"]["succeeded"] == "true"


def test_a_configuration_that_goes_before_the_operator_looks(lab: Lab) -> None:
    lab.configure("c", lab.layer("one"))
    lab.start("s", "c", NODE)
    lab.do("DELETE", "/configurations/c")
    lab.site.step(60)
    assert lab.status("s")["job"] is None
    lab.configure("c", lab.layer("two"))
    assert lab.finish("s") == "true"


def test_each_file_is_read_once(lab: Lab) -> None:
    lab.configure(
        "c",
        lab.layer("one", PLAYBOOK.replace("tasks:", "roles: [r]\n  tasks:"), {"roles/r/tasks/main.yml": "- ping:\n"}),
    )
    spy = Spy(lab.site)
    for name in ("a", "b", "c"):
        lab.start(name, "c", NODE)
    assert lab.finish("c") == "true"
    raw = [path for service, _, path, _ in spy.calls if service == "vcs" and "/raw/" in path]
    assert len(raw) == len(set(raw)) >= 2


@pytest.mark.parametrize("limit", ["::!,&\u2603", "[", "x[999999999:]", "!all", "\ud800"])
def test_a_limit_without_hosts(lab: Lab, limit: str) -> None:
    lab.configure("c", lab.layer("one"))
    lab.start("s", "c", ansible_limit=limit)
    assert lab.finish("s") == "false"
    assert lab.log("s")[-2:] == [
        "ERROR! Specified hosts and/or --limit does not match any hosts",
        f"Playbook site.yml from repo {URL.format('one')} failed",
    ]
