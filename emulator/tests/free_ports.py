"""Ports for servers that take no socket: below those that the system gives to whoever asks for any, so that nobody is
given one between the choice and the use."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack, suppress

FROM, UNTIL = 20000, 32000


def in_a_row(count: int) -> int:
    """The first of them."""
    for first in range(FROM + os.getpid() % 1000 * 10, UNTIL - count, count):
        with ExitStack() as sockets, suppress(OSError):
            for port in range(first, first + count):
                sockets.enter_context(socket.create_server(("127.0.0.1", port)))
            return first
    raise AssertionError(f"no {count} ports in a row are free")
