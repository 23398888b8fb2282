"""Power operators: the requests to PCS, their frequency, and the handling of refusals."""

from __future__ import annotations

from typing import Any

import pytest

from csm_emulator.transport.call import JSON, Call, Reply
from services.bos.bos_client import DOWN, DOWN_TOO, LOOK, UP, UP_TOO, Bos, StubbedServices


def transitions(stubs: StubbedServices) -> list[tuple[str, list[str], int]]:
    return [
        (body["operation"], [location["xname"] for location in body["location"]], body["taskDeadlineMinutes"])
        for *_, body in stubs.requests("pcs", "POST", "/transitions")
    ]


def start(bos: Bos, operation: str = "boot", **fields: Any) -> str:
    """A session that has sent its first orders."""
    bos.template(rootfs_provider="sbps", **fields)
    name = bos.session(operation)
    bos.step(2 * LOOK)
    return name


def test_what_a_power_on_asks_for(bos: Bos, stubs: StubbedServices) -> None:
    name = start(bos, node_list=[DOWN, DOWN_TOO], cfs="")
    assert transitions(stubs) == [("On", [DOWN, DOWN_TOO], 1)]
    ((*_, entry),) = stubs.requests("bss", "PUT")
    desired = bos.component_of(DOWN)["desired_state"]
    artefacts = desired["boot_artifacts"]
    assert entry == {
        "hosts": [DOWN, DOWN_TOO],
        "kernel": artefacts["kernel"],
        "initrd": artefacts["initrd"],
        "params": artefacts["kernel_parameters"],
    }
    assert desired["bss_token"]
    ((*_, patch),) = stubs.requests("cfs", "PATCH")
    assert patch == {
        "patch": {"enabled": False, "desired_config": "", "tags": {"bos_session": name}, "state": []},
        "filters": {"ids": f"{DOWN},{DOWN_TOO}"},
    }
    image = bos.image()["id"]
    tag = {"operation": "set", "key": "sbps-project", "value": "true"}
    assert stubs.requests("ims", "PATCH") == [("ims", "PATCH", f"/v3/images/{image}", {"metadata": tag})]
    assert bos.image()["metadata"]["sbps-project"] == "true"
    component = bos.component_of(DOWN)
    assert component["event_stats"]["power_on_attempts"] == 1
    assert component["last_action"]["action"] == "powering_on"
    assert component["session"] == name


def test_one_entry_of_bss_for_each_set_of_artefacts(bos: Bos, stubs: StubbedServices) -> None:
    sets = {
        "a": bos.boot_set(node_list=[DOWN], kernel_parameters="one"),
        "b": bos.boot_set(node_list=[DOWN_TOO], kernel_parameters="two"),
    }
    bos.do("PUT", "/sessiontemplates/t", {"boot_sets": sets})
    bos.session()
    bos.step(2 * LOOK)
    assert sorted(body["hosts"] for *_, body in stubs.requests("bss", "PUT")) == [[DOWN], [DOWN_TOO]]
    tokens = {bos.component_of(node)["desired_state"]["bss_token"] for node in (DOWN, DOWN_TOO)}
    assert len(tokens) == 2
    assert len(transitions(stubs)) == 1
    assert stubs.requests("ims", "PATCH") == []


def test_work_is_done_in_batches(bos: Bos, stubs: StubbedServices) -> None:
    bos.options(max_component_batch_size=1)
    start(bos, node_list=[DOWN, DOWN_TOO])
    assert transitions(stubs) == [("On", [DOWN], 1), ("On", [DOWN_TOO], 1)]


def test_nodes_that_hsm_no_longer_has_are_left_alone(bos: Bos, stubs: StubbedServices) -> None:
    bos.template(node_list=[DOWN, DOWN_TOO])
    bos.session()
    bos.step(LOOK)
    bos.hsm("DELETE", f"/State/Components/{DOWN}")
    bos.step(LOOK)
    assert [nodes for _, nodes, _ in transitions(stubs)] == [[DOWN_TOO]]


@pytest.mark.parametrize(
    ("service", "error"),
    [
        (
            "cfs",
            "Error encountered setting CFS information: bos.common.clients.endpoints.exceptions.ApiResponseError: ",
        ),
        (
            "pcs",
            "Error encountered calling CAPMC to power on: bos.common.clients.pcs.exceptions.PowerControlException: ",
        ),
    ],
)
def test_a_refusal_is_stored_and_repeated(bos: Bos, stubs: StubbedServices, service: str, error: str) -> None:
    def refuse(call: Call) -> Reply | None:
        is_order = call.method == "PATCH" or call.path == "/transitions"
        return Reply(500, b'{\n "detail": "no"\n}\n', JSON) if is_order else None

    stubs.answer(service, refuse)
    start(bos, node_list=[DOWN])
    component = bos.component_of(DOWN)
    assert component["error"].startswith(error)
    assert 'Internal Server Error { "detail": "no" }' in component["error"]
    assert component["event_stats"]["power_on_attempts"] == 1
    stubs.restore(service)
    bos.step(120 + 2 * LOOK)
    component = bos.component_of(DOWN)
    assert (component["error"], component["event_stats"]["power_on_attempts"]) == ("", 2)


def test_unknown_images_are_logged_and_booted(bos: Bos, stubs: StubbedServices) -> None:
    stubs.answer("ims", lambda call: Reply(404, b"{}", JSON) if call.method == "PATCH" else None)
    start(bos, node_list=[DOWN])
    image = bos.image()["id"]
    assert bos.component_of(DOWN)["error"] == (
        f"bos.common.clients.ims.exceptions.ImageNotFound: IMS image id '{image}' does not exist in IMS\n"
    )
    assert len(transitions(stubs)) == 1


