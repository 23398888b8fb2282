"""Programs in containers, over WebSockets and over SPDY."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import struct
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import quote

import pytest
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri

from csm_emulator.cluster.pods import Exec
from csm_emulator.transport.call import Reply
from csm_emulator.transport.spdy_headers import Packer
from services.kubernetes.api import PODS, Api

SPDY = {"upgrade": "SPDY/3.1", "connection": "Upgrade", "x-stream-protocol-version": "v4.channel.k8s.io"}
STREAMS = ("error", "stdin", "stdout", "stderr")


class Wire:
    """The server's end of a tunnel whose client is a test."""

    def __init__(self) -> None:
        self.come: asyncio.Queue[bytes] = asyncio.Queue()
        self.said = bytearray()

    async def read(self) -> bytes:
        return await self.come.get()

    async def write(self, data: bytes) -> None:
        self.said += data

    def close(self) -> None:
        """Does nothing: the test has no connection to close."""


def path(api: Api, *argv: str, **options: bool) -> str:
    pod = api.names(f"{PODS}?labelSelector=app.kubernetes.io/name%3Dcray-ims")[0]
    query = [*(f"command={quote(word)}" for word in argv), *(f"{name}=true" for name, on in options.items() if on)]
    return f"{PODS}/{pod}/exec?" + "&".join(query)


def talk(api: Api, reply: Reply, client: Callable[[Wire], Coroutine[Any, Any, None]]) -> bytes:
    """All bytes that the server wrote."""

    async def run() -> bytes:
        wire = Wire()
        assert reply.talk is not None, reply
        speaking = asyncio.ensure_future(client(wire))
        async with asyncio.timeout(5):
            await reply.talk(wire)  # type: ignore[arg-type]
        speaking.cancel()
        return bytes(wire.said)

    return api.runner.run(run())


def server_data(data: bytes) -> dict[int, bytes]:
    """The data of SPDY's streams, by number."""
    streams: dict[int, bytes] = {}
    while data:
        first, second = struct.unpack_from(">II", data)
        length = second & 0xFFFFFF
        if not first & 0x80000000:
            streams[first] = streams.get(first, b"") + data[8 : 8 + length]
        data = data[8 + length :]
    return streams


def over_spdy(api: Api, where: str, typed: bytes = b"", streams: tuple[str, ...] = STREAMS) -> dict[str, bytes]:
    reply = api.ask("POST", where, headers=SPDY)
    assert reply.status == 101, reply.body
    assert dict(reply.headers)["X-Stream-Protocol-Version"] == "v4.channel.k8s.io"

    async def client(wire: Wire) -> None:
        packer = Packer()
        for number, name in enumerate(streams):
            block = struct.pack(">IIH", 2 * number + 1, 0, 0) + packer.pack({"streamtype": name})
            wire.come.put_nowait(struct.pack(">II", 0x80030001, len(block)) + block)
        if "stdin" in streams:
            number = 2 * streams.index("stdin") + 1
            wire.come.put_nowait(struct.pack(">II", number, 1 << 24 | len(typed)) + typed)

    streams_read = server_data(talk(api, reply, client))
    return {name: streams_read.get(2 * number + 1, b"") for number, name in enumerate(streams)}


def over_websocket(api: Api, where: str, protocol: str, *messages: str | bytes) -> list[bytes]:
    """The messages of the server; the first byte is the channel."""
    client = ClientProtocol(parse_uri("ws://localhost/"), subprotocols=[protocol])  # type: ignore[list-item]
    request = client.connect()
    headers = {name.lower(): value for name, value in request.headers.raw_items()}
    reply = api.ask("GET", where, headers=headers)
    assert reply.status == 101, reply.body
    head = "".join(f"{name}: {value}\r\n" for name, value in reply.headers)
    client.send_request(request)
    client.data_to_send()
    client.receive_data(f"HTTP/1.1 101 Switching Protocols\r\n{head}\r\n".encode())
    client.events_received()
    assert client.subprotocol == protocol

    async def speak(wire: Wire) -> None:
        for message in messages:
            if isinstance(message, str):
                client.send_text(message.encode())
            else:
                client.send_binary(message)
            for data in client.data_to_send():
                wire.come.put_nowait(data)
            await asyncio.sleep(0.02)

    client.receive_data(talk(api, reply, speak))
    frames = [event for event in client.events_received() if isinstance(event, Frame)]
    assert frames[-1].opcode is Opcode.CLOSE
    return [bytes(frame.data) for frame in frames[:-1]]


