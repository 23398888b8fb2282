"""A whole machine booted through BOS and configured through CFS, and many people who look on."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import connect

from bench.emulator import cpu_seconds, peak_mb
from bench.figures import Row
from csm_emulator.process import Emulator, emulate

STEP = 60.0
MOST_STEPS = 240
"""Virtual minutes: a boot takes ten, and 400 sessions of CFS an hour at most."""
CONSOLES, FOLLOWERS = 64, 200
WATCH_SECONDS = 10.0
PODS_WITHIN = 120.0
PODS = "/api/v1/namespaces/services/pods"


def run() -> Iterator[Row]:
    small, large = _boot("alps-mini"), _boot("alps")
    yield Row(
        "10,000 nodes booted through BOS, configured through CFS",
        large["wall"],
        "s",
        180,
        f"{large['minutes']:.0f} virtual minutes",
    )
    yield Row("the same, most memory", large["peak"], "MB", 1000)
    each = large["cpu"] / large["nodes"], small["cpu"] / small["nodes"]
    yield Row("boot and configure a node, CPU", each[0] * 1000, "ms", None, f"{each[1] * 1000:.2f} ms with 1,000")
    yield Row("CPU a node, 10,000 against 1,000", each[0] / each[1], "x", 1.5)
    yield from _onlookers()


def _boot(topology: str) -> dict[str, float]:
    """All compute nodes, from off to configured, with one template and one layer."""
    with emulate(topology, "--speed", "0") as machine:
        nodes = [
            part["xname"]
            for part in machine.ask_control("GET", "/parts?type=Node")["parts"]
            if part["class"] != "River"
        ]
        _power_off(machine, nodes)
        prepare(machine, nodes)
        cpu, began = cpu_seconds(machine.pid), time.monotonic()
        _ask(machine, "bos", "POST", "/v2/sessions", {"name": "all", "operation": "boot", "template_name": "all"})
        steps = _step_until_complete(machine)
        wall = time.monotonic() - began
        told = _ask(machine, "bos", "GET", "/v2/sessions/all/status")
        if told["percent_successful"] != 100:
            raise RuntimeError(f"not all of {topology} came up: {told}")
        configured = _configured(machine)
        if configured != len(nodes):
            raise RuntimeError(f"of {len(nodes)} nodes of {topology} only {configured} are configured")
        return {
            "nodes": len(nodes),
            "wall": wall,
            "minutes": steps * STEP / 60,
            "cpu": cpu_seconds(machine.pid) - cpu,
            "peak": peak_mb(machine.pid),
        }


def _step_until_complete(machine: Emulator) -> int:
    """How many steps it took."""
    for done in range(MOST_STEPS):
        if _ask(machine, "bos", "GET", "/v2/sessions/all")["status"]["status"] == "complete":
            return done
        machine.step(STEP)
    raise RuntimeError(f"{machine.machine} was not booted after {MOST_STEPS} steps of {STEP:g} s")


def _power_off(machine: Emulator, nodes: list[str]) -> None:
    body = {"operation": "force-off", "location": [{"xname": node} for node in nodes]}
    _ask(machine, "pcs", "POST", "/v1/transitions", body)
    machine.step(120)


def prepare(machine: Emulator, nodes: list[str]) -> None:
    """A configuration with one layer, and a template with one boot set for each architecture that the machine has."""
    clone = f"{machine.url}/vcs/cray/csm-config-management.git"
    layer = {"name": "site", "clone_url": clone, "playbook": "site.yml", "branch": "main"}
    _ask(machine, "cfs", "PUT", "/v3/configurations/all", {"layers": [layer]})
    sets: dict[str, Any] = {}
    components = _ask(machine, "smd", "GET", "/hsm/v2/State/Components?type=Node&role=Compute")["Components"]
    wanted = set(nodes)
    for arch, word in (("X86", "x86_64"), ("ARM", "aarch64")):
        members = [node["ID"] for node in components if node["Arch"] == arch and node["ID"] in wanted]
        if members:
            images = _ask(machine, "ims", "GET", "/v3/images")
            image = next(one for one in images if one["arch"] == word and "compute" in one["name"])
            sets[word] = {
                "type": "s3",
                "path": image["link"]["path"],
                "etag": image["link"]["etag"],
                "arch": arch,
                "node_list": members,
                "rootfs_provider": "sbps",
            }
    template = {"enable_cfs": True, "cfs": {"configuration": "all"}, "boot_sets": sets}
    _ask(machine, "bos", "PUT", "/v2/sessiontemplates/all", template)


def _configured(machine: Emulator) -> int:
    found, after = 0, ""
    while True:
        page = _ask(machine, "cfs", "GET", f"/v3/components?status=configured&limit=1000{after}")
        found += len(page["components"])
        if page["next"] is None:
            return found
        after = f"&after_id={page['next']['after_id']}"


def _ask(machine: Emulator, service: str, method: str, path: str, body: object = None) -> Any:
    text = None if body is None else json.dumps(body)
    answer = machine.send(method, machine.services[service] + path, text, {"Content-Type": "application/json"})
    if answer.status >= 400:
        raise RuntimeError(f"{method} {path} of {service} answered {answer.status}: {answer.body[:300]!r}")
    return answer.json() if answer.body else None


def _onlookers() -> Iterator[Row]:
    """While a machine boots, many look at consoles and logs."""
    with emulate("psi", "--speed", "60") as machine:
        nodes = [
            part["xname"]
            for part in machine.ask_control("GET", "/parts?type=Node")["parts"]
            if part["class"] != "River"
        ]
        prepare(machine, nodes)
        before = peak_mb(machine.pid)
        _ask(machine, "bos", "POST", "/v2/sessions", {"name": "all", "operation": "reboot", "template_name": "all"})
        heard = asyncio.run(_look_on(machine, nodes))
        yield Row(
            f"{CONSOLES} consoles and {FOLLOWERS} log followers, memory more", peak_mb(machine.pid) - before, "MB", 150
        )
        yield Row("consoles that said something", heard["consoles"], "", None, f"of {CONSOLES}")
        yield Row("followers that said something", heard["followers"], "", None, f"of {FOLLOWERS}")
        yield Row(
            "the same request beside them", heard["request"] * 1000, "ms", None, f"{heard['alone'] * 1000:.1f} ms alone"
        )


async def _look_on(machine: Emulator, nodes: list[str]) -> dict[str, float]:
    token = machine.token()
    alone = min(_timed_request(machine) for _ in range(5))
    trust = ssl.create_default_context(cafile=machine.ca)
    consoles = [asyncio.create_task(_console(machine, node, token, trust)) for node in nodes[:CONSOLES]]
    folder = machine.kubeconfig.rpartition("/")[0]
    known = ssl.create_default_context(cafile=machine.ca)
    known.load_cert_chain(f"{folder}/kubernetes-admin.pem", f"{folder}/kubernetes-admin-key.pem")
    pods = await _pods(machine, known)
    followers = [
        asyncio.create_task(_follower(machine, known, pods[number % len(pods)])) for number in range(FOLLOWERS)
    ]
    await asyncio.sleep(WATCH_SECONDS)
    beside = min([await asyncio.to_thread(_timed_request, machine) for _ in range(5)])
    await asyncio.sleep(WATCH_SECONDS)
    for task in (*consoles, *followers):
        task.cancel()
    said = await asyncio.gather(*consoles, *followers, return_exceptions=True)
    for problem in said:
        if isinstance(problem, Exception):
            raise problem
    sizes = [size for size in said if isinstance(size, int)]
    return {
        "alone": alone,
        "request": beside,
        "consoles": sum(size > 0 for size in sizes[:CONSOLES]),
        "followers": sum(size > 0 for size in sizes[CONSOLES:]),
    }


async def _console(machine: Emulator, node: str, token: str, trust: ssl.SSLContext) -> int:
    size = 0
    url = machine.url.replace("https", "wss") + f"/apis/console-operator/console-operator/interact/{node}"
    try:
        async with connect(url, ssl=trust, additional_headers={"Authorization": f"Bearer {token}"}) as socket:
            async for message in socket:
                size += len(message)
    except asyncio.CancelledError:
        pass
    return size


async def _pods(machine: Emulator, known: ssl.SSLContext) -> list[str]:
    """Of CFS sessions that run; the nodes have to boot before there are any."""
    async with asyncio.timeout(PODS_WITHIN):
        while True:
            reader, writer = await _get(
                machine, known, f"{PODS}?labelSelector=app.kubernetes.io/name=cray-cfs-aee", "close"
            )
            body = (await reader.read()).partition(b"\r\n\r\n")[2]
            writer.close()
            names = [pod["metadata"]["name"] for pod in json.loads(body)["items"]]
            if len(names) >= 4:
                return names
            await asyncio.sleep(0.5)


async def _follower(machine: Emulator, known: ssl.SSLContext, pod: str) -> int:
    """How much it was told, beside the head."""
    size = 0
    try:
        reader, _ = await _get(machine, known, f"{PODS}/{pod}/log?container=ansible&follow=true", "keep-alive")
        await reader.readuntil(b"\r\n\r\n")
        while data := await reader.read(65536):
            size += len(data)
    except asyncio.CancelledError:
        pass
    return size


async def _get(
    machine: Emulator, known: ssl.SSLContext, path: str, connection: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    place = urlsplit(machine.addresses["kubernetes"])
    reader, writer = await asyncio.open_connection(place.hostname, place.port, ssl=known)
    writer.write(f"GET {path} HTTP/1.1\r\nhost: {place.netloc}\r\nconnection: {connection}\r\n\r\n".encode())
    return reader, writer


def _timed_request(machine: Emulator) -> float:
    began = time.monotonic()
    _ask(machine, "smd", "GET", "/hsm/v2/service/ready")
    return time.monotonic() - began
