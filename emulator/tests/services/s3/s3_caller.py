"""A client of S3 that signs its requests itself, without a network."""

from __future__ import annotations

import asyncio
import hashlib
import time
from urllib.parse import parse_qsl, unquote
from xml.etree import ElementTree

from csm_emulator.seed_data.secrets import s3_keys
from csm_emulator.site import Site
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.sigv4 import Keys, Request, encoded_path, signed_headers

HOST = "rgw-vip.nmn"


class Caller:
    """Targets are quoted as in a URL."""

    def __init__(self, site: Site, keys: Keys | None = None, token: str = "") -> None:
        self.site = site
        self.keys = keys or s3_keys(site.random)
        self._token = token

    def ask(
        self,
        method: str,
        target: str,
        data: bytes = b"",
        headers: dict[str, str] | None = None,
        moment: float | None = None,
        payload: str = "",
    ) -> Reply:
        path, _, query = target.partition("?")
        pairs = tuple(parse_qsl(query, keep_blank_values=True))
        request_headers = {
            "host": HOST,
            **({"x-amz-security-token": self._token} if self._token else {}),
            **(headers or {}),
        }
        request = Request(method, path, pairs, request_headers, payload or hashlib.sha256(data).hexdigest())
        signed = signed_headers(request, self.keys, time.time() if moment is None else moment)
        return self.unsigned(method, target, data, signed)

    def unsigned(self, method: str, target: str, data: bytes = b"", headers: dict[str, str] | None = None) -> Reply:
        path, _, query = target.partition("?")
        pairs = tuple(parse_qsl(query, keep_blank_values=True))
        request_headers = {"host": HOST, **(headers or {})}
        return self.site.ask(
            "s3", Call(method, unquote(path), pairs, request_headers, data, base=f"http://{HOST}", target=target)
        )

    def put(self, bucket: str, key: str, data: bytes = b"", **headers: str) -> str:
        """The object's ETag."""
        request_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        reply = self.ask("PUT", encoded_path(f"/{bucket}/{key}"), data, request_headers)
        assert reply.status == 200, reply.body
        return header(reply, "ETag").strip('"')

    def get(self, bucket: str, key: str) -> bytes:
        reply = self.ask("GET", encoded_path(f"/{bucket}/{key}"))
        assert reply.status == 200, reply.body
        return whole(reply)

    def refusal(self, method: str, target: str, data: bytes = b"", headers: dict[str, str] | None = None) -> str:
        return code(self.ask(method, target, data, headers))

    def texts(self, target: str, name: str) -> list[str]:
        """The texts of the elements with this name, in order."""
        reply = self.ask("GET", target)
        assert reply.status == 200, reply.body
        return texts(reply, name)


def texts(reply: Reply, name: str) -> list[str]:
    root = ElementTree.fromstring(reply.body)  # noqa: S314 (our own)
    return [node.text or "" for node in root.iter() if node.tag.rpartition("}")[2] == name]


def code(reply: Reply) -> str:
    """Status and code: ``404 NoSuchKey``."""
    assert not reply.ok, reply
    return f"{reply.status} {texts(reply, 'Code')[0]}" if reply.body else str(reply.status)


def header(reply: Reply, name: str) -> str:
    values = [value for key, value in reply.headers if key.lower() == name.lower()]
    return values[0] if values else ""


def whole(reply: Reply) -> bytes:
    """The body, read piece by piece if it is a stream."""
    if reply.stream is None:
        return reply.body
    pieces = reply.stream()

    async def gathered() -> bytes:
        return b"".join([piece async for piece in pieces])

    return asyncio.run(gathered())
