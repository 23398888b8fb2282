"""Power caps of every kind of node: several controls on liquid-cooled blades, one control in racks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from csm_emulator.site import Site
from power_client import Pcs
from service_client import Service, open_site

NODE = "Node Power Limit"
GPUS = [f"Accelerator{number} Power Limit" for number in range(4)]
HOPPER, MI250X, SERVER, APOLLO, GIGABYTE = (
    "x1100c0s0b0n0",
    "x1200c2s0b0n0",
    "x3001c0s1b0n0",
    "x3001c0s10b0n0",
    "x3001c0s28b1n0",
)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = open_site(tmp_path_factory.mktemp("caps") / "alps-mini.state", "alps-mini")
    yield site
    site.state_file.close()


@pytest.fixture
def pcs(machine: Site) -> Iterator[Pcs]:
    yield Pcs(machine)
    for part in machine.machine.parts("Node"):
        machine.machine.caps._table.pop(part.xname, None)


def task(pcs: Pcs, method: str, path: str, body: Any) -> dict[str, Any]:
    identity = pcs.ask(method, path, body).json()["taskID"]
    pcs.site.step(1.0)
    record = dict(pcs.ask("GET", f"/power-cap/{identity}").json())
    assert record["taskStatus"] == "completed"
    return record


def snapshot(pcs: Pcs, *names: str) -> dict[str, Any]:
    return task(pcs, "POST", "/power-cap/snapshot", {"xnames": list(names)})


def patch(pcs: Pcs, xname: str, controls: dict[str, int]) -> dict[str, Any]:
    limits = [{"name": name, "value": value} for name, value in controls.items()]
    return task(pcs, "PATCH", "/power-cap", {"components": [{"xname": xname, "controls": limits}]})


def limits_of(record: dict[str, Any]) -> dict[str, tuple[int, int, int]]:
    (component,) = record["components"]
    return {
        limit["name"]: (limit["currentValue"], limit["minimumValue"], limit["maximumValue"])
        for limit in component["powerCapLimits"]
    }


@pytest.mark.parametrize(
    ("node", "limits", "accelerators"),
    [
        ("x1000c0s0b0n0", (350, 925), None),
        ("x9000c1s0b0n0", (400, 1230), None),
        (HOPPER, (900, 2960), (200, 660)),
        ("x1200c0s0b0n0", (900, 2800), (200, 550)),
        (MI250X, (764, 2754), (100, 560)),
        ("x1200c2s4b0n0", (595, 1985), (100, 400)),
    ],
)
def test_a_snapshot_of_a_blade_has_a_task_for_each_control(
    pcs: Pcs, node: str, limits: tuple[int, int], accelerators: tuple[int, int] | None
) -> None:
    record = snapshot(pcs, node)
    names = [NODE, *(GPUS if accelerators else ())]
    assert (record["taskCounts"]["total"], record["taskCounts"]["succeeded"]) == (len(names), len(names))
    ranges = limits_of(record)
    assert set(ranges) == set(names)
    assert ranges[NODE] == (0, *limits)
    assert {ranges[name] for name in GPUS if name in ranges} == ({(0, *accelerators)} if accelerators else set())


def test_limits_of_the_node_are_shown_when_its_control_comes_first(pcs: Pcs) -> None:
    first = set()
    for _ in range(20):
        (component,) = snapshot(pcs, MI250X)["components"]
        leads = component["powerCapLimits"][0]["name"] == NODE
        assert ("limits" in component) is leads
        assert component.get("limits", {"hostLimitMax": 2754, "hostLimitMin": 764}) == {
            "hostLimitMax": 2754,
            "hostLimitMin": 764,
        }
        first.add(leads)
    assert first == {True, False}


def test_a_change_of_several_controls_is_one_task(pcs: Pcs) -> None:
    record = patch(pcs, MI250X, {NODE: 1500, **dict.fromkeys(GPUS, 300)})
    assert (record["taskCounts"]["total"], record["taskCounts"]["succeeded"]) == (1, 1)
    assert limits_of(record) == {NODE: (1500, 764, 2754), **dict.fromkeys(GPUS, (300, 100, 560))}
    assert limits_of(snapshot(pcs, MI250X)) == limits_of(record)
    patch(pcs, MI250X, {GPUS[2]: 0})
    assert limits_of(snapshot(pcs, MI250X))[GPUS[2]] == (0, 100, 560)
    assert limits_of(snapshot(pcs, MI250X))[GPUS[1]] == (300, 100, 560)


def test_values_out_of_range_are_errors_and_the_others_are_set(pcs: Pcs) -> None:
    record = patch(pcs, MI250X, {NODE: 1500, GPUS[0]: 99, "Warp": 1})
    (component,) = record["components"]
    assert (record["taskCounts"]["failed"], record["taskCounts"]["succeeded"]) == (1, 1)
    assert set(component["error"].split("; ")) == {
        "Skipping undefined control 'Warp'",
        f"Control ({GPUS[0]}) value (99) is less than minimum (100)",
    }
    assert limits_of(snapshot(pcs, MI250X)) == {NODE: (1500, 764, 2754), **dict.fromkeys(GPUS, (0, 100, 560))}


@pytest.mark.parametrize(
    ("node", "control", "most", "least"),
    [(SERVER, NODE, 800, None), (APOLLO, NODE, 3800, 1100), (GIGABYTE, "Chassis Power Control", None, None)],
)
def test_servers_in_racks_have_one_control(
    pcs: Pcs, node: str, control: str, most: int | None, least: int | None
) -> None:
    (component,) = snapshot(pcs, node)["components"]
    limits = {"hostLimitMax": most, "hostLimitMin": least}
    assert component["limits"] == {name: value for name, value in limits.items() if value is not None}
    expected = {"name": control, "currentValue": 0, "maximumValue": most, "minimumValue": least}
    assert component["powerCapLimits"] == [{name: value for name, value in expected.items() if value is not None}]
    patch(pcs, node, {control: 1200})
    assert snapshot(pcs, node)["components"][0]["powerCapLimits"][0]["currentValue"] == 1200


def test_hsm_has_the_controls_as_discovery_found_them(machine: Site) -> None:
    hsm = Service(machine, "smd", "/hsm/v2")
    info = hsm.get(f"/Inventory/ComponentEndpoints/{MI250X}")["RedfishSystemInfo"]
    assert info["PowerURL"] == "/redfish/v1/Chassis/Node0/Power"
    assert "PowerControl" not in info
    assert [control["Control"]["Name"] for control in info["Controls"]] == [NODE, *GPUS]
    assert info["Controls"][1] == {
        "URL": "/redfish/v1/Chassis/Node0/Controls/Accelerator0PowerLimit",
        "Control": {
            "ControlDelaySeconds": 6,
            "ControlMode": "Disabled",
            "ControlType": "Power",
            "Id": "Accelerator0PowerLimit",
            "Name": "Accelerator0 Power Limit",
            "PhysicalContext": "Accelerator",
            "SetPoint": 0,
            "SetPointUnits": "",
            "SettingRangeMax": 560,
            "SettingRangeMin": 100,
            "Status": {"Health": "OK"},
        },
    }
    server = hsm.get(f"/Inventory/ComponentEndpoints/{APOLLO}")["RedfishSystemInfo"]
    assert server["PowerURL"] == "/redfish/v1/Chassis/1/Power/AccPowerService/PowerLimit"
    assert server["PowerControl"][0]["OEM"]["HPE"]["PowerLimit"] == {"Min": 1100, "Max": 3800}


def test_what_was_not_discovered_cannot_be_capped(machine: Site, pcs: Pcs) -> None:
    hsm = Service(machine, "smd", "/hsm/v2")
    node = "x1200c2s5b0n0"
    assert hsm.ask("DELETE", f"/Inventory/ComponentEndpoints/{node}").status == 200
    assert snapshot(pcs, node)["components"] == [{"xname": node, "error": "Missing RfFQDN"}]


def test_capmc_has_the_same_controls(machine: Site, pcs: Pcs) -> None:
    capmc = Service(machine, "capmc", "/capmc/v1")
    place = machine.machine.place(HOPPER)
    assert place is not None
    hsm = Service(machine, "smd", "/hsm/v2")
    hsm.ask("PATCH", f"/State/Components/{HOPPER}/StateData", {"State": "Ready"})
    controls = [{"name": NODE, "val": 2000}, {"name": GPUS[3], "val": 400}]
    body = {"nids": [{"nid": place.nid, "controls": controls}]}
    assert capmc.ask("POST", "/set_power_cap", body).json() == {"e": 0, "err_msg": "", "nids": None}
    read = capmc.ask("POST", "/get_power_cap", {"nids": [place.nid]}).json()["nids"][0]["controls"]
    assert {control["name"]: control["val"] for control in read} == {
        NODE: 2000,
        **dict.fromkeys(GPUS[:3], 0),
        GPUS[3]: 400,
    }
    (group,) = capmc.ask("POST", "/get_power_cap_capabilities", {"nids": [place.nid]}).json()["groups"]
    assert [control["name"] for control in group["controls"]] == [NODE, *GPUS]
    assert (group["host_limit_max"], group["supply"], group["powerup"]) == (2960, 2960, 0)
    assert limits_of(snapshot(pcs, HOPPER))[GPUS[3]] == (400, 200, 660)
