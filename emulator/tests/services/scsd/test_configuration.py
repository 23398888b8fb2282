"""NTP, syslog and SSH keys of controllers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from csm_emulator.site import Site
from csm_emulator.transport.call import Reply
from service_client import BMC, BMC_TOO, GARBAGE, SERVER, Service, Spy, open_site, reopen

NTP = {"NTPServerInfo": {"NTPServers": ["a", "b"], "Port": 99}}
NO_TARGETS = "ERROR: Problem determining target architectures: ERROR: No valid targets.."


@pytest.fixture
def scsd(tiny: Site) -> Service:
    return Service(tiny, "scsd", "/v1")


def dump(scsd: Service, *targets: str, **more: Any) -> dict[str, dict[str, Any]]:
    body = {"Targets": targets, "Params": ["ntpserverinfo", "SSHKey"], **more}
    reply = scsd.ask("POST", "/bmc/dumpcfg", body)
    assert reply.status == 200, reply.body
    return {target["Xname"]: target for target in reply.json()["Targets"]}


def test_what_is_loaded_is_dumped(scsd: Service) -> None:
    reply = scsd.ask("POST", "/bmc/loadcfg", {"Targets": [BMC, BMC_TOO], "Params": {**NTP, "SSHKey": "key"}})
    assert reply.json() == {
        "Targets": [
            {"Xname": BMC, "StatusCode": 200, "StatusMsg": "OK"},
            {"Xname": BMC_TOO, "StatusCode": 200, "StatusMsg": "OK"},
        ]
    }
    expected = {"NTPServerInfo": {"NTPServers": ["a", "b"], "ProtocolEnabled": True, "Port": 99}, "SSHKey": "key"}
    assert dump(scsd, BMC)[BMC]["Params"] == expected
    assert scsd.get(f"/bmc/cfg/{BMC_TOO}?params=SSHKey NTPServerInfo") == {"Force": False, "Params": expected}
    assert dump(scsd, "x1000c0s1b0")["x1000c0s1b0"]["Params"]["NTPServerInfo"]["NTPServers"] == ["time-hmn"]


def test_a_long_key_of_many_targets_is_refused(scsd: Service) -> None:
    """A value in one request would be written to every target, or reported for each."""
    controllers = [f"x1000c0s{number}b0" for number in range(2)]
    long = {"Force": True, "Targets": controllers, "Params": {"SSHKey": "x" * 1_000_000}}
    assert scsd.ask("POST", "/bmc/loadcfg", {**long, "Targets": controllers * 100}).status == 200
    reply = scsd.ask("POST", "/bmc/dumpcfg", {"Force": True, "Targets": controllers * 100, "Params": ["SSHKey"]})
    assert (reply.status, "for all targets" in str(reply.body)) == (413, True)
    assert dump(scsd, *controllers).keys() == set(controllers)


def test_nothing_can_be_switched_off(scsd: Service) -> None:
    settings = {"NTPServerInfo": {"ProtocolEnabled": False}, "SSHKey": ""}
    scsd.ask("POST", f"/bmc/cfg/{BMC}", {"Params": settings})
    assert dump(scsd, BMC)[BMC]["Params"]["NTPServerInfo"]["ProtocolEnabled"] is True


def test_each_target_has_its_own_status(scsd: Service) -> None:
    scsd.break_("bmc-unreachable", BMC_TOO)
    dumped = dump(scsd, BMC, BMC_TOO, SERVER, "x9c0s0b0", "missing")
    assert {name: (entry["StatusCode"], entry["StatusMsg"]) for name, entry in dumped.items()} == {
        BMC: (200, "OK"),
        BMC_TOO: (415, f"Target '{BMC_TOO}' is COTS, not the correct type"),
        SERVER: (415, f"Target '{SERVER}' is COTS, not the correct type"),
        "x9c0s0b0": (422, "Target 'x9c0s0b0' in bad HSM state: Unknown"),
        "missing": (422, "Target 'missing' in bad HSM state: Unknown"),
    }


def test_a_group_stands_for_its_controllers(scsd: Service) -> None:
    group = scsd.hsm("POST", "/groups", {"label": "bmcs", "members": {"ids": [BMC, BMC_TOO]}})
    assert group.ok
    assert set(dump(scsd, "bmcs")) == {BMC, BMC_TOO}


def test_force_does_not_ask_hsm(scsd: Service) -> None:
    spy = Spy(scsd.site)
    spy.instead["smd"] = Reply(503)
    detail = "ERROR: Problem verifying target states: Bad return status from state manager: 503."
    assert scsd.refusal("POST", "/bmc/dumpcfg", {"Targets": [BMC], "Params": ["SSHKey"]}) == (500, detail)
    assert dump(scsd, f"{BMC}:443", Force=True)[f"{BMC}:443"]["StatusCode"] == 200
    assert scsd.get(f"/bmc/cfg/{BMC}?params=force")["Force"] is True


@pytest.mark.parametrize(
    ("path", "body", "refusal"),
    [
        ("/bmc/dumpcfg", {"Params": ["SSHKey"]}, (400, "ERROR: No targets in request.\n")),
        ("/bmc/dumpcfg", {"Targets": [BMC]}, (400, "ERROR: No parameters in request.\n")),
        ("/bmc/dumpcfg", {"Targets": ["x9c0s0b0"], "Params": ["a"]}, (500, NO_TARGETS)),
        ("/bmc/loadcfg", {"Targets": []}, (500, NO_TARGETS)),
        ("/bmc/loadcfg", {"Targets": [SERVER]}, (500, "ERROR: problem loading NWP data: ERROR: No valid targets.\n")),
        (f"/bmc/cfg/{SERVER}", {}, (500, "ERROR: Problem setting NWP data: ERROR: No valid targets.\n")),
    ],
)
def test_requests_without_valid_targets(scsd: Service, path: str, body: Any, refusal: tuple[int, str]) -> None:
    assert scsd.refusal("POST", path, body) == refusal


def test_type_errors_are_those_of_go(scsd: Service) -> None:
    status, detail = scsd.refusal("POST", "/bmc/loadcfg", {"Targets": "x"})
    assert status == 500
    assert detail == (
        "ERROR: problem unmarshalling request body: "
        "json: cannot unmarshal string into Go struct field loadCfgPost.Targets of type []string\n"
    )
    assert scsd.refusal("GET", f"/bmc/cfg/{BMC}?params=Nonsense") == (400, "ERROR: unknown parameter: 'Nonsense'")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("POST", f"/bmc/{name}") for name in ("dumpcfg", "loadcfg", f"cfg/{BMC}", "discreetcreds", "globalcreds")),
        *(
            ("POST", f"/bmc/{name}")
            for name in (f"creds/{BMC}", "createcerts", "deletecerts", "fetchcerts", "setcerts")
        ),
        *(("PATCH", f"/bmc/bios/{BMC}n0/tpmstate"), ("PATCH", "/params")),
    ],
)
def test_garbage_changes_nothing(site: Site, method: str, path: str) -> None:
    scsd = Service(site, "scsd", "/v1")
    params_before = scsd.get("/params")
    for body in GARBAGE:
        reply = scsd.ask(method, path, body)
        assert reply.status in (400, 422, 500) or (path == "/params" and reply.status == 200)
        assert scsd.get("/params") == params_before


def test_a_restart_keeps_what_is_on_the_controllers(tmp_path: Path) -> None:
    site = open_site(tmp_path / "state")
    Service(site, "scsd", "/v1").ask("POST", f"/bmc/cfg/{BMC}", {"Params": {"SSHConsoleKey": "k"}})
    reopened_scsd = Service(reopen(site), "scsd", "/v1")
    assert reopened_scsd.get(f"/bmc/cfg/{BMC}?params=SSHConsoleKey")["Params"] == {"SSHConsoleKey": "k"}
    reopened_scsd.site.state_file.close()


def test_about_itself(scsd: Service) -> None:
    assert scsd.get("/version") == {"Version": "1.23.0"}
    assert scsd.ask("GET", "/liveness").status == scsd.ask("GET", "/readiness").status == 204
    assert (
        scsd.ask("PATCH", "/params", {"LogLevel": "LOUD", "HTTPRetries": 2, "UUID": "9", "VaultEnable": False}).status
        == 200
    )
    params = scsd.get("/params")
    assert (params["LogLevel"], params["HTTPRetries"], params["UUID"]) == ("ERROR", 2, "0")
    assert scsd.get("/health")["VaultStatus"] == "Disabled"
    scsd.break_("service-restart", "scsd", seconds=5)
    scsd.step(6.0)
    assert scsd.get("/params")["HTTPRetries"] == 5
