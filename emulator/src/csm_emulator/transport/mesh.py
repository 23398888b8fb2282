"""Requests between services inside the cluster: over their APIs, without gateway and token."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl, unquote

from csm_emulator.records import Json
from csm_emulator.transport.call import JSON, Call, Reply

NO_BODY = object()

Ask = Callable[[str, Call], Reply]
"""(name of the service, call) → reply, with injected faults."""


class Mesh:
    """``ask("smd", "GET", "/hsm/v2/State/Components?type=Node")``."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def ask(
        self,
        service: str,
        method: str,
        path: str,
        body: Json = NO_BODY,
        peer: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request. A body is sent as JSON, unless it is bytes; ``peer`` is the source address that the service
        sees; names of headers are in lower case.
        """
        target = path
        path, _, query = path.partition("?")
        raw = b"" if body is NO_BODY else body
        plain = isinstance(raw, bytes)
        return self._ask(
            service,
            Call(
                method,
                unquote(path),
                tuple(parse_qsl(query, keep_blank_values=True)),
                {**({} if plain else {"content-type": JSON}), **(headers or {})},
                raw if plain else json.dumps(body).encode(),
                peer,
                f"http://cray-{service}",
                target=target,
            ),
        )
