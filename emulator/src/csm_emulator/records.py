"""JSON as the emulator holds it. Each service shapes its own records, so their fields have no common type."""

from __future__ import annotations

from typing import Any, TypeAlias

Json: TypeAlias = Any
"""Any value that JSON can express."""
Record: TypeAlias = dict[str, Any]
"""One stored object, by the names of its fields."""
