"""Snapshots, and their restoration."""

from __future__ import annotations

import pytest

from csm_emulator.site import Site
from service_client import BMC, Service

OLD, NEW = "nc.1.9.12-3", "nc.1.9.13-3"
ONE = {"stateComponentFilter": {"xnames": [BMC]}, "targetFilter": {"targets": ["BMC"]}}


@pytest.fixture
def fas(tiny: Site) -> Service:
    return Service(tiny, "fas", "")


def test_a_snapshot_is_ready_after_a_while(fas: Service) -> None:
    reply = fas.ask("POST", "/snapshots", {"name": "a", "inventoryHardwareFilter": {"manufacturer": "cray"}, **ONE})
    assert (reply.status, reply.json(), list(reply.headers)) == (201, {"name": "a"}, [("Location", "../snapshots/a")])
    assert fas.get("/snapshots/a")["ready"] is False
    fas.step(5.0)
    snapshot = fas.get("/snapshots/a")
    assert snapshot["ready"] is True
    assert snapshot["parameters"] == {"name": "a", "inventoryHardwareFilter": {"manufacturer": "cray"}, **ONE}
    (target,) = snapshot["devices"][0]["targets"]
    assert (target["name"], target["firmwareVersion"]) == ("BMC", OLD)
    assert fas.get(f"/images/{target['imageID']}")["firmwareVersion"] == OLD
    assert fas.refusal("POST", "/snapshots", {"name": "a"}) == (409, "Snapshot with same name already exists")
    assert fas.refusal("POST", "/snapshots", {}) == (400, "Name cannot be empty")
    assert fas.get("/snapshots")["snapshots"][0]["uniqueDeviceCount"] == 1
    assert fas.ask("DELETE", "/snapshots/a").status == 204
    assert fas.refusal("GET", "/snapshots/a") == (404, "Key /snapshots/a does not exist")


def test_a_snapshot_expires(fas: Service) -> None:
    fas.ask("POST", "/snapshots", {"name": "a", "expirationTime": "2027-01-15T08:10:00Z"})
    fas.ask("POST", "/snapshots", {"name": "b", "expirationTime": "tomorrow"})
    assert fas.get("/snapshots/a")["expirationTime"] == "2027-01-15 08:10:00 +0000 UTC"
    fas.step(599.0)
    assert len(fas.get("/snapshots")["snapshots"]) == 2
    fas.step(2501.0)
    assert [one["name"] for one in fas.get("/snapshots")["snapshots"]] == ["b"]


def test_the_way_back(fas: Service) -> None:
    fas.ask("POST", "/snapshots", {"name": "before", **ONE})
    fas.step(5.0)
    fas.ask("POST", "/actions", {**ONE, "command": {"overrideDryrun": True}})
    fas.step(900.0)
    fas.ask("POST", "/snapshots", {"name": "between", **ONE})
    fas.step(5.0)
    assert fas.get("/snapshots/between")["devices"][0]["targets"][0]["firmwareVersion"] == NEW
    assert fas.refusal("POST", "/snapshots/before/restore") == (400, "missing required parameter 'confirm'")
    assert fas.refusal("POST", "/snapshots/before/restore?confirm=yes&timeLimit=x")[0] == 400
    reply = fas.ask("POST", "/snapshots/before/restore?confirm=yes&overrideDryrun=true&timeLimit=1800")
    action = reply.json()["actionID"]
    assert (reply.status, list(reply.headers)) == (202, [("Location", f"../actions/{action}")])
    fas.step(900.0)
    assert fas.get(f"/actions/{action}/status")["operationCounts"]["succeeded"] == 1
    fas.ask("POST", "/snapshots", {"name": "after", **ONE})
    fas.step(5.0)
    assert fas.get("/snapshots/after")["devices"][0]["targets"][0]["firmwareVersion"] == OLD


def test_an_odd_name(fas: Service) -> None:
    reply = fas.ask("POST", "/snapshots", {"name": "ü\r\nX: 1\0"})
    assert reply.status == 201
    assert all(letter.isascii() and letter.isprintable() for letter in dict(reply.headers)["Location"])
    fas.step(5.0)
    assert len(fas.get("/snapshots")["snapshots"]) == 1
