"""Whole sessions, with the emulated HSM, PCS, BSS, CFS, S3, IMS and nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from service_client import open_site, reopen
from services.bos.bos_client import BLUE, DOWN, DOWN_TOO, LOOK, UP, UP_TOO, Bos, StubbedServices


def kernel_parameters(bos: Bos, node: str) -> str:
    return str(bos.site.machine.boot.record(node)["parameters"])


def stages(bos: Bos) -> set[str]:
    return {bos.site.machine.boot.stage(node) for node in BLUE}


def test_a_boot(bos: Bos) -> None:
    bos.template(kernel_parameters="marked=yes", rootfs_provider="sbps")
    status = bos.run("boot")
    assert (
        status["percent_successful"],
        status["percent_failed"],
        status["managed_components_count"],
    ) == (100.0, 0.0, 4)
    assert stages(bos) == {"up"}
    for node in BLUE:
        component = bos.component_of(node)
        assert " marked=yes root=sbps-s3:s3://boot-images/" in kernel_parameters(bos, node)
        assert component["actual_state"]["boot_artifacts"] == component["desired_state"]["boot_artifacts"]
        assert component["actual_state"]["bss_token"] == component["desired_state"]["bss_token"]
        assert (component["enabled"], component["status"]["status"], component["error"]) == (False, "stable", "")


def test_a_second_boot_of_the_same_does_nothing_and_a_reboot_does(bos: Bos) -> None:
    bos.template()
    bos.run("boot")
    boots = {node: bos.site.machine.boot.record(node)["boots"] for node in BLUE}
    name = bos.session("boot")
    assert bos.finish(name) <= 3 * LOOK
    assert {node: bos.site.machine.boot.record(node)["boots"] for node in BLUE} == boots
    bos.run("reboot")
    assert {node: bos.site.machine.boot.record(node)["boots"] - boots[node] for node in BLUE} == dict.fromkeys(BLUE, 1)


def test_a_shutdown(bos: Bos) -> None:
    bos.template()
    bos.run("shutdown")
    assert stages(bos) == {"off"}
    assert "On" not in bos.orders(UP)


def test_configured_by_cfs(bos: Bos) -> None:
    url = "https://api-gw-service-nmn.local/vcs/cray/csm-config-management.git"
    layer = {"name": "l", "clone_url": url, "playbook": "site.yml", "branch": "main"}
    reply = bos.site.mesh.ask("cfs", "PUT", "/v3/configurations/c", {"layers": [layer]})
    assert reply.ok, reply.body
    bos.template(cfs="c", node_list=[DOWN, DOWN_TOO])
    name = bos.session("boot")
    statuses = set()
    while bos.state(name) != "complete":
        bos.step(LOOK)
        statuses.add(bos.status_of(DOWN))
    assert {"on_hold", "power_on_called", "configuring", "stable"} <= statuses
    component = bos.site.mesh.ask("cfs", "GET", f"/v3/components/{DOWN}").json()
    assert (component["desired_config"], component["configuration_status"], component["enabled"]) == (
        "c",
        "configured",
        True,
    )
    assert component["tags"]["bos_session"] == name
    assert bos.get(f"/sessions/{name}/status")["percent_successful"] == 100.0


def test_a_configuration_that_fails(bos: Bos) -> None:
    bos.break_("cfs-layer-fails", DOWN)
    url = "https://api-gw-service-nmn.local/vcs/cray/csm-config-management.git"
    layer = {"name": "l", "clone_url": url, "playbook": "site.yml", "branch": "main"}
    bos.site.mesh.ask("cfs", "PUT", "/v3/configurations/c", {"layers": [layer]})
    bos.template(cfs="c", node_list=[DOWN])
    status = bos.run("boot")
    assert status["percent_failed"] == 100.0
    assert status["error_summary"] == {"cfs configuration failed": {"count": 1, "list": DOWN}}


def test_a_node_that_never_starts(bos: Bos) -> None:
    bos.break_("no-power-on", DOWN)
    bos.template(node_list=[DOWN, DOWN_TOO])
    status = bos.run("boot")
    assert (status["percent_successful"], status["percent_failed"]) == (50.0, 50.0)
    component = bos.component_of(DOWN)
    assert component["event_stats"]["power_on_attempts"] == 3
    assert component["last_action"] == {**component["last_action"], "action": "powering_on", "failed": True}
    assert status["error_summary"] == {
        "The retry limit has been hit for this component, but no services have reported specific errors": {
            "count": 1,
            "list": DOWN,
        }
    }


def test_a_boot_that_hangs_once_is_begun_again(bos: Bos) -> None:
    fault = bos.break_("boot-hangs", DOWN, stage="kernel")
    bos.template(node_list=[DOWN])
    name = bos.session("boot")
    bos.step(1100)
    assert bos.status_of(DOWN) == "power_on_called"
    bos.site.clear_fault(fault)
    bos.step(600)
    assert "ForceOff" in bos.orders(DOWN) or "GracefulShutdown" in bos.orders(DOWN)
    bos.finish(name)
    assert bos.site.machine.boot.stage(DOWN) == "up"
    assert bos.get(f"/sessions/{name}/status")["percent_successful"] == 100.0


@pytest.mark.parametrize("service", ["bos", "pcs", "cfs", "bss", "smd"])
def test_a_service_that_restarts_on_the_way(bos: Bos, service: str) -> None:
    bos.template()
    name = bos.session("reboot")
    bos.step(40)
    bos.break_("service-restart", service, seconds=60)
    bos.step(61)
    bos.finish(name)
    assert bos.get(f"/sessions/{name}/status")["percent_successful"] == 100.0
    assert stages(bos) == {"up"}


def test_everything_survives_a_restart_of_the_emulator(bos: Bos) -> None:
    """The state is stored and read again after every round."""
    bos.template()
    name = bos.session("reboot")
    for _ in range(12):
        bos.step(LOOK)
        bos = Bos(reopen(bos.site))
    assert bos.state(name) == "running"
    bos.finish(name)
    assert bos.get(f"/sessions/{name}/status")["percent_successful"] == 100.0


def test_a_restart_changes_nothing(tmp_path: Path) -> None:
    """The same steps have the same result with and without restarts between them."""
    outcomes = []
    for closed in (False, True):
        bos = Bos(open_site(tmp_path / f"closed-{closed}"))
        bos.template()
        name = bos.session("reboot")
        for _ in range(10):
            bos.step(30)
            bos = Bos(reopen(bos.site)) if closed else bos
        outcomes.append((bos.get("/components"), bos.session_of(name)))
        bos.site.state_file.close()
    assert outcomes[0] == outcomes[1]


def test_staged_and_applied(bos: Bos) -> None:
    bos.template(node_list=[DOWN, UP])
    name = bos.session("reboot", stage=True)
    bos.step(LOOK)
    component = bos.component_of(DOWN)
    assert (component["staged_state"]["session"], component["enabled"]) == (name, False)
    status = bos.get(f"/sessions/{name}/status")
    assert (status["percent_staged"], status["managed_components_count"]) == (100.0, 2)
    bos.step(10 * LOOK)
    assert bos.state(name) == "running"
    applied = bos.do("POST", "/applystaged", {"xnames": [DOWN, UP_TOO, "missing"]})
    assert applied == {"succeeded": [DOWN], "failed": [], "ignored": [UP_TOO, "missing"]}
    component = bos.component_of(DOWN)
    assert (component["session"], component["enabled"]) == (name, True)
    assert component["last_action"]["action"] == "apply_staged"
    assert component["desired_state"]["boot_artifacts"] == component["staged_state"]["boot_artifacts"]
    bos.step(1500)
    assert bos.site.machine.boot.stage(DOWN) == "up"
    assert bos.status_of(DOWN) == "stable"
    assert bos.state(name) == "running"


def test_clearing_what_was_staged_ends_the_session(bos: Bos) -> None:
    bos.options(clear_stage=True)
    bos.template(node_list=[DOWN])
    name = bos.session("boot", stage=True)
    bos.step(LOOK)
    assert bos.do("POST", "/applystaged", {"xnames": [DOWN]})["succeeded"] == [DOWN]
    assert not any(bos.component_of(DOWN)["staged_state"]["boot_artifacts"].values())
    bos.finish(name)
    assert bos.site.machine.boot.stage(DOWN) == "up"


def test_what_is_staged_without_its_session(bos: Bos) -> None:
    bos.template(node_list=[DOWN])
    name = bos.session("boot", stage=True)
    bos.step(LOOK)
    bos.do("DELETE", f"/sessions/{name}")
    assert bos.do("POST", "/applystaged", {"xnames": [DOWN]})["failed"] == [DOWN]
    component = bos.component_of(DOWN)
    assert component["error"] == f"Staged session no longer exists (session: {name}, tenant: )"
    assert (component["enabled"], component["session"]) == (False, name)


def test_what_is_staged_has_to_fit_the_operation(bos: Bos) -> None:
    bos.template(node_list=[DOWN])
    off, on = bos.session("shutdown", stage=True, name="off"), bos.session("boot", stage=True, name="on")
    bos.patch(DOWN, staged_state={"session": off, "boot_artifacts": {"kernel": "k"}})
    bos.do("POST", "/applystaged", {"xnames": [DOWN]})
    assert bos.component_of(DOWN)["error"].startswith("Staged operation is shutdown but boot artifacts have been spec")
    bos.patch(DOWN, staged_state={"session": on, "boot_artifacts": {"kernel": ""}})
    bos.do("POST", "/applystaged", {"xnames": [DOWN]})
    assert bos.component_of(DOWN)["error"].startswith("Staged operation is boot but some boot artifacts have not been")


def test_a_session_that_takes_over_nodes_of_another_ends_it(bos: Bos) -> None:
    bos.template()
    first = bos.session("boot")
    bos.step(4 * LOOK)
    second = bos.session("shutdown")
    bos.step(2 * LOOK)
    assert bos.state(first) == "complete"
    bos.finish(second)
    assert stages(bos) == {"off"}


def test_few_questions_are_asked(bos: Bos, stubs: StubbedServices) -> None:
    bos.template()
    bos.finish(bos.session("reboot"))
    looks = 60
    assert len(stubs.requests("pcs", "POST", "/power-status")) <= looks
    assert len(stubs.requests("cfs", "GET")) <= looks
    assert len(stubs.requests("bss", "PUT")) <= 4
