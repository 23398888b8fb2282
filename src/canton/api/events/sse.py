"""Server-sent events on the wire, as the HTML standard has them (§9.2)."""

from __future__ import annotations

import json
from dataclasses import replace

from canton.api.auth.attribution import FIELDS
from canton.domain.data import JsonObject
from canton.domain.instants import to_text
from canton.store.outbox import StoredEvent

MEDIA_TYPE = "text/event-stream"
HEADERS = {
    "Content-Type": f"{MEDIA_TYPE}; charset=utf-8",
    "Cache-Control": "no-store",
    # nginx would otherwise keep events back until its buffer is full.
    "X-Accel-Buffering": "no",
}
KEEP_ALIVE = b": keep-alive\n\n"


def unattributed(event: StoredEvent) -> StoredEvent:
    """The event without who did it and why; the same object when it says neither."""
    if FIELDS.isdisjoint(event.body):
        return event
    return replace(event, body={name: value for name, value in event.body.items() if name not in FIELDS})


def as_json(event: StoredEvent, tenant: str | None) -> JsonObject:
    return {
        "at": to_text(event.at),
        "kind": event.kind,
        "subject": event.subject,
        "tenant": tenant,
        "body": event.body,
    }


def render(event: StoredEvent, tenant: str | None) -> bytes:
    """All lines but the id, which is each reader's own."""
    return _lines(event.kind, as_json(event, tenant))


def numbered(cursor: str, lines: bytes) -> bytes:
    return b"id: %s\n%s" % (cursor.encode(), lines)


def progress(cursor: str) -> bytes:
    """No event, but the place to resume at: an id without data is remembered all the same."""
    return f"id: {cursor}\n\n".encode()


def opening(cursor: str) -> bytes:
    return b"retry: 1000\n" + progress(cursor)


def behind(count: int) -> bytes:
    """Without an id: it is about the reader, and not part of what it resumes."""
    return _lines("canton.behind", {"behind": count})


def _lines(kind: str, data: JsonObject) -> bytes:
    # JSON writes no line break, and a kind is a word of ours.
    return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()
