"""Watches: what changes, line by line, from a version on."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass

from csm_emulator.services.kubernetes.auth.identity import is_true
from csm_emulator.services.kubernetes.kinds.conversion import shown
from csm_emulator.services.kubernetes.kinds.kinds import Json
from csm_emulator.services.kubernetes.reads import tables
from csm_emulator.services.kubernetes.reads.read import chooser
from csm_emulator.services.kubernetes.reads.selectors import Test
from csm_emulator.services.kubernetes.requests import Request
from csm_emulator.services.kubernetes.statuses import bad_request, expired
from csm_emulator.services.kubernetes.storage.history import Change
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.transport.call import JSON, Reply, utf8

BOOKMARK_EVERY = 60.0
"""Virtual seconds."""
LONGEST = 3600.0
"""A watch that asked for no end of its own."""
LOOK = 0.25


@dataclass(frozen=True, slots=True)
class Watching:
    objects: Objects

    def watch(self, request: Request) -> Reply:
        text = request.call.first("resourceVersion")
        if text and not text.isdecimal():
            raise bad_request(f"Invalid value: {json.dumps(text)}: strconv.ParseUint: invalid syntax")
        watcher = _Watcher(self.objects, request, chooser(request), int(text or "0"))
        return Reply(200, media=JSON, stream=watcher.lines)


class _Watcher:
    """Keeps how far it has read, and nothing else."""

    def __init__(self, objects: Objects, request: Request, chosen: Test, version: int) -> None:
        self._objects = objects
        self._request = request
        self._chosen = chosen
        self._read = version
        self._head = True

    async def lines(self) -> AsyncGenerator[bytes, None]:
        clock, history = self._objects.context.clock, self._objects.store.history
        end = clock.now() + self._longest()
        bookmark = clock.now() + BOOKMARK_EVERY
        initial = is_true(self._request.call.first("sendInitialEvents"))
        if initial or self._read == 0:
            for line in self._beginning(bookmark=initial):
                yield line
        while True:
            if self._read < history.oldest:
                yield self._error()
                return
            self._objects.refresh()
            # What changes while a slow reader takes these lines is for the next turn.
            changes = list(history.after(self._read, self._request.kind.place))
            self._read = max(self._read, self._objects.store.version)
            for change in changes:
                line = self._line(change)
                if line:
                    yield line
            if clock.now() >= bookmark:
                bookmark = clock.now() + BOOKMARK_EVERY
                if self._bookmarks:
                    yield self._bookmark({})
            if clock.now() >= end or not await self._objects.context.change_signal.wait(LOOK):
                return

    def _longest(self) -> float:
        text = self._request.call.first("timeoutSeconds")
        return float(text) if text.isdecimal() and 0 < int(text) < 10**9 else LONGEST

    @property
    def _bookmarks(self) -> bool:
        return is_true(self._request.call.first("allowWatchBookmarks"))

    def _beginning(self, *, bookmark: bool) -> Iterator[bytes]:
        """What is there already, as if it had just been added."""
        version = self._objects.store.version
        for found in self._objects.list(self._request.kind, self._request.namespace):
            if self._chosen(found):
                yield self._event("ADDED", found)
        self._read = version
        if bookmark:
            yield self._bookmark({"annotations": {"k8s.io/initial-events-end": "true"}})

    def _line(self, change: Change) -> bytes:
        """Empty when it is not for this watcher. What is no longer chosen is gone for it, what is newly chosen new."""
        space = self._request.namespace
        if space and change.object["metadata"].get("namespace") != space:
            return b""
        is_now = change.type != "DELETED" and self._chosen(change.object)
        was = change.before is not None and self._chosen(change.before)
        if is_now:
            return self._event("MODIFIED" if was else "ADDED", change.object)
        return self._event("DELETED", change.object) if was else b""

    def _event(self, kind: str, found: Json) -> bytes:
        value = shown(self._request.kind, found)
        form = tables.wanted(self._request.call)
        if form == tables.TABLE:
            now = self._objects.context.clock.now()
            meta = {"resourceVersion": value["metadata"]["resourceVersion"]}
            value = tables.table(self._request.kind, [value], self._request.call, now, meta, head=self._head)
            self._head = False
        elif form:
            value = tables.partial(value)
        return _as_line({"type": kind, "object": value})

    def _bookmark(self, more: Json) -> bytes:
        kind = self._request.kind
        meta = {"resourceVersion": str(self._read), "creationTimestamp": None, **more}
        return _as_line(
            {"type": "BOOKMARK", "object": {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta}}
        )

    def _error(self) -> bytes:
        return _as_line({"type": "ERROR", "object": expired(self._read, self._objects.store.history.oldest)})


def _as_line(value: Json) -> bytes:
    return utf8(json.dumps(value, separators=(",", ":"), ensure_ascii=False)) + b"\n"
