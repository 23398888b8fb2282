"""The result of a command: exit status, standard output, standard error."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class CommandResult(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., CommandResult]
