"""The session-setup operator: the nodes of a session, and their desired state."""

from __future__ import annotations

from typing import Any

import pytest

from csm_emulator.clients.s3 import S3Client
from csm_emulator.seed_data.secrets import s3_keys
from services.bos.bos_client import BLUE, DOWN, DOWN_TOO, LOOK, OTHER, UP, UP_TOO, Bos, StubbedServices, tapms

GREEN = ("x1000c0s1b0n0", OTHER)
COMPUTE = (*BLUE, *GREEN, "x1000c0s1b1n0", "x1000c0s1b1n1")
NOTHING = "No nodes were found to act upon."


def set_up(bos: Bos, operation: str = "shutdown", **fields: Any) -> str:
    name = bos.session(operation, **fields)
    bos.step(LOOK)
    return name


def selected_nodes(bos: Bos, **fields: Any) -> set[str]:
    return set(bos.nodes_of(set_up(bos, **fields)))


def error(bos: Bos, name: str) -> Any:
    session = bos.session_of(name)
    assert session["status"]["status"] == "complete"
    assert session["status"]["end_time"]
    return session["status"]["error"]


def test_nodes_by_list_group_and_role(bos: Bos) -> None:
    bos.template(node_list=[UP])
    assert selected_nodes(bos) == {UP}
    bos.template(node_groups=["green", "missing"], node_list=[UP])
    assert selected_nodes(bos) == {UP, *GREEN}
    bos.template(node_roles_groups=["Compute", "Nothing"])
    assert selected_nodes(bos) == set(COMPUTE)
    bos.template(node_roles_groups=["Management_Master"])
    assert selected_nodes(bos) == {"x3000c0s1b0n0"}


@pytest.mark.parametrize(
    ("limit", "nodes"),
    [
        ("", set(COMPUTE)),
        (UP, {UP}),
        ("blue", set(BLUE)),
        (f"blue,{OTHER}", {*BLUE, OTHER}),
        (f"blue,!{UP}", set(BLUE) - {UP}),
        (f"blue,&{UP}", {UP}),
        ("blue,&green", set()),
        (f"all,!blue,!{OTHER}", set(COMPUTE) - set(BLUE) - {OTHER}),
        ("*", set(COMPUTE)),
        ("&all", set()),
        ("Compute,!green", set(COMPUTE) - set(GREEN)),
        ("unheard-of", set()),
    ],
)
def test_limits(bos: Bos, limit: str, nodes: set[str]) -> None:
    bos.template(node_roles_groups=["Compute"])
    name = set_up(bos, limit=limit)
    assert set(bos.nodes_of(name)) == nodes
    if not nodes:
        assert error(bos, name) == NOTHING


def test_a_limit_with_nothing_between_commas(bos: Bos) -> None:
    bos.template()
    assert error(bos, set_up(bos, limit=f"{UP},,{DOWN}")) == "IndexError: string index out of range\n"


def test_locked_nodes_are_left_out(bos: Bos) -> None:
    bos.hsm("POST", "/locks/lock", {"ComponentIDs": [UP]})
    bos.template()
    assert selected_nodes(bos) == {UP_TOO, DOWN, DOWN_TOO}


def test_disabled_nodes_are_left_out_unless_wanted(bos: Bos) -> None:
    bos.hsm("PATCH", f"/State/Components/{UP}/Enabled", {"Enabled": False})
    bos.template()
    assert selected_nodes(bos) == {UP_TOO, DOWN, DOWN_TOO}
    assert selected_nodes(bos, include_disabled=True) == set(BLUE)


def test_architecture(bos: Bos) -> None:
    bos.hsm("PATCH", "/State/Components/BulkArch", {"ComponentIDs": [UP], "Arch": "ARM"})
    bos.hsm("PATCH", "/State/Components/BulkArch", {"ComponentIDs": [DOWN], "Arch": "UNKNOWN"})
    architectures = {
        component["ID"]: component["Arch"]
        for component in bos.hsm("GET", "/State/Components?type=Node").json()["Components"]
    }
    bos.template()
    assert selected_nodes(bos) == {node for node in BLUE if architectures[node] in ("X86", "UNKNOWN")}
    bos.template(arch="Other")
    assert error(bos, set_up(bos)) == NOTHING


