"""Passwords, certificates and TPMs."""

from __future__ import annotations

from typing import Any

import pytest

from csm_emulator.site import Site
from service_client import BMC, BMC_TOO, SERVER, Service, Spy

CREDS = {"Username": "root", "Password": "new"}


@pytest.fixture
def scsd(tiny: Site) -> Service:
    return Service(tiny, "scsd", "/v1")


def password(scsd: Service, bmc: str) -> str:
    return str(scsd.get(f"/bmc/creds?targets={bmc}")["Targets"][0]["Password"])


def test_one_password_for_each(scsd: Service) -> None:
    spy = Spy(scsd.site)
    targets = [{"Xname": BMC, "Creds": CREDS}, {"Xname": SERVER, "Creds": CREDS | {"Password": "other"}}]
    reply = scsd.ask("POST", "/bmc/discreetcreds", {"Targets": [*targets, {"Xname": "x9c0s0b0", "Creds": CREDS}]})
    assert reply.json()["Targets"] == [
        {"Xname": BMC, "StatusCode": 200, "StatusMsg": "OK"},
        {"Xname": SERVER, "StatusCode": 200, "StatusMsg": "OK"},
        {"Xname": "x9c0s0b0", "StatusCode": 422, "StatusMsg": "Target 'x9c0s0b0' in bad HSM state: Unknown"},
    ]
    assert (password(scsd, BMC), password(scsd, SERVER), password(scsd, BMC_TOO)) == ("new", "other", "initial0")
    assert spy.bodies("/hsm/v2/Inventory/Discover") == [{"xnames": [BMC, SERVER], "force": True}]


def test_the_same_for_all_or_for_one(scsd: Service) -> None:
    assert scsd.ask("POST", "/bmc/globalcreds", {"Targets": [BMC, BMC_TOO], **CREDS}).status == 200
    assert {password(scsd, BMC), password(scsd, BMC_TOO)} == {"new"}
    assert scsd.ask("POST", f"/bmc/creds/{SERVER.upper()}", {"Creds": CREDS}).json() == {"StatusMsg": "OK"}
    assert password(scsd, SERVER) == "new"
    assert scsd.refusal("POST", "/bmc/creds/x9c0s0b0", {"Creds": CREDS}) == (
        422,
        "ERROR: Target 'x9c0s0b0' in incorrect state: Unknown",
    )


def test_one_that_fails_spoils_it_for_all(scsd: Service) -> None:
    refused = scsd.refusal("POST", "/bmc/globalcreds", {"Targets": [BMC], "Username": "missing", "Password": "x"})
    assert refused[1] == "ERROR: Problem retrieving user accounts: Target(s) had no matching Redfish account."
    scsd.break_("bmc-unreachable", BMC_TOO)
    refused = scsd.refusal("POST", "/bmc/globalcreds", {"Targets": [BMC, BMC_TOO], **CREDS})
    assert refused == (
        500,
        "ERROR: Problem retrieving user accounts: "
        f"Bad return code from 'https://{BMC_TOO}/redfish/v1/': 500 - Internal Server Error",
    )
    assert password(scsd, BMC) == "initial0"
    assert scsd.refusal("POST", "/bmc/globalcreds", {"Targets": []}) == (400, "ERROR: No valid targets.")


def test_who_is_asked_for(scsd: Service) -> None:
    assert {one["Xname"] for one in scsd.get("/bmc/creds?type=routerbmc")["Targets"]} == {"x1000c0r3b0", "x1000c0r7b0"}
    assert scsd.refusal("GET", "/bmc/creds?targets=") == (400, "ERROR: URL query parameter is empty.")
    assert scsd.refusal("GET", "/bmc/creds?targets=a,x0c0s0b0,b") == (500, "ERROR: Invalid Xnames: a,b.")
    assert scsd.refusal("GET", "/bmc/creds?type=a,b")[0] == 400
    assert scsd.refusal("GET", "/bmc/creds?type=Teapot")[0] == 400
    scsd.ask("PATCH", "/params", {"VaultEnable": False})
    assert scsd.refusal("GET", "/bmc/creds") == (410, "ERROR: Vault access is disabled.")


def certs(scsd: Service, what: str, *names: str, **more: Any) -> list[dict[str, Any]]:
    reply = scsd.ask("POST", f"/bmc/{what}certs", {"Domain": "Cabinet", "DomainIDs": names, **more})
    assert reply.status == 200, reply.body
    domains: list[dict[str, Any]] = reply.json()["DomainIDs"]
    return domains


