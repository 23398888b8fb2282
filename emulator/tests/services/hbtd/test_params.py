"""HBTD's parameters, and their effect."""

from __future__ import annotations

import pytest

from csm_emulator.site import Site
from service_client import Service


@pytest.fixture
def hbtd(site: Site) -> Service:
    return Service(site, "hbtd", "/hmi/v1")


def test_values_come_back_as_go_prints_them(hbtd: Service) -> None:
    reply = hbtd.ask(
        "PATCH", "/params", {"Debug": "0x10", "warntime": "017", "Use_telemetry": "OFF", "Sm_url": "http://x"}
    )
    assert reply.status == 200
    assert reply.media == "text/plain; charset=utf-8"
    params = hbtd.get("/params")
    assert [params[name] for name in ("Debug", "Warntime", "Use_telemetry", "Sm_url")] == ["16", "15", "0", "http://x"]
    assert list(params) == [
        *("Debug", "Nosm", "Use_telemetry", "Telemetry_host", "Warntime", "Errtime"),
        *("Port", "Kv_url", "Interval", "Sm_url", "Sm_timeout", "Sm_retries"),
    ]


def test_all_complaints_stand_together_and_nothing_is_changed(hbtd: Service) -> None:
    rejected = {"Debug": "-1", "Nosm": "maybe", "Use_telemetry": "maybe", "Telemetry_host": "a:b:c", "Errtime": "5"}
    status, detail = hbtd.refusal("PATCH", "/params", rejected | {"Port": "1", "Sm_retries": "4294967296"})
    assert status == 400
    assert detail == (
        "Parameter 'debug' with illegal value '-1'; "
        "Parameter 'nosm' with illegal value 'maybe'; "
        "Parameter 'use_telemetry' with unknown value 'maybe'; "
        "Parameter 'telemetry_host' with invalid format 'a:b:c'; "
        "Parameter 'port' can't be changed in PATCH operation; "
        "Parameter 'sm_retries' with illegal value '4294967296'; "
    )
    assert hbtd.get("/params")["Errtime"] == "20"


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"Warntime": 5}, "Invalid data type in Warntime field. "),
        ({"warntime": 5}, ""),
        ({"Errtime": ["1"], "Debug": {}}, "Invalid data type in Debug field. "),
        ([], "Invalid JSON data type"),
    ],
)
def test_numbers_have_to_be_text(hbtd: Service, body: object, detail: str) -> None:
    assert hbtd.refusal("PATCH", "/params", body) == (400, detail)


def test_errtime_decides_when_a_node_is_dead(hbtd: Service) -> None:
    hbtd.ask("POST", "/heartbeat/x0c0s0b0n0", {"Status": "OK", "Timestamp": "t"})
    hbtd.step(4.0)
    hbtd.ask("PATCH", "/params", {"Errtime": "4"})
    assert not hbtd.get("/hbstate/x0c0s0b0n0")["Heartbeating"]
    hbtd.ask("PATCH", "/params", {"Errtime": "5"})
    assert hbtd.get("/hbstate/x0c0s0b0n0")["Heartbeating"]
