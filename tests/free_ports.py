"""Free ports for servers that cannot be given a socket.

They lie below the ephemeral ports, so that the system gives none of them away between the choice and the use.
"""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack, suppress

FROM, UNTIL = 20000, 32000


def first_free_port(count: int) -> int:
    """The first of ``count`` consecutive free ports."""
    for first in range(FROM + os.getpid() % 1000 * 10, UNTIL - count, count):
        with ExitStack() as sockets, suppress(OSError):
            for port in range(first, first + count):
                sockets.enter_context(socket.create_server(("127.0.0.1", port)))
            return first
    raise AssertionError(f"no {count} ports in a row are free")
