"""How far client and server may be apart: one minor version, either way."""

from __future__ import annotations

import re

from canton import __version__
from canton.client.errors import Incompatible

_RELEASE = re.compile(r"(\d{1,6})\.(\d{1,6})")


def check(server: str, client: str = __version__) -> None:
    """Raise Incompatible if the two cannot be trusted to understand each other."""
    theirs, ours = _release(server), _release(client)
    if theirs is None or ours is None:
        raise Incompatible(f'the server says that it is version "{server[:40]}", which is no version; is it Canton?')
    if theirs[0] == ours[0] and abs(theirs[1] - ours[1]) <= 1:
        return
    older = "this canton" if ours < theirs else "the server"
    raise Incompatible(
        f"this is canton {client} and the server runs {server}; they may differ by one minor version. "
        f"Upgrade {older}, or install a canton of version {theirs[0]}.{theirs[1]} here",
        server=server,
        client=client,
    )


def _release(version: str) -> tuple[int, int] | None:
    match = _RELEASE.match(version)
    return (int(match[1]), int(match[2])) if match else None
