"""The stream of events: wherever the connection is cut, every event arrives once."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice, pairwise
from threading import Event as Flag
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canton.client import Client, Problem, Unreachable
from canton.client import events as streams
from canton.client.sse import Message, Parser
from client import samples
from client.scripted_server import RecordedRequest, Reply, Script, items, problem, serving

WORD = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=12)
MESSAGE = st.tuples(WORD.filter(bool), st.lists(WORD, min_size=1, max_size=3), WORD)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def written(kind: str, lines: list[str], identity: str, end: str) -> str:
    stream_lines = [f"id: {identity}", f"event: {kind}", ": a comment", *(f"data: {line}" for line in lines), "", ""]
    return end.join(stream_lines[:-1]) + end


class TestParser:
    @given(st.lists(MESSAGE, max_size=5), ENDS, st.lists(st.integers(0, 400), max_size=8), st.booleans())
    def test_reads_the_same_however_it_is_cut(
        self, messages: list[tuple[str, list[str], str]], end: str, cuts: list[int], bom: bool
    ) -> None:
        content = ("\ufeff" * bom + "".join(written(*fields, end) for fields in messages)).encode()
        # A CR that ends everything could be half of a CRLF: only the next byte tells.
        edges = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
        parser = Parser()
        pieces = [content[start:stop] for start, stop in pairwise(edges)] + [b":\n"]
        parsed = [message for piece in pieces for message in parser.feed(piece)]
        assert parsed == [Message(kind, "\n".join(lines), identity) for kind, lines, identity in messages]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_every_place_to_cut(self, end: str) -> None:
        content = (written("e", ["x", "y"], "1", end) + written("f", ["ü"], "2", end)).encode()
        for cut in range(len(content)):
            parser = Parser()
            parsed = [message for piece in (content[:cut], content[cut:], b":\n") for message in parser.feed(piece)]
            assert parsed == [Message("e", "x\ny", "1"), Message("f", "ü", "2")]

    @given(st.binary(max_size=200), st.integers(0, 200))
    def test_takes_anything(self, content: bytes, cut: int) -> None:
        whole, halves = Parser(), Parser()
        expected = list(whole.feed(content))
        assert [*halves.feed(content[:cut]), *halves.feed(content[cut:])] == expected

    def test_an_id_counts_only_once_its_message_is_complete(self) -> None:
        parser = Parser("1")
        assert list(parser.feed(b"id: 2\ndata: x\n")) == []
        assert parser.last_id == "1"
        assert list(parser.feed(b"\n")) == [Message("message", "x", "2")]
        assert parser.last_id == "2"

    def test_an_id_without_data_moves_the_place_to_resume(self) -> None:
        parser = Parser()
        assert list(parser.feed(b"retry: 1000\nid: 9\n\n")) == []
        assert parser.last_id == "9"

    def test_an_id_with_a_nul_is_no_id(self) -> None:
        parser = Parser("1")
        assert [message.id for message in parser.feed(b"id: 2\0\ndata: x\n\n")] == ["1"]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    monkeypatch.setattr(streams, "LONGEST_PAUSE", 0.01)
    with serving(Script()) as served:
        yield served


def chunk(*numbers: int, opening: int | None = None, tail: str = "") -> Reply:
    """A part of the stream, after which the connection is lost."""
    text = "" if opening is None else f"retry: 1000\nid: {opening}\n\n"
    text += "".join(f"id: {n}\nevent: e\ndata: {json.dumps(samples.event(subject=str(n)))}\n\n" for n in numbers)
    return Reply(raw=(text + tail).encode(), headers={"Content-Type": "text/event-stream"}, cut=True)


def subjects(script: Script, count: int, **options: str) -> list[str]:
    with Client(script.url, "t") as client, client.events.stream(patience=5, **options) as stream:
        return [event["subject"] for event in islice(stream, count)]


def resumed(script: Script) -> list[str | None]:
    return [request.headers.get("last-event-id") for request in script.requests]


class TestStream:
    def test_goes_on_after_the_last_event(self, script: Script) -> None:
        script.on("GET /v1/events", chunk(1, 2, opening=0), chunk(3), chunk(), chunk(4, 5))
        assert subjects(script, 5) == ["1", "2", "3", "4", "5"]
        assert resumed(script) == [None, "2", "3", "3"]

    def test_half_an_event_is_asked_for_again(self, script: Script) -> None:
        script.on("GET /v1/events", chunk(1, tail="id: 2\nevent: e\ndata: {"), chunk(2))
        assert subjects(script, 2) == ["1", "2"]
        assert resumed(script) == [None, "1"]

    def test_nothing_is_missed_before_the_first_event(self, script: Script) -> None:
        """The server says where "from now on" begins; a connection lost before any event resumes there."""
        script.on("GET /v1/events", chunk(opening=7), chunk(8))
        assert subjects(script, 1) == ["8"]
        assert resumed(script) == [None, "7"]

    def test_an_event_that_comes_again_is_not_given_again(self, script: Script) -> None:
        script.on("GET /v1/events", chunk(1, 2), chunk(2, 3))
        assert subjects(script, 3) == ["1", "2", "3"]

    def test_being_behind_is_no_event_and_moves_nothing(self, script: Script) -> None:
        script.on("GET /v1/events", chunk(1, tail='event: canton.behind\ndata: {"behind": 9}\n\n'), chunk(2))
        assert subjects(script, 2) == ["1", "2"]
        assert resumed(script) == [None, "1"]

    def test_filters_and_beginning(self, script: Script) -> None:
        script.on("GET /v1/events", chunk(1), chunk(2))
        assert subjects(script, 2, tenant="psi", subject="op_1", after="start") == ["1", "2"]
        assert [request.query for request in script.requests] == [
            {"tenant": "psi", "subject": "op_1", "after": "start"},
            {"tenant": "psi", "subject": "op_1"},
        ]

    def test_a_server_that_is_away_is_waited_for(self, script: Script) -> None:
        script.on("GET /v1/events", chunk(1), Reply(cut=True), problem(503, "too-busy", "full"), chunk(2))
        assert subjects(script, 2) == ["1", "2"]

    def test_a_server_that_stays_away_is_not(self, script: Script) -> None:
        script.on("GET /v1/events", chunk(1), Reply(cut=True))
        with Client(script.url, "t") as client, client.events.stream(patience=0.05) as stream:
            events = iter(stream)
            next(events)
            with pytest.raises(Unreachable):
                next(events)

    def test_a_refusal_is_a_problem(self, script: Script) -> None:
        script.on("GET /v1/events", problem(400, "invalid-cursor", "not ours"))
        with pytest.raises(Problem, match="not ours"):
            subjects(script, 1, after="nonsense")

    def test_is_closed_at_once_while_another_thread_reads_it(self) -> None:
        """As Ctrl-C closes ``--watch`` while the server sends nothing."""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        with socket.create_server(("127.0.0.1", 0)) as server:
            stream = Client(f"http://127.0.0.1:{server.getsockname()[1]}", "t").events.stream(patience=0)
            connecting = Thread(target=stream.open)
            connecting.start()
            connection, _ = server.accept()
            connection.sendall(head + b"5\r\n: hi\n\r\n")
            connecting.join(5)
            reading = Flag()

            def read() -> None:
                reading.set()
                with suppress(Exception):  # the exception of the closed stream does not matter here
                    list(stream)

            Thread(target=read, daemon=True).start()
            assert reading.wait(5)
            time.sleep(0.2)
            closing = Thread(target=stream.close)
            closing.start()
            closing.join(5)
            try:
                assert not closing.is_alive()
            finally:
                connection.close()


def test_pages_of_events_need_no_stream(script: Script) -> None:
    def reply(request: RecordedRequest) -> Reply:
        assert "event-stream" not in request.headers["accept"]
        return items(samples.event())

    script.on("GET /v1/events", reply)
    with Client(script.url, "t") as client:
        assert [event["kind"] for event in client.events.list()] == ["tenant.created"]
