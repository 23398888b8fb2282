"""The text of server-sent events (HTML standard, section 9.2)."""

from __future__ import annotations

import json
from dataclasses import replace

from canton.api.auth.attribution import FIELDS
from canton.domain.json_types import JsonObject
from canton.domain.timestamps import to_text
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
    """The event without its actor and reason; the same object if it has neither."""
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
    """All lines but the id, which differs between readers."""
    return _lines(event.kind, as_json(event, tenant))


def numbered(cursor: str, lines: bytes) -> bytes:
    return b"id: %s\n%s" % (cursor.encode(), lines)


def progress(cursor: str) -> bytes:
    """An id without an event, from which a client resumes: clients remember it without data too."""
    return f"id: {cursor}\n\n".encode()


def opening(cursor: str) -> bytes:
    return b"retry: 1000\n" + progress(cursor)


def behind(count: int) -> bytes:
    """A warning without an id: it is not an event to resume after."""
    return _lines("canton.behind", {"behind": count})


def _lines(kind: str, data: JsonObject) -> bytes:
    # JSON writes no line break, and a kind is a word of ours.
    return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()
