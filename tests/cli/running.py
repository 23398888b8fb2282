"""What running a command gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Ran(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Ran]
