"""BSS's boot parameters, as a client sees them."""

from __future__ import annotations

from pathlib import Path

import pytest

from csm_emulator.services.bss.boot_script.presigned_urls import fetch_url
from csm_emulator.services.bss.cloud_init.go_yaml import cloud_config
from csm_emulator.site import Site
from csm_emulator.transport.sigv4 import Keys
from service_client import GARBAGE, Service, open_site, reopen

BOOT = {"hosts": ["x0c0s0b0n0"], "kernel": "http://k", "initrd": "http://i", "params": "quiet"}
NO_CLOUD_INIT = {
    "meta-data": None,
    "user-data": None,
    "phone-home": dict.fromkeys(("pub_key_dsa", "pub_key_rsa", "pub_key_ecdsa", "instance_id", "hostname", "fqdn"), ""),
}


@pytest.fixture
def bss(site: Site) -> Service:
    return Service(site, "bss", "/boot/v1")


def test_what_is_put_in_comes_back_by_every_path(bss: Service) -> None:
    reply = bss.ask("POST", "/bootparameters", BOOT)
    assert reply.status == 201
    assert dict(reply.headers)["BSS-Referral-Token"]
    expected = {**BOOT, "cloud-init": NO_CLOUD_INIT}
    assert bss.get("/bootparameters?name=x0c0s0b0n0") == [expected]
    everything = bss.get("/bootparameters")
    assert everything == [
        {"kernel": "http://k", "cloud-init": NO_CLOUD_INIT},
        {"initrd": "http://i", "cloud-init": NO_CLOUD_INIT},
        expected,
    ]
    assert bss.get("/dumpstate")["Params"] == everything


def test_a_token_is_new_with_every_put_and_stays_with_a_patch(bss: Service) -> None:
    first, second = (dict(bss.ask("PUT", "/bootparameters", BOOT).headers)["BSS-Referral-Token"] for _ in range(2))
    assert first != second
    patched = bss.ask("PATCH", "/bootparameters", {**BOOT, "params": "loud"})
    assert (patched.status, list(patched.headers)) == (200, [])
    assert bss.get("/bootparameters?name=x0c0s0b0n0")[0]["params"] == "loud"


def test_what_is_there_is_not_made_again(bss: Service) -> None:
    bss.ask("POST", "/bootparameters", BOOT)
    assert bss.refusal("POST", "/bootparameters", BOOT) == (400, "Bad Request: Already exists: x0c0s0b0n0")
    missing = {"hosts": ["none"], "params": "p"}
    message = "Not Found: Error looking up none: Key /params/none does not exist"
    assert bss.refusal("PATCH", "/bootparameters", missing) == (404, message)
    message = "Key none deletion: Key /params/none does not exist"
    assert bss.refusal("DELETE", "/bootparameters", missing) == (400, message)


def test_an_image_that_is_deleted_is_gone_from_its_hosts(bss: Service) -> None:
    bss.ask("PUT", "/bootparameters", BOOT)
    bss.ask("DELETE", "/bootparameters", {"kernel": "http://k"})
    assert "kernel" not in bss.get("/bootparameters?name=x0c0s0b0n0")[0]


@pytest.mark.parametrize("body", [body for body in GARBAGE if body not in (b"null", b'{"name":"\\ud800","Name":null}')])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_garbage_has_the_errors_of_go(bss: Service, method: str, body: bytes) -> None:
    status, detail = bss.refusal(method, "/bootparameters", body)
    assert status == 400
    assert detail.startswith("Bad Request: ")
    assert bss.get("/bootparameters") is None


@pytest.mark.parametrize("value", [1, 1.5, True, {}, {"a": 1}, [[]], [1], [None, 5]])
@pytest.mark.parametrize("field", ["hosts", "macs", "nids", "params", "kernel", "initrd", "cloud-init"])
def test_wrong_types_are_refused_or_taken_but_never_half(bss: Service, field: str, value: object) -> None:
    reply = bss.ask("PUT", "/bootparameters", {"hosts": ["a"], "params": "p", field: value})
    assert reply.status in (200, 400)
    parameters_before = bss.get("/bootparameters")
    assert (parameters_before is None) == (reply.status == 400)


def test_a_wrong_method_gets_the_allowed_ones(bss: Service) -> None:
    refused = bss.ask("DELETE", "/hosts")
    assert (refused.status, dict(refused.headers)) == (405, {"Allow": "GET,POST"})
    assert bss.ask("GET", "/anything/else").body == b"Hello World!"


def test_health(bss: Service) -> None:
    assert bss.get("/service/status/all") == {
        "bss-version": "1.37.0",
        "bss-status": "running",
        "bss-status-hsm": "connected",
        "bss-status-etcd": "connected",
    }


def test_an_hsm_that_is_away_leaves_bss_with_nothing_but_its_parameters(tiny: Site) -> None:
    bss = Service(tiny, "bss", "/boot/v1")
    assert len(bss.get("/hosts")) > 1
    bss.break_("service-restart", "smd")
    tiny.step(1.0)
    assert bss.ask("POST", "/hosts").status == 204
    assert bss.get("/hosts") == []
    assert bss.get("/bootparameters")


def test_parameters_survive_a_restart(tmp_path: Path) -> None:
    site = open_site(tmp_path / "state")
    bss = Service(site, "bss", "/boot/v1")
    bss.ask("PUT", "/bootparameters", BOOT)
    bss.ask("DELETE", "/bootparameters", {"hosts": ["x1000c0s0b0n0"]})
    bss.ask("GET", "/bootscript?name=x1000c0s0b0n1")
    dumps_before = [bss.get(path) for path in ("/dumpstate", "/endpoint-history")]
    reopened_bss = Service(reopen(site), "bss", "/boot/v1")
    assert [reopened_bss.get(path) for path in ("/dumpstate", "/endpoint-history")] == dumps_before
    reopened_bss.site.state_file.close()


# The real BSS 1.37 signed this at 2026-11-16T03:02:35Z.
@pytest.mark.parametrize(
    ("address", "signature"),
    [
        ("s3://boot-images/1/kernel", "172299c65c71365b1b9196a009b9f12a40df931799c0264eae3be1c556145d1b"),
        ("s3://b/c%20d", "97bcd9e51aa9b3997def5cc0316a93d8d9726f18529194a27b55d3cf2443fc50"),
        ("s3:///boot-images/a b/ini+trd?x=1", "4ff34c35775f7722f994fd28dd4c333f6e47fcee39a1b43ea409255146e87e37"),
    ],
)
def test_addresses_in_s3_are_signed_as_aws_does(address: str, signature: str) -> None:
    url = fetch_url(address, Keys("AKIDACCESS", "secret"), 1_794_798_155)
    assert url.endswith(f"&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature={signature}")


def test_other_addresses_are_left_alone() -> None:
    for address in ("http://k", "/var/kernel", "s3://b/%zz", "nonsense", ""):
        assert fetch_url(address, Keys("a", "s"), 0) == address


def test_yaml_is_written_as_go_writes_it() -> None:
    data = {"k10": 1, "k9": 1e7, "b": "yes", "l": ["1", {"x": 0.5, "z": None}], "t": "a\nb\n", "e": {}}
    assert cloud_config(data) == (
        '#cloud-config\nb: "yes"\ne: {}\nk9: 1e+07\nk10: 1\nl:\n- "1"\n- x: 0.5\n  z: null\nt: |\n  a\n  b\n'
    )