def test_a_certificate_is_made_for_a_cabinet_and_put_on_its_controllers(scsd: Service) -> None:
    assert certs(scsd, "fetch", "x1000")[0]["Cert"]["CertData"] == ""
    request = {"CertDomain": "Cabinet", "Targets": [BMC, SERVER]}
    first = scsd.ask("POST", "/bmc/setcerts", request).json()["Targets"]
    assert [one["StatusCode"] for one in first] == [400, 400]
    assert [one["StatusCode"] for one in certs(scsd, "create", "x1000", "x3000", FQDN="local")] == [200, 200]
    domain = certs(scsd, "fetch", BMC)[0]
    assert domain["Cert"]["CertData"].startswith("-----BEGIN CERTIFICATE-----\\n")
    assert domain["Cert"]["FQDN"] == "local"
    assert [one["StatusMsg"] for one in scsd.ask("POST", "/bmc/setcerts", request).json()["Targets"]] == ["OK", "OK"]
    certificate_before = domain["Cert"]["CertData"]
    certs(scsd, "create", "x1000")
    assert certs(scsd, "fetch", "x1000")[0]["Cert"]["CertData"] != certificate_before
    certs(scsd, "delete", "x1000")
    assert certs(scsd, "fetch", "x1000")[0]["Cert"]["CertData"] == ""


def test_what_is_wrong_with_certificates(scsd: Service) -> None:
    assert scsd.refusal("POST", "/bmc/createcerts", {"Domain": "Galaxy"}) == (400, "<nil>")
    domain = certs(scsd, "create", "rubbish")[0]
    reason = "ERROR, endpoint not a valid XName: rubbish (rubbish)"
    assert (domain["StatusCode"], domain["StatusMsg"]) == (400, f"ID 'rubbish' not in stated domain: {reason}")
    domain = certs(scsd, "create", "x1000", Domain="Chassis")[0]
    assert domain["StatusCode"] == 500
    certs(scsd, "create", "x1000")
    scsd.break_("bmc-unreachable", BMC)
    reply = scsd.ask("POST", f"/bmc/setcert/{BMC}?Force")
    assert reply.status == 500
    assert reply.json()["StatusMsg"] == "Internal Server Error, URL: /redfish/v1/Chassis"
    assert scsd.ask("POST", f"/bmc/setcert/{BMC_TOO}?Domain=cabinet").status == 200
    assert scsd.refusal("POST", f"/bmc/setcert/{BMC}?Domain=x") == (400, "ERROR: Invalid cert domain: 'x'.")


def test_a_tpm_changes_when_its_node_starts(scsd: Service) -> None:
    node = next(
        part.xname for part in scsd.site.machine.parts("Node") if scsd.site.machine.power.state(part.xname) == "off"
    )
    path = f"/bmc/bios/{node}/tpmstate"
    assert scsd.get(path) == {"Current": "Disabled", "Future": "Disabled"}
    assert scsd.ask("PATCH", path, {"Future": "Enabled"}).status == 204
    assert scsd.get(path) == {"Current": "Disabled", "Future": "Enabled"}
    scsd.site.machine.power.reset(node, "On", "test")
    scsd.step(10.0)
    assert scsd.get(path) == {"Current": "Enabled", "Future": "Enabled"}


def test_what_is_wrong_with_a_tpm(scsd: Service) -> None:
    path = f"/bmc/bios/{BMC}n0/tpmstate"
    assert scsd.refusal("PATCH", path, {"Future": "NotPresent"}) == (400, "ERROR: Invalid future value: NotPresent")
    assert scsd.refusal("GET", "/bmc/bios/rubbish/tpmstate") == (400, "ERROR: rubbish is an invalid xname")
    assert scsd.refusal("GET", f"/bmc/bios/{BMC}/tpmstate")[1].endswith("The xname should match: xXcCsSbBnN")
    assert scsd.refusal("GET", f"/bmc/bios/{BMC}n7/tpmstate") == (
        404,
        f"Error: Could not find redfish system URI that matches the node {BMC}n7. "
        "Known system URIs [/redfish/v1/Systems/Node0 /redfish/v1/Systems/Node1]",
    )
    scsd.break_("bmc-unreachable", BMC)
    assert scsd.refusal("GET", path)[0] == 500
    assert scsd.ask("GET", f"/bmc/bios/{BMC}n0/other").status == 404