def test_a_command_over_spdy(api: Api) -> None:
    output = over_spdy(api, path(api, "sh", "-c", "echo hi; nonsense", stdin=True, stdout=True, stderr=True))
    assert output["stdout"] == b"hi\n"
    assert output["stderr"] == b"sh: nonsense: command not found\n"
    status = json.loads(output["error"])
    assert (status["status"], status["reason"]) == ("Failure", "NonZeroExitCode")
    assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "127"}]


def test_pipes_and_files_in_a_container(api: Api) -> None:
    script = "echo a | grep a && echo $HOSTNAME > /tmp/x; cat /tmp/x | head -c 8; ls / | wc -l"
    output = over_spdy(api, path(api, "sh", "-c", script, stdin=True, stdout=True, stderr=True))
    assert output["stdout"] == b"a\ncray-ims15\n"
    second_output = over_spdy(api, path(api, "sh", "-c", "cat /tmp/x", stdin=True, stdout=True, stderr=True))
    assert second_output["stdout"].startswith(b"cray-ims-"), "what one shell wrote, another reads"


def test_a_script_and_what_it_reads_come_over_the_same_stream(api: Api) -> None:
    typed = b"for n in 1 2\ndo echo $n\ndone\ncat\n<rest>\n"
    output = over_spdy(api, path(api, "sh", stdin=True, stdout=True, stderr=True), typed)
    assert (output["stdout"], output["stderr"]) == (b"1\n2\n<rest>\n", b"")


@pytest.mark.parametrize(
    ("argv", "out", "err", "code"),
    [
        (("sh", "-ec", "false; echo no"), b"", b"", "1"),
        (("bash", "-euo", "pipefail", "-c", "false | true; echo no"), b"", b"", "1"),
        (("bash", "-c", "nope"), b"", b"bash: nope: command not found\n", "127"),
        (("/bin/sh", "-zc", "echo no"), b"", b"sh: -z: invalid option\n", "2"),
        (("sh", "-c", "exec false; echo no"), b"", b"", "1"),
        (("sh", "-s", "a", "b"), b"a 2\n", b"", "1"),
        (("sh", "-e", "-s"), b"0\n", b"", "1"),
    ],
)
def test_a_shell_takes_options(api: Api, argv: tuple[str, ...], out: bytes, err: bytes, code: str) -> None:
    typed = b"echo $1 $#\nset -u; false\n"
    output = over_spdy(api, path(api, *argv, stdin=True, stdout=True, stderr=True), typed)
    assert (output["stdout"], output["stderr"]) == (out, err)
    assert json.loads(output["error"])["details"]["causes"][0]["message"] == code


@pytest.mark.parametrize(
    ("script", "out", "code"),
    [
        ("date -u +%Y-%m-%d%%; date +%s | wc -c", "[0-9]{4}-[0-9]{2}-[0-9]{2}%\n11\n", 0),
        ("id -u; id -un; uname -s; uname -n; hostname -s", "65534\nnobody\nLinux\n(\\S+)\n\\1\n", 0),
        ("date -d yesterday", "", 2),
        ("date '+%999999999d'", "", 2),
        ("id -x || uname -a || hostname -I", "", 2),
    ],
)
def test_words_behind_a_small_command_count(api: Api, script: str, out: str, code: int) -> None:
    output = over_spdy(api, path(api, "sh", "-c", script, stdin=True, stdout=True, stderr=True))
    assert re.fullmatch(out, output["stdout"].decode())
    assert bool(output["stderr"]) == bool(code)


def test_a_pod_has_a_hosts_file_and_users(api: Api) -> None:
    script = "tail -n 1 /etc/hosts; cut -d: -f1 /etc/passwd | head -n 2"
    output = over_spdy(api, path(api, "sh", "-c", script, stdin=True, stdout=True, stderr=True))
    pod = api.get(f"{PODS}?labelSelector=app.kubernetes.io/name%3Dcray-ims")["items"][0]
    line = f"{pod['status']['podIP']}\t{pod['metadata']['name']}"
    assert output["stdout"].decode() == f"{line}\nroot\nnobody\n"


