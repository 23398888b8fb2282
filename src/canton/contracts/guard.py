"""The last question before a request that changes something leaves: is it still ours to send?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Guard: TypeAlias = Callable[[], None]
"""Raises ``LeaseLost`` when another worker may have taken over; a driver lets that pass through."""
