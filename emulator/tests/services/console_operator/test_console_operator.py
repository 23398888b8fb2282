"""console-operator: its paths in process, and WebSockets to consoles with an ordinary client."""

from __future__ import annotations

import json
import select
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import create_connection
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from csm_emulator.cluster.pods import Container
from csm_emulator.process import Emulator, emulate
from csm_emulator.transport.call import Reply
from service_client import Service, Spy, open_site

NODE = "x1000c0s0b0n0"
BASE = "/console-operator"
LIMIT = 20.0


@pytest.fixture
def consoles(tmp_path: Path) -> Iterator[Service]:
    site = open_site(tmp_path / "state")
    yield Service(site, "console-operator", BASE)
    site.state_file.close()


def _body(site: Service, xname: str) -> Reply:
    return site.ask("GET", "/getNodePod", {"xname": xname}, {"content-type": "application/json"})


def test_every_node_has_a_pod_that_is_there(consoles: Service) -> None:
    nodes = [part.xname for part in consoles.site.machine.parts("Node")]
    pods = {pod.name for pod in consoles.site.context.cluster.pods("services")}
    pod_names = {_body(consoles, node).json()["podname"] for node in nodes}
    assert pod_names <= pods
    assert len(pod_names) == consoles.get("/replicas")["replicas"] > 1, "they share the work"


def test_a_pod_that_only_looks_like_one_of_them_gets_no_consoles(consoles: Service) -> None:
    bodies_before = {part.xname: _body(consoles, part.xname).json() for part in consoles.site.machine.parts("Node")}
    labels = {"app.kubernetes.io/name": "cray-console-node"}
    for name in ("foo", "cray-console-node-x", "cray-console-node-²"):
        consoles.site.context.cluster.start_pod("services", name, [Container("cray-console-node")], labels)
    assert {xname: _body(consoles, xname).json() for xname in bodies_before} == bodies_before
    assert consoles.get("/replicas")["replicas"] == 2


def test_nodes_added_to_and_deleted_from_hsm_get_and_lose_consoles(consoles: Service) -> None:
    mesh, components = consoles.site.mesh, "/hsm/v2/State/Components"
    new = {"Components": [{"ID": "x9000c0s0b0n0", "Type": "Node", "State": "On", "Flag": "OK"}]}
    assert mesh.ask("smd", "POST", components, new).ok
    pod = _body(consoles, "x9000c0s0b0n0").json()["podname"]
    assert pod in {one.name for one in consoles.site.context.cluster.pods("services")}
    assert _body(consoles, "x9000c0s0b0").status == 500, "a controller has no console"
    bodies = {part.xname: _body(consoles, part.xname).json() for part in consoles.site.machine.parts("Node")}
    assert mesh.ask("smd", "DELETE", f"{components}/{NODE}").ok
    assert _body(consoles, NODE).status == 500
    assert consoles.ask("GET", f"/interact/{NODE}").status == 404
    assert {node: _body(consoles, node).json() for node in bodies if node != NODE} == {
        node: body for node, body in bodies.items() if node != NODE
    }, "the others stay where they are"
    state = {"State": "Empty", "Flag": "OK", "Force": True}
    assert mesh.ask("smd", "PATCH", f"{components}/x9000c0s0b0n0/StateData", state).ok
    assert _body(consoles, "x9000c0s0b0n0").status == 500


def test_what_is_no_node_has_none(consoles: Service) -> None:
    assert _body(consoles, "x9999c0s0b0n0").status == 500
    reply = consoles.ask("GET", "/interact/x9999c0s0b0n0")
    assert (reply.status, reply.json()) == (404, {"message": "x9999c0s0b0n0 is not a valid node."})


@pytest.mark.parametrize(
    ("body", "media"), [(b"{", "application/json"), (b"{}", "text/plain"), (b"[]", "application/json")]
)
def test_bodies_that_say_nothing_are_refused(consoles: Service, body: bytes, media: str) -> None:
    assert consoles.ask("GET", "/getNodePod", body, {"content-type": media}).status == 400


def test_numbers_agree(consoles: Service) -> None:
    targets, health = consoles.get("/currentTargets"), consoles.get("/health")
    assert targets["totalmtnnodes"] + targets["totalrvrnodes"] == 9
    assert health["consoles"] == "9"
    assert consoles.ask("GET", "/liveness").status == 204
    pod = _body(consoles, NODE).json()["podname"]
    assert consoles.get(f"/location/{pod}")["podname"] == pod
    assert consoles.ask("GET", "/location/nowhere-0").status == 500


def test_a_tenant_sees_its_own_nodes_and_others_as_if_they_were_not_there(consoles: Service) -> None:
    spy = Spy(consoles.site)
    tenant = {"status": {"tenantresources": [{"type": "compute", "xnames": [NODE]}]}}
    spy.instead["tapms"] = Reply(200, json.dumps(tenant).encode(), "application/json")
    headers = {"cray-tenant-name": "vcluster-blue"}
    own = consoles.ask("GET", f"/interact/{NODE}", headers=headers)
    reply = consoles.ask("GET", "/interact/x1000c0s1b0n0", headers=headers)
    assert own.status != 404
    assert (reply.status, reply.json()["message"]) == (404, "x1000c0s1b0n0 is not a valid node.")


def test_a_pod_that_restarts_watches_nothing_for_a_while(consoles: Service) -> None:
    pod = _body(consoles, NODE).json()["podname"]
    consoles.break_("console-restart", pod, seconds=60)
    assert consoles.ask("GET", f"/tail/{NODE}").json() == {"message": f"Node {NODE} is not currently being monitored"}
    consoles.step(61)
    assert _body(consoles, NODE).json()["podname"] == pod


