"""conman and tail in a console pod, as ``kubectl exec`` runs them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from csm_emulator.cluster.pods import Exec
from csm_emulator.nodes.terminals import UNWATCHED
from csm_emulator.seed_data.secrets import node_password
from csm_emulator.services.console_operator.assignments import CONTAINER, ConsoleAssignments
from csm_emulator.site import Site
from service_client import open_site

NODE = "x1000c0s0b0n0"
LOG = f"/var/log/conman/console.{NODE}"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    opened = open_site(tmp_path / "state")
    yield opened
    opened.state_file.close()


def run(site: Site, argv: list[str], read: Callable[[], Awaitable[bytes]] | None = None) -> tuple[int, str]:
    """The exit code and the output."""
    output: list[bytes] = []

    async def nothing() -> bytes:
        return b""

    async def write(data: bytes) -> None:
        output.append(data)

    async def talk() -> int:
        pod = ConsoleAssignments(site.context).pod_of(NODE)
        assert pod is not None
        command = Exec(pod, CONTAINER, argv, False, read or nothing, write, write)
        return await site.context.cluster.programs["console-node"](command)

    code = asyncio.run(talk())
    return code, b"".join(output).decode()


@pytest.mark.parametrize(
    "arguments",
    ["-2", "-n2", "-n 2", "--lines=2", "--lines 2", "-n -2", "-2f", "-fn 2", "-f -2", "-q -2 --follow=name"],
)
def test_tail_takes_the_number_of_lines_in_every_form(site: Site, arguments: str) -> None:
    site.context.consoles.write(NODE, "one\r\ntwo\r\nthree\r\n")
    assert run(site, ["tail", *arguments.split(), LOG]) == (0, "two\r\nthree\r\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-n x", "tail: invalid number of lines\n"),
        ("-n", "tail: option -n requires argument\n"),
        ("-z", "tail: option -z not recognized\n"),
        ("-" + "9" * 30, "tail: invalid number of lines\n"),
    ],
)
def test_tail_refuses_what_it_does_not_know(site: Site, arguments: str, message: str) -> None:
    assert run(site, ["tail", LOG, *arguments.split()]) == (1, message)


def test_cat_gives_everything(site: Site) -> None:
    site.context.consoles.write(NODE, "line\r\n" * 30)
    assert run(site, ["cat", LOG])[1].count("\n") == 30


def _watch_a_ping(site: Site, tails: list[str]) -> Callable[[], Awaitable[bytes]]:
    """Logs in, starts a ping without an end, watches it, and leaves."""
    typed = iter([f"root\r{node_password(site.random)}\rping localhost\r".encode(), b""])

    async def read() -> bytes:
        if tails:
            site.step(UNWATCHED + 50)
        tails.append(site.context.consoles.tail(NODE, 1000)[0])
        return next(typed)

    return read


def test_a_ping_ends_after_its_last_watcher_has_left(site: Site) -> None:
    tails: list[str] = []
    run(site, ["conman", "-j", NODE], _watch_a_ping(site, tails))
    assert f"icmp_seq={UNWATCHED + 50} " in tails[-1], "as long as they are there it goes on"
    assert "statistics" not in tails[-1]
    site.step(2)
    assert "packets transmitted" in site.context.consoles.tail(NODE, 4)[0]
