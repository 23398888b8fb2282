"""SLS's hardware: creation, searches, and refused requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from csm_emulator.site import Site
from csm_emulator.transport.call import Call
from service_client import GARBAGE, Service, open_site, reopen

NODE = "x3000c0s1b0n0"


@pytest.fixture
def sls(site: Site) -> Service:
    return Service(site, "sls", "/v1")


def test_an_empty_machine_has_an_empty_sls(sls: Service) -> None:
    assert sls.ask("GET", "/hardware").body == b"null"
    assert sls.ask("GET", "/networks").body == b"null"
    assert sls.get("/dumpstate") == {"Hardware": {}, "Networks": {}}
    assert sls.get("/version")["Counter"] == 1


def test_what_is_put_in_comes_back_with_what_follows_from_its_name(sls: Service) -> None:
    extra = {"NID": 1, "Aliases": ["nid000001"], "deep": {"a": [1, None, 2.5]}}
    reply = sls.ask("POST", "/hardware", {"Xname": NODE, "Class": "River", "ExtraProperties": extra})
    assert (reply.status, reply.json()) == (201, {"code": 0, "message": "inserted new entry"})
    hardware = sls.get(f"/hardware/{NODE.upper()}")
    assert hardware == {
        "Parent": "x3000c0s1b0",
        "Xname": NODE,
        "Type": "comptype_node",
        "Class": "River",
        "TypeString": "Node",
        "LastUpdated": 1_800_000_000,
        "LastUpdatedTime": "2027-01-15 08:00:00 +0000 UTC",
        "ExtraProperties": extra,
    }
    assert sls.get("/hardware") == [hardware]
    assert sls.get("/search/hardware?extra_properties.NID=1&class=River") == [hardware]
    assert sls.get("/dumpstate")["Hardware"] == {NODE: hardware}


def test_children_are_computed(sls: Service) -> None:
    for name in ("x3000c0s10", "x3000c0s2", "x3000c0", "x3000", "x3000c0r1"):
        assert sls.ask("PUT", f"/hardware/{name}", {"Class": "River"}).status == 201
    assert sls.get("/hardware/x3000c0")["Children"] == ["x3000c0r1", "x3000c0s10", "x3000c0s2"]
    assert sls.ask("DELETE", "/hardware/x3000c0s10").status == 200
    assert sls.get("/hardware/x3000c0")["Children"] == ["x3000c0r1", "x3000c0s2"]
    assert sls.ask("DELETE", "/hardware/x3000").json()["message"] == "deleted entry and its descendants"
    assert sls.get("/hardware") is None


def test_a_name_twice_is_a_conflict_however_it_is_written(sls: Service) -> None:
    sls.ask("POST", "/hardware", {"Xname": NODE, "Class": "River"})
    for name in (NODE, "x3000c00s01b0n0"):
        refused = sls.ask("POST", "/hardware", {"Xname": name, "Class": "River"})
        assert (refused.status, refused.json()["detail"]) in (
            (409, "object already exists"),
            (400, "invalid Xname field"),
        )
    assert len(sls.get("/hardware")) == 1


def test_a_change_that_the_database_refuses_uses_up_a_version(sls: Service) -> None:
    body = {"Xname": "x1", "Class": "River", "ExtraProperties": {"a": "\0"}}
    assert sls.ask("POST", "/hardware", body).status == 500
    assert sls.get("/version")["Counter"] == 1
    assert sls.get("/hardware") is None
    sls.ask("POST", "/hardware", {"Xname": "x1", "Class": "River"})
    assert sls.get("/version")["Counter"] == 3


@pytest.mark.parametrize("body", GARBAGE)
@pytest.mark.parametrize(("method", "path"), [("POST", "/hardware"), ("PUT", "/hardware/x0"), ("POST", "/networks")])
def test_garbage_has_the_errors_of_sls(sls: Service, method: str, path: str, body: bytes) -> None:
    refused = sls.ask(method, path, body)
    assert refused.status == 400
    assert refused.media == "application/problem+json"
    assert refused.json()["title"] == "Bad Request"
    assert sls.get("/dumpstate") == {"Hardware": {}, "Networks": {}}


@pytest.mark.parametrize("value", [None, 1, 1.5, True, [], {}, ["River"], {"a": "b"}, "\0", "é" * 10_000])
@pytest.mark.parametrize("field", ["Xname", "Class"])
def test_wrong_types_are_refused(sls: Service, field: str, value: object) -> None:
    refused = sls.ask("POST", "/hardware", {"Xname": NODE, "Class": "River", field: value})
    assert refused.status == 400
    assert sls.get("/hardware") is None


def test_paths_that_are_not_quite_right(sls: Service) -> None:
    moved = sls.ask("GET", "/hardware/")
    assert (moved.status, dict(moved.headers)["Location"]) == (301, "/v1/hardware")
    assert sls.ask("DELETE", "/hardware").status == 404
    assert sls.ask("HEAD", "/hardware").status == 405
    assert sls.ask("PATCH", "/networks/HMN").status == 501


def test_the_search_is_as_postgresql_compares(sls: Service) -> None:
    sls.ask("POST", "/hardware", {"Xname": "x0", "Class": "River", "ExtraProperties": {"o": {"bb": 1, "a": [True]}}})
    assert [entry["Xname"] for entry in sls.get('/search/hardware?extra_properties.o={"a": [true], "bb": 1}')] == ["x0"]
    assert sls.ask("GET", "/search/hardware?extra_properties.o=bb&extra_properties.o=x").json()[0]["Xname"] == "x0"
    assert sls.ask("GET", "/search/hardware?class=Hill").body == b"null"


def test_a_search_by_nics_follows_changes(tiny: Site) -> None:
    sls = Service(tiny, "sls", "/v1")

    def ports_of(controller: str) -> list[str]:
        rows = sls.get(f"/search/hardware?node_nics={controller}") or []
        return [row["Xname"] for row in rows]

    port, row = next(
        (row["Xname"], row) for row in sls.get("/hardware") if "NodeNics" in row.get("ExtraProperties", {})
    )
    nic_before = row["ExtraProperties"]["NodeNics"][0]
    assert ports_of(nic_before) == [port]
    changed = {"Class": row["Class"], "ExtraProperties": {**row["ExtraProperties"], "NodeNics": ["x1c0s0b0"]}}
    assert sls.ask("PUT", f"/hardware/{port}", changed).status == 200
    assert (ports_of(nic_before), ports_of("x1c0s0b0")) == ([], [port])
    assert sls.ask("DELETE", f"/hardware/{port}").status == 200
    assert ports_of("x1c0s0b0") == []


def test_the_machine_s_own_hardware_is_there_and_can_be_changed(tiny: Site) -> None:
    sls = Service(tiny, "sls", "/v1")
    nodes = sls.get("/search/hardware?type=comptype_node")
    assert {node["Xname"] for node in nodes} == {part.xname for part in tiny.machine.parts("Node")}
    assert sls.get("/version")["Counter"] == 3
    name = nodes[0]["Xname"]
    sls.ask("PUT", f"/hardware/{name}", {"Class": "River", "ExtraProperties": {"NID": 7}})
    assert sls.get(f"/hardware/{name}")["ExtraProperties"] == {"NID": 7}
    assert tiny.ask("sls", Call("GET", f"/v1/hardware/{nodes[1]['Xname']}")).json() == nodes[1]


def test_everything_survives_a_restart(tmp_path: Path) -> None:
    site = open_site(tmp_path / "state")
    sls = Service(site, "sls", "/v1")
    sls.ask("POST", "/hardware", {"Xname": "x9c0s1b0n0", "Class": "River", "ExtraProperties": {"NID": 1}})
    sls.ask("PUT", "/networks/NEW", {"Type": "ethernet", "IPRanges": ["10.254.0.5/17"]})
    sls.ask("DELETE", "/hardware/x1000c0s0")
    site.step(5.0)
    dump_before = sls.get("/dumpstate"), sls.get("/version")
    reopened_sls = Service(reopen(site), "sls", "/v1")
    assert (reopened_sls.get("/dumpstate"), reopened_sls.get("/version")) == dump_before
    reopened_sls.site.state_file.close()