def test_a_terminal_survives_an_unset_variable(api: Api) -> None:
    where = path(api, "sh", stdin=True, stdout=True, tty=True)
    keys = [b"\x00set -u\r", b"\x00echo $x; echo no\r", b"\x00exec false\r"]
    output = b"".join(message[1:] for message in over_websocket(api, where, "v4.channel.k8s.io", *keys)[:-1])
    assert output == b"/ # set -u\r\n/ # echo $x; echo no\r\nsh: x: parameter not set\r\n/ # exec false\r\n"


def test_a_line_that_never_ends_is_ended(api: Api) -> None:
    output = over_spdy(api, path(api, "sh", "-c", "while true; do :; done", stdin=True, stdout=True, stderr=True))
    assert output["stderr"] == b"sh: killed: the line does more work than this shell allows\n"
    assert json.loads(output["error"])["details"]["causes"][0]["message"] == "137"


def test_bytes_that_are_no_text_pass(api: Api) -> None:
    output = over_spdy(api, path(api, "cat", stdin=True, stdout=True, stderr=True), bytes(range(256)))
    assert output["stdout"] == bytes(range(256))


def test_what_is_typed_over_spdy(api: Api) -> None:
    output = over_spdy(api, path(api, "cat", stdin=True, stdout=True, stderr=True), b"x" * 70_000)
    assert output["stdout"] == b"x" * 70_000
    assert json.loads(output["error"]) == {"metadata": {}, "status": "Success"}


def test_without_stdin_a_program_reads_nothing(api: Api) -> None:
    output = over_spdy(api, path(api, "cat", stdout=True, stderr=True), streams=("error", "stdout", "stderr"))
    assert output["stdout"] == b""


@pytest.mark.parametrize("protocol", ["v4.channel.k8s.io", "v5.channel.k8s.io"])
def test_a_command_over_a_websocket(api: Api, protocol: str) -> None:
    first, *later_messages = over_websocket(
        api, path(api, "sh", "-c", "echo hi; exit 3", stdout=True, stderr=True), protocol
    )
    assert first == b"\x01"
    assert later_messages[0] == b"\x01hi\n"
    assert later_messages[-1][0] == 3
    assert json.loads(later_messages[-1][1:])["details"]["causes"][0]["message"] == "3"


def test_older_protocols_tell_failures_as_text(api: Api) -> None:
    where = path(api, "sh", "-c", "exit 3", stdout=True)
    for protocol in ("channel.k8s.io", "v2.channel.k8s.io", "v3.channel.k8s.io"):
        messages = over_websocket(api, where, protocol)
        assert messages[-1] == b"\x03command terminated with non-zero exit code: exit status 3"


def test_a_channel_is_closed_in_v5(api: Api) -> None:
    where = path(api, "cat", stdin=True, stdout=True)
    messages = over_websocket(api, where, "v5.channel.k8s.io", b"\x00abc", b"\xff\x00")
    assert messages[1] == b"\x01abc"
    assert json.loads(messages[-1][1:])["status"] == "Success"


def test_base64_for_clients_that_know_text_only(api: Api) -> None:
    where = path(api, "sh", stdin=True, stdout=True)
    typed = "0" + base64.b64encode(b"echo hi\nexit\n").decode()
    messages = over_websocket(api, where, "v4.base64.channel.k8s.io", "9%", typed)
    assert messages[1] == b"1" + base64.b64encode(b"hi\n")
    assert json.loads(base64.b64decode(messages[-1][1:]))["status"] == "Success"


def test_a_terminal_echoes_and_has_a_size(api: Api) -> None:
    sizes = []

    async def program(run: Exec) -> int:
        while await run.read() != b"q":
            pass
        sizes.append(run.size)
        await run.write_error(b"on the terminal")
        return 0

    api.site.context.cluster.programs["shell"] = program
    where = path(api, "x", stdin=True, stdout=True, tty=True)
    resize = b"\x04" + json.dumps({"Width": 132, "Height": 50}).encode()
    messages = over_websocket(api, where, "v4.channel.k8s.io", b"\x04{", b"\x04[]", resize, b"\x00q")
    assert sizes == [(132, 50)]
    assert messages[1] == b"\x01on the terminal"