def test_the_desired_state_of_a_boot(bos: Bos) -> None:
    bos.template(
        cfs="common", kernel_parameters="quiet", rootfs_provider="sbps", rootfs_provider_passthrough="sbps:v1:x"
    )
    name = set_up(bos, "boot", limit=DOWN)
    component, image = bos.component_of(DOWN), bos.image()["id"]
    desired = component["desired_state"]
    base = f"s3://boot-images/{image}"
    assert (desired["boot_artifacts"]["kernel"], desired["boot_artifacts"]["initrd"]) == (
        f"{base}/kernel",
        f"{base}/initrd",
    )
    own = S3Client(bos.site.mesh, s3_keys(bos.site.random))
    parameters, head = own.get("boot-images", f"{image}/boot_parameters"), own.head("boot-images", f"{image}/rootfs")
    assert parameters is not None
    assert head is not None
    etag = head["etag"]
    assert desired["boot_artifacts"]["kernel_parameters"] == (
        f"{' '.join(parameters.decode().split())} quiet root=sbps-s3:{base}/rootfs:{etag}:sbps:v1:x"
        f" nmd_data=url={base}/rootfs,etag={etag} bos_update_frequency=4h"
    )
    assert desired["configuration"] == "common"
    assert (component["session"], component["enabled"]) == (name, True)
    assert component["last_action"]["action"] == "session_setup"
    assert bos.state(name) == "running"


def test_the_configuration_of_a_boot_set_goes_first_and_may_be_off(bos: Bos) -> None:
    bos.template(cfs="common")
    body = {"boot_sets": {"nodes": bos.boot_set(cfs={"configuration": "own"})}}
    bos.do("PATCH", "/sessiontemplates/t", body)
    set_up(bos, "boot", limit=UP)
    assert bos.component_of(UP)["desired_state"]["configuration"] == "own"
    bos.do("PATCH", "/sessiontemplates/t", {"enable_cfs": False})
    set_up(bos, "boot", limit=UP_TOO)
    assert bos.component_of(UP_TOO)["desired_state"]["configuration"] == ""


def test_a_root_that_bos_does_not_provide(bos: Bos) -> None:
    bos.template(rootfs_provider="cpss3")
    message = error(bos, set_up(bos, "boot"))
    start = "bos.operators.utils.rootfs.factory.ProviderNotImplemented: Unsupported rootfs_provider ('cpss3') specified"
    assert message.startswith(start)
    bos.template(rootfs_provider_passthrough="/dev/sda")
    set_up(bos, "boot", limit=UP)
    assert " root=::/dev/sda " in bos.component_of(UP)["desired_state"]["boot_artifacts"]["kernel_parameters"]


def test_a_shutdown_desires_nothing_and_a_reboot_clears_the_actual_state(bos: Bos) -> None:
    ran = {"kernel": "k", "kernel_parameters": "p", "initrd": "i"}
    for node in (UP, UP_TOO):
        bos.patch(node, actual_state={"boot_artifacts": ran}, desired_state={"boot_artifacts": ran})
    bos.template()
    set_up(bos, "shutdown", limit=UP)
    assert not any(bos.component_of(UP)["desired_state"]["boot_artifacts"].values())
    assert bos.component_of(UP)["actual_state"]["boot_artifacts"] == ran
    set_up(bos, "reboot", limit=UP_TOO)
    assert not any(bos.component_of(UP_TOO)["actual_state"]["boot_artifacts"].values())


def test_hsm_that_is_away_ends_the_session(bos: Bos, stubs: StubbedServices) -> None:
    bos.template()
    stubs.take_down("smd")
    assert error(bos, set_up(bos)) == (
        "bos.common.clients.hsm.exceptions.HWStateManagerException: Non-2XX response (503) to GET "
        "http://cray-smd/hsm/v2/groups; Service Unavailable no healthy upstream\n"
    )


