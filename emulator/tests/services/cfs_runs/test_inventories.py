"""The hosts of a session, by its target."""

from __future__ import annotations

from service_client import Spy
from services.cfs_runs.lab import NODE, OTHER, THIRD, URL, Lab
from services.cfs_runs.playbooks import counts


def play(pattern: str, what: str = "ping:") -> str:
    return f"- hosts: {pattern}\n  gather_facts: false\n  tasks:\n    - {what}\n"


def test_groups_partitions_and_roles_of_hsm(lab: Lab) -> None:
    for label, member in (("gpu", NODE), ("class", OTHER), ("with-dash", THIRD)):
        assert lab.cfs.hsm("POST", "/groups", {"label": label, "members": {"ids": [member]}}).ok
    assert lab.cfs.hsm("POST", "/partitions", {"name": "p1", "members": {"ids": [THIRD]}}).ok
    names = ("gpu", "class", "with-dash", "p1", "Compute", "Management_Master")
    lab.configure("c", lab.layer("one", "".join(play(name, "debug: {msg: " + name + "}") for name in names)))
    for session, hosts in (("narrow", [NODE, OTHER, THIRD]), ("wide", [])):
        lab.run(session, "c", *hosts)
        parts = lab.text(session).split("PLAY [")
        sections = {part.partition("]")[0]: part for part in parts}
        assert f"ok: [{NODE}] " in sections["gpu"]
        assert f"ok: [{OTHER}] " not in sections["gpu"]
        assert "no hosts matched" in sections["class"], "a word of Python cannot be a group"
        assert "no hosts matched" in sections["with-dash"]
        assert f"ok: [{THIRD}] " in sections["p1"]
        assert f"ok: [{NODE}] " in sections["Compute"]
        warned = "Encountered an invalid Ansible group name. Ignoring HSM group with-dash"
        assert warned in lab.text(session, "inventory")
    assert "ok: [x3" in lab.text("wide").split("PLAY [Management_Master]")[1]


def test_a_batch_does_not_ask_for_the_whole_machine(lab: Lab) -> None:
    lab.configure("c", lab.layer("one"))
    spy = Spy(lab.site)
    assert lab.run("s", "c", NODE, OTHER) == "true"
    paths = [path for service, _, path, _ in spy.calls if service == "smd"]
    assert "/hsm/v2/memberships" in paths
    assert "/hsm/v2/groups" not in paths


def test_hosts_that_the_session_names(lab: Lab) -> None:
    lab.configure("c", lab.layer("one", play("mine")))
    groups = [{"name": "mine", "members": [NODE]}, {"name": "yours", "members": [OTHER]}]
    assert lab.run("s", "c", target={"definition": "spec", "groups": groups}) == "true"
    assert set(counts(lab.log("s"))) == {NODE}
    assert f'"{OTHER}": {{}}' in lab.text("s", "inventory")
    groups = [{"name": "mine", "members": [NODE, "unknown-host"]}]
    assert lab.run("t", "c", target={"definition": "spec", "groups": groups}) == "false"
    assert "fatal: [unknown-host]: UNREACHABLE!" in lab.text("t")


def test_hosts_of_a_repository(lab: Lab) -> None:
    hosts = {
        "hosts.ini": f"[front]\n{NODE} kind=a\n\n[front:vars]\nword=first\n\n[all_of:children]\nfront\nback\n",
        "more.yml": f"back:\n  hosts:\n    {OTHER}: {{kind: b}}\n",
        "group_vars/back.yml": "word: second\n",
        "host_vars/" + OTHER + ".yaml": "mine: true\n",
        "notes.txt": "[all_of]\nnobody\n",
        "broken.yml": "a: [b\n",
    }
    commit = lab.repository("hosts", hosts)
    playbook = play("all_of", "debug: {msg: '{{ kind }} {{ word }} {{ mine | default(false) }}'}")
    lab.configure(
        "c", lab.layer("one", playbook), additional_inventory={"clone_url": URL.format("hosts"), "commit": commit}
    )
    assert lab.run("s", "c", target={"definition": "repo"}) == "true"
    assert '"msg": "a first False"' in lab.text("s")
    assert '"msg": "b second True"' in lab.text("s")
    assert URL.format("hosts") in lab.text("s", "git-clone")


def test_a_repo_target_without_an_inventory_repository(lab: Lab) -> None:
    lab.configure("c", lab.layer("one"))
    assert lab.run("s", "c", target={"definition": "repo"}) == "false"
    assert "An unknown exception occurred: [Errno 2] No such file or directory: '/inventory/hosts'" in lab.text(
        "s", "inventory"
    )
    assert lab.log("s") == ["Waiting for Inventory", "Inventory generation failed. Exiting"]


def test_hsm_is_away_for_a_while_and_for_good(lab: Lab) -> None:
    lab.configure("c", lab.layer("one"))
    fault = lab.cfs.break_("server-error", "smd")
    lab.start("s", "c", NODE)
    lab.site.step(60)
    assert lab.log("s") == ["Waiting for Inventory"]
    lab.site.clear_fault(fault)
    assert lab.finish("s") == "true"
    lab.cfs.break_("server-error", "smd")
    assert lab.run("t", "c", NODE) == "false"
    assert "Encountered an unknown exception getting groups data: 503 Server Error" in lab.text("t", "inventory")
    assert "Dynamic inventory found a total of 0 groups" in lab.text("t", "inventory")
