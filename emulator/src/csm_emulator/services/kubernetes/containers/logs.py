"""What containers said. Whoever follows a log keeps a position in it, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from csm_emulator.cluster.logs import Line
from csm_emulator.cluster.pods import RUNNING, WAITING, Pod
from csm_emulator.context import Context
from csm_emulator.services.kubernetes.auth.identity import is_true
from csm_emulator.services.kubernetes.containers import names as containers
from csm_emulator.services.kubernetes.pods.view import waiting_reason
from csm_emulator.services.kubernetes.reads.ages import moment_of
from csm_emulator.services.kubernetes.requests import Request
from csm_emulator.services.kubernetes.statuses import Mistake, bad_request, invalid_value
from csm_emulator.state.clock import rfc3339
from csm_emulator.transport.call import Call, Reply, utf8

AT_ONCE = 1000
"""So many lines are read in one go."""
LOOK = 0.25
TEXT = "text/plain"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of the log."""

    follow: bool
    tail: int | None
    since: float
    timestamps: bool
    limit: int | None


class Logs:
    def __init__(self, context: Context) -> None:
        self._context = context

    def read(self, request: Request) -> Reply:
        wanted = _wanted(request.call, self._context.clock.now())
        pod, container = containers.find(self._context, request)
        if is_true(request.call.first("previous")):
            raise bad_request(f'previous terminated container "{container.name}" in pod "{pod.name}" not found')
        if container.state == WAITING:
            raise bad_request(
                f'container "{container.name}" in pod "{pod.name}" is waiting to start: {waiting_reason(pod)}'
            )
        follower = _Follower(self._context, pod, container.name, wanted)
        if wanted.follow:
            return Reply(200, media=TEXT, stream=follower.stream)
        return Reply(200, b"".join(follower.all()), TEXT)


class _Follower:
    def __init__(self, context: Context, pod: Pod, container: str, wanted: Wanted) -> None:
        self._context = context
        self._pod = pod
        self._container = container
        self._wanted = wanted
        self._position = 0
        self._left = wanted.limit
        self._piece = b""

    def all(self) -> list[bytes]:
        """What was said by now."""
        self._skip()
        pieces = [self._taken()]
        while self._fill():
            pieces.append(self._taken())
        return pieces

    async def stream(self) -> AsyncGenerator[bytes, None]:
        # What is yielded is bound to no name here: a slow reader would hold it twice.
        self._skip()
        if self._piece:
            yield self._taken()
        while self._left is None or self._left > 0:
            ended = self._ended()
            while self._fill():
                yield self._taken()
            if ended or not await self._context.change_signal.wait(LOOK):
                return

    def _skip(self) -> None:
        """To the last lines, when only those are asked for."""
        if self._wanted.tail is None:
            return
        lines, self._position = self._follow(0, None)
        late = [line for line in lines if line[0] >= self._wanted.since]
        self._piece = self._text(late[-self._wanted.tail :] if self._wanted.tail else [])

    def _fill(self) -> bool:
        """Whether there is more now."""
        while not self._piece and (self._left is None or self._left > 0):
            lines, self._position = self._follow(self._position, AT_ONCE)
            if not lines:
                return False
            self._piece = self._text([line for line in lines if line[0] >= self._wanted.since])
        return bool(self._piece)

    def _follow(self, after: int, most: int | None) -> tuple[list[Line], int]:
        return self._context.cluster.follow(self._pod.namespace, self._pod.name, self._container, after, most)

    def _ended(self) -> bool:
        """Whether nothing will be said any more."""
        pod = self._context.cluster.pod(self._pod.namespace, self._pod.name)
        if pod is None or pod.uid != self._pod.uid:
            return True
        container = pod.container(self._container)
        return container is None or container.state != RUNNING

    def _text(self, lines: Sequence[Line]) -> bytes:
        if self._wanted.timestamps:
            return utf8("".join(f"{rfc3339(moment, 9)} {text}\n" for moment, text in lines))
        return utf8("".join(f"{text}\n" for _, text in lines))

    def _taken(self) -> bytes:
        data, self._piece = self._piece, b""
        if self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        return data


def _wanted(call: Call, now: float) -> Wanted:
    since = 0.0
    if call.first("sinceSeconds"):
        since = now - _number(call, "sinceSeconds", 1)
    elif call.first("sinceTime"):
        since = moment_of(call.first("sinceTime"))
    return Wanted(
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
        wrong: Mistake = invalid_value(name, text, f"must be greater than {'or equal to ' if not least else ''}0")
        raise bad_request(f'PodLogOptions "" is invalid: {wrong}')
    return int(text)
