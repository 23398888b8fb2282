"""Watches: the changes after a version, one JSON document per line."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.auth.identity import is_true
from csm_emulator.services.kubernetes.kinds.conversion import convert
from csm_emulator.services.kubernetes.reads import tables
from csm_emulator.services.kubernetes.reads.read import request_selector
from csm_emulator.services.kubernetes.reads.selectors import Predicate
from csm_emulator.services.kubernetes.requests import Request
from csm_emulator.services.kubernetes.statuses import bad_request, expired
from csm_emulator.services.kubernetes.storage.history import Change
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.transport.call import JSON, Reply, utf8

BOOKMARK_EVERY = 60.0
"""Virtual seconds."""
LONGEST = 3600.0
"""Virtual seconds of a watch without ``timeoutSeconds``."""
POLL_INTERVAL = 0.25


@dataclass(frozen=True, slots=True)
class WatchHandler:
    objects: Objects

    def watch(self, request: Request) -> Reply:
        text = request.call.first("resourceVersion")
        if text and not text.isdecimal():
            raise bad_request(f"Invalid value: {json.dumps(text)}: strconv.ParseUint: invalid syntax")
        watcher = _Watcher(self.objects, request, request_selector(request), int(text or "0"))
        return Reply(200, media=JSON, stream=watcher.lines)


class _Watcher:
    """One watch; it stores only the version up to which it has read."""

    def __init__(self, objects: Objects, request: Request, matches: Predicate, version: int) -> None:
        self._objects = objects
        self._request = request
        self._matches = matches
        self._position = version
        self._with_columns = True

    async def lines(self) -> AsyncGenerator[bytes, None]:
        clock, history = self._objects.context.clock, self._objects.store.history
        end = clock.now() + self._longest()
        bookmark = clock.now() + BOOKMARK_EVERY
        initial = is_true(self._request.call.first("sendInitialEvents"))
        if initial or self._position == 0:
            for line in self._initial_events(bookmark=initial):
                yield line
        while True:
            if self._position < history.oldest:
                yield self._error()
                return
            self._objects.refresh()
            # Changes that happen while a slow client reads these lines are sent in the next round.
            changes = list(history.after(self._position, self._request.kind.storage_key))
            self._position = max(self._position, self._objects.store.version)
            for change in changes:
                line = self._line(change)
                if line:
                    yield line
            if clock.now() >= bookmark:
                bookmark = clock.now() + BOOKMARK_EVERY
                if self._bookmarks:
                    yield self._bookmark({})
            if clock.now() >= end or not await self._objects.context.change_signal.wait(POLL_INTERVAL):
                return

    def _longest(self) -> float:
        text = self._request.call.first("timeoutSeconds")
        return float(text) if text.isdecimal() and 0 < int(text) < 10**9 else LONGEST

    @property
    def _bookmarks(self) -> bool:
        return is_true(self._request.call.first("allowWatchBookmarks"))

    def _initial_events(self, *, bookmark: bool) -> Iterator[bytes]:
        """The existing objects, as ADDED events."""
        version = self._objects.store.version
        for item in self._objects.list(self._request.kind, self._request.namespace):
            if self._matches(item):
                yield self._event("ADDED", item)
        self._position = version
        if bookmark:
            yield self._bookmark({"annotations": {"k8s.io/initial-events-end": "true"}})

    def _line(self, change: Change) -> bytes:
        """The event line; empty when it does not concern this watch.

        An object that begins to match is ADDED for this watch, and one that no longer matches is DELETED.
        """
        space = self._request.namespace
        if space and change.object["metadata"].get("namespace") != space:
            return b""
        matches_now = change.type != "DELETED" and self._matches(change.object)
        matched_before = change.previous is not None and self._matches(change.previous)
        if matches_now:
            return self._event("MODIFIED" if matched_before else "ADDED", change.object)
        return self._event("DELETED", change.object) if matched_before else b""

    def _event(self, kind: str, original: Json) -> bytes:
        value = convert(self._request.kind, original)
        form = tables.requested_form(self._request.call)
        if form == tables.TABLE:
            now = self._objects.context.clock.now()
            meta = {"resourceVersion": value["metadata"]["resourceVersion"]}
            value = tables.table(self._request.kind, [value], self._request.call, now, meta, head=self._with_columns)
            self._with_columns = False
        elif form:
            value = tables.partial(value)
        return _as_line({"type": kind, "object": value})

    def _bookmark(self, extra_meta: Json) -> bytes:
        kind = self._request.kind
        meta = {"resourceVersion": str(self._position), "creationTimestamp": None, **extra_meta}
        return _as_line(
            {"type": "BOOKMARK", "object": {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta}}
        )

    def _error(self) -> bytes:
        return _as_line({"type": "ERROR", "object": expired(self._position, self._objects.store.history.oldest)})


def _as_line(value: Json) -> bytes:
    return utf8(json.dumps(value, separators=(",", ":"), ensure_ascii=False)) + b"\n"
