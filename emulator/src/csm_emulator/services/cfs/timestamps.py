"""Time formats of CFS."""

from __future__ import annotations

from csm_emulator.dialects.python_times import without_zone
from csm_emulator.state.clock import rfc3339


def stamp(moment: float) -> str:
    """The format of layers, configurations and sources: whole seconds, with a Z."""
    return rfc3339(moment, 0)


def start_time(moment: float) -> str:
    """The format of sessions: whole seconds, without a zone."""
    return without_zone(moment).isoformat(timespec="seconds")