@pytest.mark.parametrize(
    ("kernel", "error"),
    [
        ("s3://boot-images/kernel", "Unable to extract IMS ID from kernel path: s3://boot-images/kernel"),
        (
            "s3://boot-images/deleted/x/kernel",
            "Kernel path appears to refer to soft-deleted IMS image: 's3://boot-images/deleted/x/kernel'",
        ),
    ],
)
def test_kernels_of_no_image(bos: Bos, stubs: StubbedServices, kernel: str, error: str) -> None:
    desired = {"kernel": kernel, "kernel_parameters": "root=sbps-s3:x", "initrd": "i"}
    bos.patch(DOWN, desired_state={"boot_artifacts": desired}, enabled=True)
    bos.step(LOOK)
    assert bos.component_of(DOWN)["error"] == error
    assert len(transitions(stubs)) == 1


def test_without_bss_nodes_are_started_with_what_they_had(bos: Bos, stubs: StubbedServices) -> None:
    stubs.take_down("bss")
    start(bos, node_list=[DOWN])
    assert len(transitions(stubs)) == 1
    assert not bos.component_of(DOWN)["desired_state"].get("bss_token")


def test_hsm_that_is_away_delays_the_power(bos: Bos, stubs: StubbedServices) -> None:
    bos.template(node_list=[DOWN])
    bos.session()
    bos.step(LOOK)
    stubs.take_down("smd")
    bos.step(4 * LOOK)
    assert (transitions(stubs), bos.status_of(DOWN)) == ([], "power_on_pending")
    stubs.restore("smd")
    bos.step(LOOK)
    assert len(transitions(stubs)) == 1


def test_off_is_asked_for_and_later_forced(bos: Bos, stubs: StubbedServices) -> None:
    stubs.answer("pcs", lambda call: Reply(200, b"{}", JSON) if call.path == "/transitions" else None)
    bos.template(node_list=[UP, UP_TOO])
    bos.session("shutdown")
    bos.step(2 * LOOK)
    assert transitions(stubs) == [("Soft-Off", [UP, UP_TOO], 1)]
    assert bos.status_of(UP) == "power_off_gracefully_called"
    bos.step(300 - LOOK)
    assert len(transitions(stubs)) == 1
    bos.step(2 * LOOK)
    assert transitions(stubs)[1:] == [("Force-Off", [UP, UP_TOO], 1)]
    assert bos.status_of(UP) == "power_off_forcefully_called"
    bos.step(4 * 300 + 10 * LOOK)
    assert [operation for operation, *_ in transitions(stubs)] == ["Soft-Off", *["Force-Off"] * 3]
    assert (bos.status_of(UP), bos.component_of(UP)["enabled"]) == ("failed", False)


def test_how_long_off_is_waited_for_is_an_option(bos: Bos, stubs: StubbedServices) -> None:
    stubs.answer("pcs", lambda call: Reply(200, b"{}", JSON) if call.path == "/transitions" else None)
    bos.options(max_power_off_wait_time=30)
    bos.template(node_list=[UP])
    bos.session("shutdown")
    bos.step(6 * LOOK)
    assert [operation for operation, *_ in transitions(stubs)][:2] == ["Soft-Off", "Force-Off"]


def test_the_configuration_operator_puts_right_what_cfs_has(bos: Bos, stubs: StubbedServices) -> None:
    """A client sets another configuration while the node boots."""
    runs = {"kernel": "k", "kernel_parameters": "p", "initrd": "i"}
    desired = {"boot_artifacts": runs, "configuration": "c"}
    bos.patch(UP, actual_state={"boot_artifacts": runs}, desired_state=desired, session="s")
    bos.patch(UP, enabled=True, session="s")
    bos.step(LOOK)
    request = {"patch": {"enabled": True, "desired_config": "c", "tags": {"bos_session": "s"}}, "filters": {"ids": UP}}
    assert [body for *_, body in stubs.requests("cfs", "PATCH")] == [request]
    assert bos.site.mesh.ask("cfs", "GET", f"/v3/components/{UP}").json()["desired_config"] == "c"


def test_a_reported_state_is_valid_for_four_hours(bos: Bos) -> None:
    bos.patch(UP, actual_state={"boot_artifacts": {"kernel": "k"}})
    bos.step(3 * 3600)
    bos.patch(UP_TOO, actual_state={"boot_artifacts": {"kernel": "k"}})
    bos.step(3600 - 1)
    assert bos.component_of(UP)["actual_state"]["boot_artifacts"]["kernel"] == "k"
    bos.step(LOOK + 2)
    component = bos.component_of(UP)
    assert not any(component["actual_state"]["boot_artifacts"].values())
    assert component["last_action"]["action"] == "actual_state_cleanup"
    assert bos.component_of(UP_TOO)["actual_state"]["boot_artifacts"]["kernel"] == "k"
    bos.options(component_actual_state_ttl="1h")
    bos.step(2 * LOOK)
    assert not any(bos.component_of(UP_TOO)["actual_state"]["boot_artifacts"].values())


def test_operators_ask_no_service_without_work(bos: Bos) -> None:
    bos.template()
    bos.get("/components")
    assert not _looks(bos)
    bos.patch(DOWN, enabled=True)
    assert _looks(bos)
    bos.step(300 + 3 * LOOK)
    assert not bos.component_of(DOWN)["enabled"]
    assert not _looks(bos)


def _looks(bos: Bos) -> list[Any]:
    return [entry for entry in bos.site.scheduler._table.values() if entry[1] == "bos.look"]
