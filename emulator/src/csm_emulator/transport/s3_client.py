"""The S3 client of services inside the cluster: over the mesh, with signed requests."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Mapping
from typing import TypedDict

from csm_emulator.transport.call import Reply
from csm_emulator.transport.mesh import Mesh
from csm_emulator.transport.sigv4 import Keys, Request, encoded_path, signed_headers

HOST = "rgw-vip.nmn"
PIECE = 4 << 20
"""Bytes per request: larger responses would be streams."""
_TOTAL = re.compile(r"bytes \d+-\d+/(\d+)")


class ObjectHead(TypedDict):
    size: int
    etag: str
    """Without quotes."""


class S3Unavailable(Exception):
    """S3 is down or refuses a request."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(f"S3 answered {reply.status}")
        self.reply = reply


class S3Client:
    """``S3Client(context.mesh, s3_keys(context.random)).get("boot-images", key)``. Raises ``S3Unavailable``."""

    def __init__(self, mesh: Mesh, keys: Keys) -> None:
        self._mesh = mesh
        self._keys = keys

    def get(self, bucket: str, key: str) -> bytes | None:
        """The content of an object; None if it does not exist."""
        pieces: list[bytes] = []
        size, have = 1, 0
        while have < size:
            reply = self._ask("GET", bucket, key, {"range": f"bytes={have}-{have + PIECE - 1}"})
            if reply.status == 404:
                return None
            if reply.status == 416:
                break  # an empty object
            if reply.status not in (200, 206):
                raise S3Unavailable(reply)
            pieces.append(reply.body)
            have += len(reply.body)
            size = _total(reply)
        return b"".join(pieces)

    def head(self, bucket: str, key: str) -> ObjectHead | None:
        reply = self._ask("HEAD", bucket, key)
        if reply.status == 404:
            return None
        headers = _headers(self._checked(reply))
        return {"size": int(headers["content-length"]), "etag": headers["etag"].strip('"')}

    def put(self, bucket: str, key: str, data: bytes, media: str = "") -> str:
        """Stores an object; returns its etag, without quotes."""
        headers = {"content-type": media} if media else {}
        return _headers(self._checked(self._ask("PUT", bucket, key, headers, data)))["etag"].strip('"')

    def delete(self, bucket: str, key: str) -> None:
        """Deletes an object, which need not exist."""
        self._checked(self._ask("DELETE", bucket, key))

    def _checked(self, reply: Reply) -> Reply:
        if not reply.ok:
            raise S3Unavailable(reply)
        return reply

    def _ask(
        self, method: str, bucket: str, key: str, headers: Mapping[str, str] | None = None, data: bytes = b""
    ) -> Reply:
        path = encoded_path(f"/{bucket}/{key}")
        request = Request(method, path, (), {"host": HOST, **(headers or {})}, hashlib.sha256(data).hexdigest())
        # S3 checks signatures by real time.
        signed = signed_headers(request, self._keys, time.time())
        return self._mesh.ask("s3", method, path, data, headers=signed)


def _headers(reply: Reply) -> dict[str, str]:
    return {name.lower(): value for name, value in reply.headers}


def _total(reply: Reply) -> int:
    match = _TOTAL.match(_headers(reply).get("content-range", ""))
    return int(match[1]) if match else len(reply.body)
