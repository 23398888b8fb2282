"""How services inside the cluster ask one another: over their own protocols, without gateway and token."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl, unquote

from canton.emulator.wire.call import JSON, Call, Json, Reply

NO_BODY = object()

Ask = Callable[[str, Call], Reply]
"""(name of the service, call) → reply, with the faults of the wire."""


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
        raw: bytes = b"",
    ) -> Reply:
        """``peer`` is the source address that the service sees, for the few that look at it; ``raw`` is a body that is
        not JSON; names of headers are in lower case.
        """
        target = path
        path, _, query = path.partition("?")
        given = {} if body is NO_BODY else {"content-type": JSON}
        return self._ask(
            service,
            Call(
                method,
                unquote(path),
                tuple(parse_qsl(query, keep_blank_values=True)),
                {**given, **(headers or {})},
                raw if body is NO_BODY else json.dumps(body).encode(),
                peer,
                f"http://cray-{service}",
                target=target,
            ),
        )
