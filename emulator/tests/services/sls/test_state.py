"""SLS's dump and load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from csm_emulator.site import Site
from service_client import GARBAGE, Service
from specs import SPECS

SAMPLES = sorted((SPECS / "samples").glob("*.json"))
FORM = {"content-type": "multipart/form-data; boundary=b"}


def form(content: bytes, about: str = 'name="sls_dump"; filename="dump.json"') -> bytes:
    head = f"--b\r\nContent-Disposition: form-data; {about}\r\n\r\n".encode()
    return head + content + b"\r\n--b--\r\n"


@pytest.fixture
def sls(site: Site) -> Service:
    return Service(site, "sls", "/v1")


def load(sls: Service, state: Any) -> int:
    return sls.ask("POST", "/loadstate", form(json.dumps(state).encode()), FORM).status


def user_fields(state: Any) -> Any:
    """The part of a dump that the site sets; the rest is computed from it."""
    hardware = {entry["Xname"]: (entry["Class"], entry.get("ExtraProperties")) for entry in state["Hardware"].values()}
    networks = {
        entry["Name"]: (entry["Type"], entry["FullName"], entry["IPRanges"], entry.get("ExtraProperties"))
        for entry in (state.get("Networks") or {}).values()
    }
    return hardware, networks


@pytest.mark.skipif(not SAMPLES, reason="LEFT OUT: no samples of SLS dumps (SPECS=../shared/specs)")
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_hpe_s_samples_come_back_equal(sls: Service, path: Path) -> None:
    state = json.loads(path.read_text())
    assert load(sls, state) == 204
    dump = sls.get("/dumpstate")
    assert user_fields(dump) == user_fields(state)
    assert load(sls, dump) == 204
    assert user_fields(sls.get("/dumpstate")) == user_fields(state)


def test_a_dump_of_a_machine_loads_into_an_empty_one(sls: Service, tiny: Site) -> None:
    dump = Service(tiny, "sls", "/v1").get("/dumpstate")
    assert dump["Hardware"]
    assert load(sls, dump) == 204
    assert sls.get("/dumpstate") == dump


def test_loading_replaces_everything(sls: Service) -> None:
    load(sls, {"Hardware": {"x0": {"Xname": "x0", "Class": "River"}}})
    load(sls, {"Hardware": {"x1": {"Xname": "X01", "Class": "River", "Parent": "nonsense"}}})
    assert [(entry["Xname"], entry["Parent"]) for entry in sls.get("/hardware")] == [("x1", "s0")]
    assert sls.get("/version")["Counter"] == 5


@pytest.mark.parametrize(
    ("entry", "detail"),
    [
        ({}, "Invalid xname: "),
        ({"Xname": "x1"}, "Missing Class field for x1"),
        ({"Xname": "x1", "Class": "river"}, "Invalid hardware data for x1. x1: Class value river is invalid"),
        ({"Xname": "p1", "Class": "River"}, "Invalid hardware data for p1. xname type is invalid"),
    ],
)
def test_one_bad_entry_refuses_all(sls: Service, entry: Any, detail: str) -> None:
    load(sls, {"Hardware": {"x0": {"Xname": "x0", "Class": "River"}}})
    dump_before = sls.get("/dumpstate")
    refused = sls.ask("POST", "/loadstate", form(json.dumps({"Hardware": {"a": entry}}).encode()), FORM)
    assert (refused.status, refused.json()["detail"]) == (400, detail)
    assert sls.get("/dumpstate") == dump_before


@pytest.mark.parametrize("body", GARBAGE)
def test_garbage_loads_nothing(sls: Service, body: bytes) -> None:
    assert sls.ask("POST", "/loadstate", body, FORM).status == 400
    assert sls.ask("POST", "/loadstate", form(body), FORM).status in (204, 400)
    assert sls.get("/dumpstate") == {"Hardware": {}, "Networks": {}}


def test_a_field_is_no_file(sls: Service) -> None:
    refused = sls.ask("POST", "/loadstate", form(b"{}", 'name="sls_dump"'), FORM)
    assert refused.json()["detail"] == "Unable to parse SLS dump form file"
