"""Logs of containers. A follower stores only its position in the log."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from csm_emulator.cluster.logs import Line
from csm_emulator.cluster.pods import RUNNING, WAITING, Pod
from csm_emulator.context import Context
from csm_emulator.services.kubernetes.auth.identity import is_true
from csm_emulator.services.kubernetes.containers import container_lookup
from csm_emulator.services.kubernetes.pods.view import waiting_reason
from csm_emulator.services.kubernetes.reads.ages import moment_of
from csm_emulator.services.kubernetes.requests import Request
from csm_emulator.services.kubernetes.statuses import FieldError, bad_request, invalid_value
from csm_emulator.state.clock import rfc3339
from csm_emulator.transport.call import Call, Reply, utf8

LINES_PER_READ = 1000
"""Lines that are read at once."""
POLL_INTERVAL = 0.25
TEXT = "text/plain"


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Which part of the log the client wants, and in which form."""

    follow: bool
    tail: int | None
    since: float
    timestamps: bool
    limit: int | None


class Logs:
    def __init__(self, context: Context) -> None:
        self._context = context

    def read(self, request: Request) -> Reply:
        options = _log_options(request.call, self._context.clock.now())
        pod, container = container_lookup.find_container(self._context, request)
        if is_true(request.call.first("previous")):
            raise bad_request(f'previous terminated container "{container.name}" in pod "{pod.name}" not found')
        if container.state == WAITING:
            raise bad_request(
                f'container "{container.name}" in pod "{pod.name}" is waiting to start: {waiting_reason(pod)}'
            )
        follower = _Follower(self._context, pod, container.name, options)
        if options.follow:
            return Reply(200, media=TEXT, stream=follower.stream)
        return Reply(200, b"".join(follower.read_all()), TEXT)


class _Follower:
    def __init__(self, context: Context, pod: Pod, container: str, options: LogOptions) -> None:
        self._context = context
        self._pod = pod
        self._container = container
        self._options = options
        self._position = 0
        self._remaining = options.limit
        self._chunk = b""

    def read_all(self) -> list[bytes]:
        """The log up to now."""
        self._skip_to_tail()
        chunks = [self._take_chunk()]
        while self._fill():
            chunks.append(self._take_chunk())
        return chunks

    async def stream(self) -> AsyncGenerator[bytes, None]:
        # The yielded chunk is bound to no name here: with a slow reader it would stay in memory twice.
        self._skip_to_tail()
        if self._chunk:
            yield self._take_chunk()
        while self._remaining is None or self._remaining > 0:
            ended = self._is_complete()
            while self._fill():
                yield self._take_chunk()
            if ended or not await self._context.change_signal.wait(POLL_INTERVAL):
                return

    def _skip_to_tail(self) -> None:
        """Start at the last lines, when the client asked for ``tailLines``."""
        if self._options.tail is None:
            return
        lines, self._position = self._follow(0, None)
        late = [line for line in lines if line[0] >= self._options.since]
        self._chunk = self._text(late[-self._options.tail :] if self._options.tail else [])

    def _fill(self) -> bool:
        """Read the next chunk; False when there is none yet."""
        while not self._chunk and (self._remaining is None or self._remaining > 0):
            lines, self._position = self._follow(self._position, LINES_PER_READ)
            if not lines:
                return False
            self._chunk = self._text([line for line in lines if line[0] >= self._options.since])
        return bool(self._chunk)

    def _follow(self, position: int, most: int | None) -> tuple[list[Line], int]:
        return self._context.cluster.follow(self._pod.namespace, self._pod.name, self._container, position, most)

    def _is_complete(self) -> bool:
        """Whether the log cannot grow any more."""
        pod = self._context.cluster.pod(self._pod.namespace, self._pod.name)
        if pod is None or pod.uid != self._pod.uid:
            return True
        container = pod.container(self._container)
        return container is None or container.state != RUNNING

    def _text(self, lines: Sequence[Line]) -> bytes:
        if self._options.timestamps:
            return utf8("".join(f"{rfc3339(moment, 9)} {text}\n" for moment, text in lines))
        return utf8("".join(f"{text}\n" for _, text in lines))

    def _take_chunk(self) -> bytes:
        data, self._chunk = self._chunk, b""
        if self._remaining is not None:
            data = data[: self._remaining]
            self._remaining -= len(data)
        return data


def _log_options(call: Call, now: float) -> LogOptions:
    since = 0.0
    if call.first("sinceSeconds"):
        since = now - _number(call, "sinceSeconds", 1)
    elif call.first("sinceTime"):
        since = moment_of(call.first("sinceTime"))
    return LogOptions(
        is_true(call.first("follow")),
        _number(call, "tailLines", 0) if call.first("tailLines") else None,
        since,
        is_true(call.first("timestamps")),
        _number(call, "limitBytes", 1) if call.first("limitBytes") else None,
    )


def _number(call: Call, name: str, least: int) -> int:
    text = call.first(name)
    if not text.lstrip("-").isdecimal() or len(text) > 18:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    if int(text) < least:
        wrong: FieldError = invalid_value(name, text, f"must be greater than {'or equal to ' if not least else ''}0")
        raise bad_request(f'PodLogOptions "" is invalid: {wrong}')
    return int(text)
