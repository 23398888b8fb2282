"""Text that was made to be slow to read is read quickly: one request may not hold up all others."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress

import pytest

from csm_emulator.dialects.go_json.syntax_errors import complaint
from csm_emulator.gateway.gateway import normalize
from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import PODS
from csm_emulator.services.kubernetes.kinds.schema import errors
from csm_emulator.services.kubernetes.reads.selectors import selector
from csm_emulator.services.kubernetes.statuses import StatusError
from csm_emulator.site import Site
from csm_emulator.transport.call import Call, Reply, json_reply, text_reply
from power_client import DOWN, UP, Pcs

QUICK = 1.0


def seconds(doing: Callable[[], object]) -> float:
    began = time.thread_time()
    doing()
    return time.thread_time() - began


def test_dots_in_a_path() -> None:
    assert seconds(lambda: normalize("/a" * 100_000 + "/.." * 100_000)) < QUICK


@pytest.mark.parametrize("query", ["State/Components/Query/{}?type=node", "Inventory/HardwareByFRU?manufacturer={}"])
def test_signs_of_sql(tiny: Site, query: str) -> None:
    path, _, query_string = query.partition("?")
    wild = "%" * 300 + "z" + "%z" * 30
    name, _, value = query_string.partition("=")
    call = Call("GET", f"/hsm/v2/{path.format(wild)}", ((name, value.format(wild)),))
    assert seconds(lambda: tiny.ask("smd", call)) < QUICK


@pytest.mark.parametrize(
    "text", [" " * 100_000 + "%", "," * 100_000, "(" * 100_000, "a" * 100_000 + "%", "a in (" * 20_000]
)
def test_selectors(text: str) -> None:
    def read() -> None:
        with suppress(StatusError):
            selector(PODS, text, "")

    assert seconds(read) < QUICK


def test_patterns_of_custom_resources() -> None:
    schema = {"type": "string", "pattern": "^(a+)+$"}
    assert seconds(lambda: errors("a" * 50_000 + "!", schema)) < QUICK
    assert [error.message for error in errors("b", schema)] != []
    assert errors("aa", schema) == []


def test_blanks_in_kernel_parameters(tiny: Site) -> None:
    body = b'{"hosts":["%s"],"kernel":"http://k","params":"a%sb || goto x"}' % (DOWN.encode(), b" " * 300_000)
    assert tiny.ask("bss", Call("PUT", "/boot/v1/bootparameters", body=body)).status == 200
    Pcs(tiny).start("on", DOWN)
    assert seconds(lambda: tiny.step(600)) < QUICK * 5
    record = tiny.machine.boot.record(DOWN)
    assert record["stage"] == "up"
    assert record["parameters"].startswith("a" + " " * 300_000 + "b")


@pytest.mark.parametrize("piece", [b"a", b"\\n", b"\\u0041"])
def test_text_without_an_end(piece: bytes) -> None:
    body = b'"' + piece * (2 << 20)
    tracemalloc.start()
    try:
        assert complaint(body) == "unexpected end of JSON input"
        assert tracemalloc.get_traced_memory()[1] < 8 * len(body)
    finally:
        tracemalloc.stop()


def test_half_a_pair_of_surrogates_goes_out_as_go_writes_it() -> None:
    assert json_reply("a\ud800b").body == '"a\ufffdb"\n'.encode()
    assert text_reply("a\udcffb").body == "a\ufffdb".encode()


@pytest.mark.parametrize(
    ("service", "path", "body"),
    [
        ("fas", "/actions", {"stateComponentFilter": {"xnames": [f"x{number}c0s0b0" for number in range(50_000)]}}),
        ("fas", "/snapshots", {"name": "s", "stateComponentFilter": {"xnames": ["x1000c0s0b0"] * 50_000}}),
        ("pcs", "/power-cap/snapshot", {"xnames": [f"x{number}c0s0b0n0" for number in range(1000, 10_000)] * 3}),
    ],
)
def test_many_names(tiny: Site, service: str, path: str, body: Json) -> None:
    call = Call("POST", path, body=json_reply(body).body)

    def do() -> None:
        tiny.ask(service, call)
        tiny.step(5.0)

    assert seconds(do) < QUICK


def test_many_controls_of_one_node(tiny: Site) -> None:
    controls = [{"name": f"{'control' * 10} {number}", "value": 1} for number in range(30_000)]
    body = json_reply({"components": [{"xname": UP, "controls": controls}]}).body
    reply = tiny.ask("pcs", Call("PATCH", "/power-cap", body=body))
    tiny.step(5.0)
    replies: list[Reply] = []
    task = reply.json()["taskID"]
    assert seconds(lambda: replies.append(tiny.ask("pcs", Call("GET", f"/power-cap/{task}")))) < QUICK
    assert replies[0].json()["components"][0]["error"].count("; ") == 29_999
