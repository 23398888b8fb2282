"""Wrong methods and untidy paths, as the routers of HPE's services answer them (``mux_answers.txt``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from csm_emulator.site import Site
from csm_emulator.transport.call import Call, Reply

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
NOT_FOUND = b"404 page not found\n"
TABLE = [
    line.split()
    for line in (Path(__file__).parent / "mux_answers.txt").read_text().splitlines()
    if not line.startswith("#")
]


def answer_of(reply: Reply) -> str:
    """The status if the router itself answers; ``-`` if a handler does."""
    if reply.status == 404:
        return "404" if reply.body == NOT_FOUND else "-"
    if reply.status == 405:
        return "405" if not reply.body else "-"
    return "301" if reply.status == 301 else "-"


@pytest.mark.parametrize(("service", "path", "answers"), [(row[0], row[1], row[2:]) for row in TABLE])
def test_methods_are_answered_as_the_real_router_does(
    shared_tiny: Site, service: str, path: str, answers: list[str]
) -> None:
    replies = [shared_tiny.ask(service, Call(method, path)) for method in METHODS]
    assert dict(zip(METHODS, map(answer_of, replies), strict=True)) == dict(zip(METHODS, answers, strict=True))


@pytest.mark.parametrize("path", ["/v1/actions", "/v1/images", "/v1/loader/nexus"])
def test_fas_answers_the_same_below_the_prefix_of_the_gateway(shared_tiny: Site, path: str) -> None:
    for method in METHODS:
        own = shared_tiny.ask("fas", Call(method, path.removeprefix("/v1")))
        assert answer_of(shared_tiny.ask("fas", Call(method, path))) == answer_of(own)
