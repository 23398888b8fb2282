"""The Kubernetes API as a client sees it, in process."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qsl

from csm_emulator.site import Site
from csm_emulator.transport.call import Call, Reply
from service_client import Service

HOOKS = "/apis/tapms.hpe.com/v1alpha3/namespaces/tenants/globaltenanthooks"
TENANTS = "/apis/tapms.hpe.com/v1alpha3/namespaces/tenants/tenants"
MAPS = "/api/v1/namespaces/user/configmaps"
PODS = "/api/v1/namespaces/services/pods"
MERGE = {"content-type": "application/merge-patch+json"}
STRATEGIC = {"content-type": "application/strategic-merge-patch+json"}
JSON_PATCH = {"content-type": "application/json-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}


class Api(Service):
    def __init__(self, site: Site) -> None:
        super().__init__(site, "kubernetes", "")
        self.runner = asyncio.Runner()
        """One event loop for all calls, since watches belong to a loop."""

    def create(self, path: str, name: str, **content: Any) -> Any:
        meta = {"name": name, **content.pop("metadata", {})}
        reply = self.ask("POST", path, {"metadata": meta, **content})
        assert reply.status == 201, reply.body
        return reply.json()

    def patch(self, path: str, body: Any, headers: dict[str, str] | None = None) -> Reply:
        return self.ask("PATCH", path, body, MERGE if headers is None else headers)

    def message(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> str:
        """Code, reason and message of a Status that refuses."""
        status = self.ask(method, path, body, headers).json()
        assert (status["kind"], status["status"]) == ("Status", "Failure"), status
        return f"{status['code']} {status.get('reason')}: {status['message']}"

    def names(self, path: str) -> list[str]:
        return [item["metadata"]["name"] for item in self.get(path)["items"]]

    def rows(self, path: str) -> tuple[list[str], list[list[Any]]]:
        """Columns and cells of a table."""
        reply = self.ask("GET", path, headers=TABLE)
        assert reply.status == 200, reply.body
        table = reply.json()
        assert table["kind"] == "Table"
        return [column["name"] for column in table["columnDefinitions"]], [row["cells"] for row in table["rows"]]

    def as_user(self, method: str, path: str, caller: str = "", **headers: str) -> Reply:
        """A request from outside, with a certificate or with headers."""
        path, _, query = path.partition("?")
        call = Call(method, path, tuple(parse_qsl(query)), headers, peer="10.1.1.1", caller=caller)
        return self.site.ask("kubernetes", call)

    def events(self, path: str, meanwhile: Callable[[], None], headers: dict[str, str] | None = None) -> list[Any]:
        """The events of a watch during ``act``, until no more come."""
        reply = self.ask("GET", path, headers=headers)
        assert reply.stream is not None, reply

        async def watch() -> list[bytes]:
            assert reply.stream is not None
            return await gather(reply.stream(), meanwhile)

        return [json.loads(line) for line in b"".join(self.runner.run(watch())).splitlines()]


async def gather(stream: AsyncIterator[bytes], meanwhile: Callable[[], None]) -> list[bytes]:
    pieces: list[bytes] = []

    async def read() -> None:
        async for piece in stream:
            pieces.append(piece)  # noqa: PERF401 (what came before it was cut off counts)

    reading = asyncio.ensure_future(read())
    await asyncio.sleep(0.05)
    meanwhile()
    await asyncio.sleep(0.4)
    reading.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await reading
    return pieces
