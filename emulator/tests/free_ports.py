"""Ports for servers that accept no socket: they lie below the system's ephemeral range, so that the system gives none
of them away between the choice and the use.
"""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack, suppress

FROM, UNTIL = 20000, 32000


def in_a_row(count: int) -> int:
    """The first of the ports."""
    for first in range(FROM + os.getpid() % 1000 * 10, UNTIL - count, count):
        with ExitStack() as sockets, suppress(OSError):
            for port in range(first, first + count):
                sockets.enter_context(socket.create_server(("127.0.0.1", port)))
            return first
    raise AssertionError(f"no {count} ports in a row are free")
