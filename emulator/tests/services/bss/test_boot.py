"""Nodes boot with the scripts of BSS, and BSS's history shows it."""

from __future__ import annotations

import pytest

from csm_emulator.site import Site
from csm_emulator.transport.call import Call
from service_client import Service

LONG_ENOUGH = 600.0


@pytest.fixture
def bss(tiny: Site) -> Service:
    return Service(tiny, "bss", "/boot/v1")


def a_node(site: Site) -> str:
    return next(part.xname for part in site.machine.parts("Node") if part.xname in site.machine.topology.running)


def restart(site: Site, node: str) -> None:
    site.machine.power.reset(node, "ForceOff", "test")
    site.step(30.0)
    site.machine.power.reset(node, "On", "test")


def test_every_node_of_a_machine_has_something_to_boot(bss: Service, tiny: Site) -> None:
    for part in tiny.machine.parts("Node"):
        script = bss.ask("GET", f"/bootscript?name={part.xname}").body.decode()
        assert "\nkernel --name kernel http://rgw-vip.nmn/boot-images/" in script
        assert f" xname={part.xname} " in script


def test_an_empty_machine_has_an_empty_bss(site: Site) -> None:
    bss = Service(site, "bss", "/boot/v1")
    assert bss.get("/bootparameters") is None
    assert bss.get("/dumpstate") == {"Components": [], "Params": None}


def test_a_node_boots_with_the_script_and_the_history_shows_it(bss: Service, tiny: Site) -> None:
    node = a_node(tiny)
    assert bss.get(f"/endpoint-history?name={node}") == []
    token = bss.ask("PUT", "/bootparameters", {"hosts": [node], "kernel": "http://k/vmlinuz", "params": "quiet"})
    began = int(tiny.clock.now())
    restart(tiny, node)
    tiny.step(LONG_ENOUGH)
    assert tiny.machine.boot.stage(node) == "up"
    record = tiny.machine.boot.record(node)
    assert record["kernel"] == "http://k/vmlinuz"
    assert record["parameters"].startswith("quiet xname=")
    assert f"bss_referral_token={dict(token.headers)['BSS-Referral-Token']}" in record["parameters"]
    assert "goto" not in record["parameters"]
    history = bss.get(f"/endpoint-history?name={node}")
    assert [access["endpoint"] for access in history] == ["bootscript"]
    assert began < history[0]["last_epoch"] <= int(tiny.clock.now())


def test_a_node_without_parameters_asks_again_until_it_has_some(bss: Service, tiny: Site) -> None:
    node = a_node(tiny)
    assert bss.ask("DELETE", "/bootparameters", {"hosts": [node]}).status == 200
    restart(tiny, node)
    tiny.step(LONG_ENOUGH)
    assert tiny.machine.boot.stage(node) == "pxe"
    script = bss.ask("GET", f"/bootscript?name={node}").body.decode()
    assert script.startswith("#!ipxe\nsleep 10\nchain https://api-gw-service-nmn.local/apis/bss/boot/v1/bootscript?")
    assert bss.get(f"/endpoint-history?name={node}&endpoint=bootscript")[0]["last_epoch"] == 0
    bss.ask("PUT", "/bootparameters", {"hosts": ["Default"], "kernel": "http://k/vmlinuz"})
    tiny.step(LONG_ENOUGH)
    assert tiny.machine.boot.stage(node) == "up"


def test_parameters_are_looked_for_by_name_then_role_then_default(bss: Service, tiny: Site) -> None:
    node = a_node(tiny)
    role = bss.get(f"/hosts?name={node}")[0]["Role"]
    for tag in ("Default", role):
        bss.ask("PUT", "/bootparameters", {"hosts": [tag], "kernel": f"http://k/{tag}"})
    own = bss.ask("GET", f"/bootscript?name={node}").body
    assert b"http://k/" not in own
    bss.ask("DELETE", "/bootparameters", {"hosts": [node]})
    assert f"http://k/{role} ".encode() in bss.ask("GET", f"/bootscript?name={node}").body
    bss.ask("DELETE", "/bootparameters", {"hosts": [role]})
    assert b"http://k/Default " in bss.ask("GET", f"/bootscript?name={node}").body


def test_a_node_is_found_by_mac_name_and_nid(bss: Service, tiny: Site) -> None:
    node = a_node(tiny)
    mac = next(nic.mac for nic in tiny.machine.nics(node) if nic.network == "NMN")
    nid = bss.get(f"/hosts?name={node}")[0]["NID"]
    for query in (f"mac={mac}", f"mac={mac.upper()}", f"name={node}", f"nid={nid}", f"nid={nid:#x}"):
        assert f" xname={node} nid={nid} ".encode() in bss.ask("GET", f"/bootscript?{query}").body


def test_cloud_init_knows_a_node_by_its_address(bss: Service, tiny: Site) -> None:
    node = a_node(tiny)
    address = next(nic.address for nic in tiny.machine.nics(node) if nic.network == "NMN")
    bss.ask("PATCH", "/bootparameters", {"hosts": [node], "cloud-init": {"user-data": {"runcmd": ["true"]}}})
    meta = tiny.ask("bss", Call("GET", "/meta-data", peer=address)).json()
    assert (meta["local-hostname"], meta["shasta-type"]) == (node, bss.get(f"/hosts?name={node}")[0]["Role"])
    assert meta["instance-id"].startswith(f"{node}-")
    user = tiny.ask("bss", Call("GET", "/user-data", peer=address))
    assert user.body.decode() == f'#cloud-config\nlocal-hostname: {node}\nruncmd:\n- "true"\n'
    home = tiny.ask("bss", Call("POST", "/phone-home", body=b'{"hostname": "h"}', peer=address))
    assert home.json()["hosts"] == [node]
    assert bss.get(f"/bootparameters?name={node}")[0]["cloud-init"]["phone-home"]["hostname"] == "h"
    stranger = tiny.ask("bss", Call("GET", "/meta-data", peer="192.0.2.1")).json()
    assert stranger["instance-id"].startswith("default-")


def test_a_node_that_hsm_forgot_is_unknown_after_bss_asks_again(bss: Service, tiny: Site) -> None:
    node = a_node(tiny)
    assert bss.ask("GET", f"/bootscript?name={node}").body.count(b"kernel") > 1
    bss.hsm("DELETE", f"/State/Components/{node}")
    assert bss.get(f"/hosts?name={node}")[0]["ID"] == node
    tiny.step(1.0)
    bss.ask("POST", "/hosts")
    assert bss.ask("GET", f"/hosts?name={node}").status == 404