def test_the_small_shell_on_a_terminal(api: Api) -> None:
    where = path(api, "sh", stdin=True, stdout=True, tty=True)
    keys = [b"\x00echo hx\x7fi\r", b"\x00nonsense\r", b"\x00exit 4\r"]
    output = b"".join(message[1:] for message in over_websocket(api, where, "v4.channel.k8s.io", *keys)[:-1])
    assert output == (b"/ # echo hx\b \bi\r\nhi\r\n/ # nonsense\r\nsh: nonsense: command not found\r\n/ # exit 4\r\n")


def test_a_command_on_a_terminal_reads_until_control_d(api: Api) -> None:
    where = path(api, "sh", stdin=True, stdout=True, tty=True)
    keys = [b"\x00cat\r", b"\x00one\r", b"\x00\x04", b"\x00echo 'a\r", b"\x00b'\r", b"\x00exit\r"]
    output = b"".join(message[1:] for message in over_websocket(api, where, "v4.channel.k8s.io", *keys)[:-1])
    assert output == b"/ # cat\r\none\r\none\r\n/ # echo 'a\r\n> b'\r\na\r\nb\r\n/ # exit\r\n"


def test_a_program_is_stopped_when_its_client_goes(api: Api) -> None:
    ended = []

    async def program(run: Exec) -> int:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(run.argv)
        return 0

    api.site.context.cluster.programs["shell"] = program
    reply = api.ask("POST", path(api, "x", stdout=True), headers=SPDY)

    async def client(wire: Wire) -> None:
        packer = Packer()
        for number, name in enumerate(("error", "stdout")):
            block = struct.pack(">IIH", 2 * number + 1, 0, 0) + packer.pack({"streamtype": name})
            wire.come.put_nowait(struct.pack(">II", 0x80030001, len(block)) + block)
        await asyncio.sleep(0.05)
        wire.come.put_nowait(b"")

    talk(api, reply, client)
    assert ended == [["x"]]


def test_a_client_that_sends_nonsense_is_disconnected(api: Api) -> None:
    reply = api.ask("POST", path(api, "x", stdout=True), headers=SPDY)

    async def client(wire: Wire) -> None:
        wire.come.put_nowait(b"GET / HTTP/1.1\r\n\r\n" * 10)

    assert talk(api, reply, client) == b""


def test_attach_shows_new_output_only(api: Api) -> None:
    context = api.site.context
    where = path(api, stdout=True).replace("/exec?", "/attach?")
    pod = where.split("/")[-2]
    context.cluster.write_log("services", pod, "cray-ims", ["before"])
    reply = api.ask("POST", where, headers=SPDY)

    async def client(wire: Wire) -> None:
        packer = Packer()
        for number, name in enumerate(("error", "stdout")):
            block = struct.pack(">IIH", 2 * number + 1, 0, 0) + packer.pack({"streamtype": name})
            wire.come.put_nowait(struct.pack(">II", 0x80030001, len(block)) + block)
        await asyncio.sleep(0.1)
        context.cluster.write_log("services", pod, "cray-ims", ["after"])
        await asyncio.sleep(0.4)
        context.cluster.end("services", pod, "cray-ims", 0)

    assert server_data(talk(api, reply, client))[3] == b"after\n"


def test_refusals(api: Api) -> None:
    where = path(api, "ls", stdout=True)
    assert api.message("GET", where) == "400 BadRequest: Upgrade request required"
    assert api.message("POST", path(api, stdout=True), headers=SPDY).startswith(
        "400 BadRequest: you must specify at lea"
    )
    assert api.message("POST", path(api, "ls"), headers=SPDY).startswith(
        "400 BadRequest: you must specify at least 1 of"
    )
    assert api.message("POST", f"{where}&container=x", headers=SPDY).startswith(
        "400 BadRequest: container x is not val"
    )
    wrong = {**SPDY, "x-stream-protocol-version": "v9.channel.k8s.io"}
    assert "unable to negotiate protocol" in api.message("POST", where, headers=wrong)
    pod = where.partition("?")[0].split("/")[-2]
    api.site.context.cluster.end("services", pod, "cray-ims", 1)
    assert api.message("POST", where, headers=SPDY) == (
        '500 InternalError: unable to upgrade connection: container not found ("cray-ims")'
    )