def test_only_console_pods_are_restarted(consoles: Service) -> None:
    with pytest.raises(Exception, match="no console pod nonsense"):
        consoles.break_("console-restart", "nonsense")


@pytest.fixture(scope="module")
def machine() -> Iterator[Emulator]:
    with emulate("tiny", "--speed", "100") as running:
        yield running


@contextmanager
def socket(machine: Emulator, path: str, **headers: str) -> Iterator[ClientConnection]:
    trust = ssl.create_default_context(cafile=machine.ca)
    url = f"{machine.url.replace('https', 'wss')}/apis/console-operator{BASE}/{path}"
    options = {
        "Authorization": f"Bearer {machine.token()}",
        **{name.replace("_", "-"): text for name, text in headers.items()},
    }
    with connect(url, ssl=trust, additional_headers=options) as opened:
        yield opened


def until(opened: ClientConnection, text: str) -> str:
    """The output up to this text."""
    output, deadline = "", time.monotonic() + LIMIT
    while text not in output:
        output += str(opened.recv(max(deadline - time.monotonic(), 0.01)))
    return output


def log_in(opened: ClientConnection, machine: Emulator) -> None:
    until(opened, "opened.")
    opened.send("")
    until(opened, "login: ")
    opened.send("root")
    until(opened, "Password: ")
    opened.send(machine.node_password)
    until(opened, "# ")


def test_a_shell_over_a_websocket(machine: Emulator) -> None:
    with socket(machine, f"interact/{NODE}") as opened:
        log_in(opened, machine)
        opened.send("hostname")
        assert "nid001000" in until(opened, "# ")
        opened.send("ping -c 2 nid001001-hsn0")
        assert "2 packets transmitted, 2 received" in until(opened, "# ")
        opened.send("exit")
        until(opened, "login: ")
        opened.send("&.")
        assert "closed." in until(opened, "closed.")
        with pytest.raises(ConnectionClosed):
            opened.recv(LIMIT)


def test_two_clients_of_a_console_see_the_same(machine: Emulator) -> None:
    with socket(machine, f"interact/{NODE}") as first, socket(machine, f"interact/{NODE}") as second:
        until(second, "opened.")
        log_in(first, machine)
        first.send("echo shared")
        assert "shared" in until(second, "shared")
        first.send("exit")
        until(second, "logout")


def test_tail_gives_lines_and_follows(machine: Emulator) -> None:
    off = "x1000c0s1b1n1"
    order = json.dumps({"operation": "on", "location": [{"xname": off}]})
    machine.send("POST", f"{machine.services['pcs']}/v1/transitions", order, {"Content-Type": "application/json"})
    with socket(machine, f"tail/{off}", Cray_Console_Lines="500", Cray_Console_Follow="True") as opened:
        output = until(opened, "Start PXE")
        assert "BIOS" in output
    with socket(machine, f"tail/{off}", Cray_Console_Lines="1") as opened:
        last = str(opened.recv(LIMIT))
        assert last.count("\n") <= 1
        with pytest.raises(ConnectionClosed):
            opened.recv(LIMIT)


@pytest.mark.parametrize("lines", [f"/var/log/conman/console.{NODE}", "++5", "9" * 5000, "five", "-"])
def test_what_is_no_number_of_lines_shows_nothing(machine: Emulator, lines: str) -> None:
    """A path in place of the number does not open the log of another node."""
    with socket(machine, f"interact/{NODE}") as opened:
        log_in(opened, machine)
        opened.send("exit")
        until(opened, "login: ")
    with socket(machine, "tail/x1000c0s1b0n0", Cray_Console_Lines=lines) as opened:
        assert opened.recv(LIMIT) == "tail: invalid number of lines\n"
        with pytest.raises(ConnectionClosed):
            opened.recv(LIMIT)


@pytest.mark.parametrize(("node", "keys"), [("x1000c0s0b0n1", "x\r"), (NODE, "\x03")])
def test_a_long_paste_delays_no_other_client(machine: Emulator, node: str, keys: str) -> None:
    with socket(machine, f"interact/{node}") as opened:
        log_in(opened, machine)
        opened.send(keys * 30_000)
        began = time.monotonic()
        for _ in range(5):
            machine.ask_control("GET", "/clock")
        assert time.monotonic() - began < 2.0
        # The answer to a close frame would come after the answers to all these keys.
        opened.close_timeout = 0.1


def test_without_a_token_there_is_no_console(machine: Emulator) -> None:
    trust = ssl.create_default_context(cafile=machine.ca)
    url = f"{machine.url.replace('https', 'wss')}/apis/console-operator{BASE}/interact/{NODE}"
    with pytest.raises(InvalidStatus) as refused:
        connect(url, ssl=trust)
    assert refused.value.response.status_code == 403


def test_a_restart_of_the_pod_drops_its_connections(machine: Emulator) -> None:
    with socket(machine, f"interact/{NODE}") as opened:
        until(opened, "opened.")
        machine.fault("console-restart", "*", facts={"seconds": 100})
        assert "closed." in until(opened, "closed.")
        with pytest.raises(ConnectionClosed):
            opened.recv(LIMIT)
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        try:
            with socket(machine, f"interact/{NODE}") as opened:
                until(opened, "opened.")
                return
        except InvalidStatus:
            time.sleep(0.2)
    pytest.fail("the pod did not come back")


def test_over_tls_nothing_comes_unasked(machine: Emulator) -> None:
    """A session ticket would: clients that wait for readable data, and then block in reading, take it for an answer."""
    trust = ssl.create_default_context(cafile=machine.ca)
    place = urlsplit(machine.url)
    plain = create_connection((place.hostname, place.port))
    with plain, trust.wrap_socket(plain, server_hostname=place.hostname) as opened:
        assert select.select([opened], [], [], 0.5)[0] == []
