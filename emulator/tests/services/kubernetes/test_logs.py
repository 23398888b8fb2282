"""Logs of containers, at once and followed."""

from __future__ import annotations

import asyncio
import tracemalloc

import pytest

from csm_emulator.cluster.pods import Container
from services.kubernetes.api import PODS, Api, gather

NAME = "cfs-1-abcde"
LOG = f"{PODS}/{NAME}/log"
AT = ("services", NAME)


@pytest.fixture
def pod(api: Api) -> Api:
    containers = [Container("git-clone", init=True), Container("inventory"), Container("ansible")]
    cluster = api.site.context.cluster
    cluster.start_pod("services", NAME, containers, owner=("Job", "cfs-1"))
    cluster.begin(*AT, "ansible")
    return api


def say(api: Api, *lines: str) -> None:
    api.site.context.cluster.write_log(*AT, "ansible", lines)


def text(api: Api, query: str = "") -> str:
    reply = api.ask("GET", f"{LOG}?container=ansible{query}")
    assert (reply.status, reply.media) == (200, "text/plain"), reply
    return reply.body.decode()


def test_lines_of_one_container(pod: Api) -> None:
    say(pod, "one", "zwei ü")
    assert text(pod) == "one\nzwei ü\n"


def test_parts_of_a_log(pod: Api) -> None:
    say(pod, "one")
    pod.step(60)
    say(pod, "two")
    pod.step(60)
    say(pod, "three")
    assert text(pod, "&tailLines=2") == "two\nthree\n"
    assert text(pod, "&tailLines=0") == ""
    assert text(pod, "&sinceSeconds=90") == "two\nthree\n"
    assert text(pod, "&sinceSeconds=90&tailLines=1") == "three\n"
    assert text(pod, "&sinceTime=2027-01-15T08:02:00Z") == "three\n"
    assert text(pod, "&limitBytes=6") == "one\ntw"
    assert text(pod, "&timestamps=true&tailLines=1") == "2027-01-15T08:02:00Z three\n"


def test_a_future_line_is_not_in_the_log(pod: Api) -> None:
    now = pod.site.clock.now()
    pod.site.context.cluster.write_log(*AT, "ansible", [(now, "now"), (now + 30, "later")])
    assert text(pod) == "now\n"
    pod.step(30)
    assert text(pod) == "now\nlater\n"


@pytest.mark.parametrize("code", [None, 0, 1])
def test_the_refusal_of_a_log_names_the_reason_that_the_status_has(api: Api, code: int | None) -> None:
    cluster = api.site.context.cluster
    cluster.start_pod("services", NAME, [Container("first", init=True), Container("second", init=True), Container("a")])
    cluster.start_pod("services", "plain", [Container("a")])
    if code is not None:
        cluster.begin(*AT, "first")
        cluster.end(*AT, "first", code)
    waiting = [(NAME, "second"), (NAME, "a"), ("plain", "a")]
    for name, container in waiting:
        status = api.get(f"{PODS}/{name}")["status"]
        statuses = [*status.get("initContainerStatuses", ()), *status["containerStatuses"]]
        reason = next(one["state"]["waiting"]["reason"] for one in statuses if one["name"] == container)
        assert reason == ("ContainerCreating" if name == "plain" else "PodInitializing")
        refusal = api.message("GET", f"{PODS}/{name}/log?container={container}")
        assert refusal.endswith(f'container "{container}" in pod "{name}" is waiting to start: {reason}')


def test_refusals(pod: Api) -> None:
    assert pod.message("GET", f"{PODS}/nope/log") == '404 NotFound: pods "nope" not found'
    assert pod.message("GET", LOG) == (
        f"400 BadRequest: a container name must be specified for pod {NAME}, choose one of: [inventory ansible] or "
        "one of the init containers: [git-clone]"
    )
    assert pod.message("GET", f"{LOG}?container=x") == f"400 BadRequest: container x is not valid for pod {NAME}"
    assert pod.message("GET", f"{LOG}?container=inventory") == (
        f'400 BadRequest: container "inventory" in pod "{NAME}" is waiting to start: PodInitializing'
    )
    assert pod.message("GET", f"{LOG}?container=ansible&previous=true") == (
        f'400 BadRequest: previous terminated container "ansible" in pod "{NAME}" not found'
    )
    for query in ("tailLines=x", "tailLines=-1", "limitBytes=0", "sinceSeconds=0"):
        assert pod.ask("GET", f"{LOG}?container=ansible&{query}").status == 400


def follow(api: Api, query: str, *doings: str) -> bytes:
    reply = api.ask("GET", f"{LOG}?container=ansible&follow=true{query}")

    def do() -> None:
        for doing in doings:
            if doing == "end":
                api.site.context.cluster.end(*AT, "ansible", 0)
            elif doing == "delete":
                api.site.context.cluster.delete_pod(*AT)
            else:
                say(api, doing)
        api.site.context.change_signal.notify()

    async def run() -> list[bytes]:
        assert reply.stream is not None
        return await gather(reply.stream(), do)

    return b"".join(api.runner.run(run()))


def test_a_follower_gets_all_lines_until_the_end(pod: Api) -> None:
    say(pod, "one", "two")
    assert follow(pod, "", "three", "end") == b"one\ntwo\nthree\n"
    assert follow(pod, "&tailLines=1") == b"three\n"


def test_a_follower_of_the_tail_goes_on(pod: Api) -> None:
    say(pod, "one", "two")
    assert follow(pod, "&tailLines=1", "three") == b"two\nthree\n"
    assert follow(pod, "&limitBytes=5", "four") == b"one\nt"


def test_following_ends_when_the_container_does(pod: Api) -> None:
    reply = pod.ask("GET", f"{LOG}?container=ansible&follow=true")

    def end() -> None:
        say(pod, "last")
        pod.site.context.cluster.end(*AT, "ansible", 0)

    async def run() -> bytes:
        assert reply.stream is not None
        stream = reply.stream()
        asyncio.get_running_loop().call_later(0.05, end)
        async with asyncio.timeout(3):
            return b"".join([piece async for piece in stream])

    assert pod.runner.run(run()) == b"last\n"


def test_two_hundred_followers_keep_only_positions(pod: Api) -> None:
    say(pod, *(f"line {number} " + "x" * 200 for number in range(20_000)))

    async def run() -> tuple[int, int]:
        streams = []
        tracemalloc.start()
        for _ in range(200):
            reply = pod.ask("GET", f"{LOG}?container=ansible&follow=true")
            assert reply.stream is not None
            streams.append(reply.stream())
        sizes = [len(await anext(stream)) for stream in streams]
        bytes_held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        for stream in streams:
            await stream.aclose()
        return bytes_held, max(sizes)

    memory, largest = pod.runner.run(run())
    assert largest < 1 << 20
    assert memory < 8 << 20
