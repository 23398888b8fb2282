"""Values that are written once and repeated for each host are bounded: five megabytes would become gigabytes."""

from __future__ import annotations

from typing import Any

import pytest

from csm_emulator.site import Site
from csm_emulator.transport.call import Reply
from service_client import Service

PATH = "/bootparameters"
HOSTS = [f"h{number}" for number in range(1000)]


@pytest.fixture
def bss(site: Site) -> Service:
    return Service(site, "bss", "/boot/v1")


def is_too_large(reply: Reply) -> bool:
    return (reply.status, "boot parameters" in str(reply.body)) == (413, True)


@pytest.mark.parametrize(
    "large",
    [{"params": "x" * 100_000}, {"kernel": "x" * 100_000}, {"cloud-init": {"user-data": {"x": "x" * 100_000}}}],
)
def test_long_parameters_of_many_hosts(bss: Service, large: dict[str, Any]) -> None:
    assert is_too_large(bss.ask("PUT", PATH, {"hosts": HOSTS, **large}))
    assert is_too_large(bss.ask("POST", PATH, {"hosts": HOSTS, **large}))
    assert bss.ask("PUT", PATH, {"hosts": HOSTS, "params": "short"}).status == 200
    assert is_too_large(bss.ask("PATCH", PATH, {"hosts": HOSTS, **large}))
    assert bss.ask("GET", f"{PATH}?name=h1").json()[0]["params"] == "short"


def test_what_was_deleted_or_replaced_counts_no_more(bss: Service) -> None:
    """One of these writes is within the bound on all stored parameters, two of them are not."""
    much = {"hosts": HOSTS[:400], "params": "x" * 100_000}
    for _ in range(3):
        assert bss.ask("PUT", PATH, much).status == 200
    assert is_too_large(bss.ask("PUT", PATH, {**much, "hosts": HOSTS[400:800]}))
    assert bss.ask("DELETE", PATH, {"hosts": HOSTS[:400]}).status == 200
    assert bss.ask("PUT", PATH, {**much, "hosts": HOSTS[400:800]}).status == 200


def test_one_host_asked_for_many_times(bss: Service) -> None:
    assert bss.ask("PUT", PATH, {"hosts": ["h"], "params": "x" * 100_000}).status == 200
    assert is_too_large(bss.ask("GET", PATH, {"hosts": ["h"] * 1000}))
    assert len(bss.ask("GET", PATH, {"hosts": ["h"] * 10}).json()) == 10