def test_a_template_or_an_image_that_went(bos: Bos) -> None:
    bos.template()
    first, second = bos.session("shutdown"), bos.session("boot")
    S3Client(bos.site.mesh, s3_keys(bos.site.random)).delete("boot-images", f"{bos.image()['id']}/manifest.json")
    bos.step(LOOK)
    assert bos.state(first) == "running"
    assert "Unable to read manifest file" in error(bos, second)
    third = bos.session("shutdown")
    bos.do("DELETE", "/sessiontemplates/t")
    bos.step(LOOK)
    assert "Non-2XX response (404) to GET http://cray-bos/v2/sessiontemplates/t" in error(bos, third)


def test_nodes_that_bos_does_not_have_are_skipped(bos: Bos) -> None:
    bos.template(node_list=[UP, DOWN])
    bos.do("DELETE", f"/components/{UP}")
    assert selected_nodes(bos) == {DOWN}
    bos.do("DELETE", f"/components/{DOWN}")
    assert error(bos, set_up(bos)) == "All nodes found to act upon do not exist as BOS components"


def test_an_unknown_member_holds_up_every_session(bos: Bos) -> None:
    """The behaviour before CSM 1.7."""
    fault = bos.break_("bos-unknown-member", UP)
    assert bos.ask("GET", f"/components/{UP}").status == 404
    assert UP not in [component["id"] for component in bos.get("/components")]
    assert bos.refusal("PATCH", "/components", [{"id": UP, "error": "e"}])[0] == 404
    bos.template()
    stuck = bos.session("shutdown")
    bos.step(20 * LOOK)
    assert bos.state(stuck) == "pending"
    entries = [entry for entry in bos.site.log.after(0, 10_000) if entry["what"] == "bos-session-pending"]
    assert [(entry["target"], entry["cause"]) for entry in entries] == [(stuck, f"Component '{UP}' does not exist")]
    assert not any(component["enabled"] for component in bos.get("/components"))
    more_sessions = [bos.session("shutdown", limit=DOWN, name=f"other{number}") for number in range(8)]
    bos.step(2 * LOOK)
    assert any(bos.state(session) == "pending" for session in more_sessions)
    bos.site.clear_fault(fault)
    bos.step(LOOK)
    assert bos.state(stuck) == "running"
    assert all(bos.state(session) != "pending" for session in more_sessions)
    assert set(bos.nodes_of(stuck)) == set(BLUE)


def test_a_tenant_has_its_own_nodes_only(bos: Bos, stubs: StubbedServices) -> None:
    stubs.answer("tapms", tapms(blue=(UP, DOWN)))
    bos.template(tenant="blue", node_groups=["green"])
    name = bos.session("shutdown", tenant="blue")
    bos.template(name="u", tenant="blue")
    both = bos.session("shutdown", tenant="blue", template_name="u")
    bos.template(name="v", tenant="blue", node_list=[UP, UP_TOO])
    strange = bos.session("shutdown", tenant="blue", template_name="v")
    bos.step(LOOK)
    assert bos.session_of(name, "blue")["status"]["error"] == NOTHING
    assert set(bos.session_of(both, "blue")["components"].split(",")) == {UP, DOWN}
    assert bos.session_of(strange, "blue")["status"]["error"] == (
        "The session template includes nodes which do not exist or are not available to this tenant: " + UP_TOO
    )


def test_a_tenant_that_went(bos: Bos, stubs: StubbedServices) -> None:
    stubs.answer("tapms", tapms(blue=(UP,)))
    bos.template(tenant="blue")
    name = bos.session("shutdown", tenant="blue")
    stubs.answer("tapms", tapms())
    bos.step(LOOK)
    assert bos.session_of(name, "blue")["status"]["error"] == "Data not found for tenant blue"
