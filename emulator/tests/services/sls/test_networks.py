"""SLS's networks."""

from __future__ import annotations

import pytest

from csm_emulator.site import Site
from service_client import Service

HMN = {
    "Name": "HMN",
    "FullName": "Hardware Management Network",
    "IPRanges": ["10.254.0.0/17"],
    "Type": "ethernet",
    "ExtraProperties": {"CIDR": "10.254.0.0/17", "VlanRange": [4]},
}


@pytest.fixture
def sls(site: Site) -> Service:
    return Service(site, "sls", "/v1")


def test_a_network_comes_back_by_every_path(sls: Service) -> None:
    reply = sls.ask("POST", "/networks", HMN)
    assert (reply.status, reply.json()) == (201, HMN)
    expected = HMN | {"LastUpdated": 1_800_000_000, "LastUpdatedTime": "2027-01-15 08:00:00 +0000 UTC"}
    assert sls.get("/networks/HMN") == expected
    assert sls.get("/networks") == sls.get("/search/networks?ip_address=10.254.3.4") == [expected]
    assert sls.get("/dumpstate")["Networks"] == {"HMN": expected}


def test_a_name_in_the_path_wins(sls: Service) -> None:
    assert sls.ask("PUT", "/networks/NMN", HMN).json()["Name"] == "NMN"
    assert sls.ask("GET", "/networks/HMN").status == 404


@pytest.mark.parametrize(
    ("sent_range", "stored_range"),
    [
        ("10.0.0.5/16", "10.0.0.5/16"),
        ("10.0.0.1/32", "10.0.0.1"),
        ("FDF8::1/64", "fdf8::1/64"),
        ("::ffff:102:304/120", "::ffff:1.2.3.4/120"),
    ],
)
def test_ranges_come_back_as_postgresql_writes_them(sls: Service, sent_range: str, stored_range: str) -> None:
    sls.ask("POST", "/networks", {**HMN, "IPRanges": [sent_range]})
    assert sls.get("/networks/HMN")["IPRanges"] == [stored_range]


@pytest.mark.parametrize(
    ("change", "status", "detail"),
    [
        ({"Type": "foo"}, 400, "invalid network type"),
        ({"Name": "a b"}, 400, "invalid network name"),
        ({"IPRanges": ["10.0.0.0"]}, 400, "invalid IP Range: 10.0.0.0"),
        ({"IPRanges": None}, 500, "Failed to insert network into DB"),
        ({"IPRanges": "10.0.0.0/8"}, 400, "Failed to unmarshal body"),
        ({"ExtraProperties": {"a": "\0"}}, 500, "Failed to insert network into DB"),
    ],
)
def test_what_is_no_network_is_not_kept(sls: Service, change: dict[str, object], status: int, detail: str) -> None:
    assert sls.refusal("POST", "/networks", HMN | change) == (status, detail)
    assert sls.get("/networks") is None


def test_a_second_one_is_a_conflict_and_a_missing_one_is_not_found(sls: Service) -> None:
    sls.ask("POST", "/networks", HMN)
    assert sls.refusal("POST", "/networks", HMN)[0] == 409
    assert sls.ask("DELETE", "/networks/HMN").status == 200
    assert sls.refusal("DELETE", "/networks/HMN") == (404, "Network not found in DB")


def test_a_search_that_asks_nothing_is_an_error_of_the_server(sls: Service) -> None:
    assert sls.refusal("GET", "/search/networks") == (500, "Failed to search network from DB")
    assert sls.refusal("GET", "/search/networks?name=none") == (404, "Network not found in DB")
