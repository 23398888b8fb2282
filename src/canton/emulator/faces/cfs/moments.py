"""How the service writes instants."""

from __future__ import annotations

from datetime import UTC, datetime


def stamp(moment: float) -> str:
    """For layers, configurations and sources: whole seconds, with a Z."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def start_time(moment: float) -> str:
    """For sessions: whole seconds, without a zone."""
    return at(moment).isoformat(timespec="seconds")


def at(moment: float) -> datetime:
    """Without a zone, as the service compares them."""
    return datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)
