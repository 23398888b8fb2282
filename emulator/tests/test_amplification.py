"""A patch is stored and reported for each component: a few megabytes must not become gigabytes."""

from __future__ import annotations

from typing import Any

import pytest

from csm_emulator.site import Site
from csm_emulator.transport.call import Call, Reply, json_reply
from power_client import UP


@pytest.fixture
def alps(open_machine: Any) -> Site:
    """A thousand nodes."""
    return open_machine("alps-mini")  # type: ignore[no-any-return]


def patch(site: Site, service: str, path: str, body: Any) -> Reply:
    headers = {"content-type": "application/json"}
    return site.ask(service, Call("PATCH", path, headers=headers, body=json_reply(body).body))


def nodes(site: Site) -> str:
    return ",".join(node.xname for node in site.machine.parts("Node"))


@pytest.mark.parametrize("size", [50_000, 100_000])
def test_a_long_tag_for_all_nodes(alps: Site, size: int) -> None:
    request = {"filters": {"ids": nodes(alps)}, "patch": {"tags": {"a": "x" * size}}}
    assert patch(alps, "cfs", "/v3/components", request).status == 413
    one = alps.ask("cfs", Call("GET", f"/v3/components/{UP}"))
    assert (one.status, "tags" in one.json()) == (200, False)


def test_a_component_that_is_patched_again_and_again(tiny: Site) -> None:
    grown = [{"id": UP, "tags": {f"t{number}": "x" * 10}} for number in range(20_000)]
    assert patch(tiny, "cfs", "/v3/components", grown).status == 413
    large = [{"id": UP, "tags": {"a": "x" * 60_000}}, *({"id": UP, "enabled": True} for _ in range(1000))]
    assert patch(tiny, "cfs", "/v2/components", large).status in (400, 413)
    assert patch(tiny, "cfs", "/v3/components", large).status == 413
    assert patch(tiny, "cfs", "/v3/components", large[:100]).status == 200


def test_a_long_error_for_all_nodes(alps: Site) -> None:
    request = {"filters": {"ids": nodes(alps)}, "patch": {"error": "x" * 65_000}}
    assert patch(alps, "bos", "/v2/components", request).status == 413
    request["patch"] = {"error": "x" * 1000}
    assert patch(alps, "bos", "/v2/components", request).status == 200
