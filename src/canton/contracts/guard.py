"""The check immediately before a request that changes a device: does this worker still hold the lease?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Guard: TypeAlias = Callable[[], None]
"""Raises ``LeaseLost`` if another worker may have taken over; a driver does not catch it."""
