"""New identifiers: sortable by time of creation, and random."""

from __future__ import annotations

import secrets
import time


def fresh(prefix: str) -> str:
    return f"{prefix}_{time.time_ns() // 1_000_000:012x}{secrets.token_hex(8)}"
