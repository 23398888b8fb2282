"""Pushes of objects that no git would create, without a network."""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from collections.abc import Iterable

from csm_emulator.seed_data.git_objects import Author, Objects
from csm_emulator.transport.call import Call
from services.vcs.gitea_client import Gitea

BEA = Author("Bea", "bea@site.local")
_KINDS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
_NOTHING = "0" * 40


def push(gitea: Gitea, repository: str, branch: str, to: str, objects: Objects) -> bytes:
    """Pushes a new branch; the server's reply."""
    line = f"{_NOTHING} {to} refs/heads/{branch}\0 report-status side-band-64k\n"
    body = f"{len(line) + 4:04x}{line}0000".encode() + _pack(objects.by_name.values())
    headers = {**gitea.known, "content-type": "application/x-git-receive-pack-request"}
    reply = gitea.site.ask("vcs", Call("POST", f"/{repository}.git/git-receive-pack", headers=headers, body=body))
    assert reply.stream is not None, reply

    async def said() -> bytes:
        assert reply.stream is not None
        return b"".join([piece async for piece in reply.stream()])

    return asyncio.run(said())


def _pack(objects: Iterable[tuple[str, bytes]]) -> bytes:
    packed = [_head(_KINDS[kind], len(content)) + zlib.compress(content) for kind, content in objects]
    whole = b"PACK" + (2).to_bytes(4, "big") + len(packed).to_bytes(4, "big") + b"".join(packed)
    return whole + hashlib.sha1(whole, usedforsecurity=False).digest()


def _head(kind: int, size: int) -> bytes:
    """Four bits of the size, then seven in each byte; the highest bit says that more follow."""
    head, prefix = bytearray(), kind << 4 | size & 15
    size >>= 4
    while size:
        head.append(prefix | 0x80)
        prefix, size = size & 0x7F, size >> 7
    return bytes([*head, prefix])
