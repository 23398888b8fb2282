"""HSM as a client sees it, without a network."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, unquote

from canton.emulator.site import Site
from canton.emulator.wire.call import Call, Reply

COMPONENTS = "/State/Components"


class Hsm:
    def __init__(self, site: Site) -> None:
        self.site = site

    def ask(self, method: str, path: str, body: Any = None) -> Reply:
        """A body of bytes goes as it is."""
        path, _, query = path.partition("?")
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        pairs = tuple(parse_qsl(query, keep_blank_values=True))
        return self.site.ask("smd", Call(method, f"/hsm/v2{unquote(path)}", pairs, {}, data))

    def read(self, path: str) -> Any:
        reply = self.ask("GET", path)
        assert reply.status == 200, reply
        assert reply.media == "application/json"
        return reply.json()

    def done(self, method: str, path: str, body: Any = None) -> Reply:
        reply = self.ask(method, path, body)
        assert reply.ok, reply
        return reply

    def refused(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        """Status and detail of the problem, which must be one of RFC 7807 in SMD's order."""
        reply = self.ask(method, path, body)
        assert reply.media == "application/problem+json", reply
        problem = reply.json()
        assert list(problem) == ["type", "title", "detail", "status"]
        assert problem["type"] == "about:blank"
        assert problem["status"] == reply.status
        return reply.status, problem["detail"]

    def make(self, *xnames: str, state: str = "Off", **fields: Any) -> None:
        components = [{"ID": xname, "State": state, **fields} for xname in xnames]
        self.done("POST", COMPONENTS, {"Components": components})

    def found(self, query: str = "") -> list[str]:
        """The xnames of the components that a query finds, sorted."""
        return sorted(each["ID"] for each in self.read(f"{COMPONENTS}?{query}")["Components"])

    def state(self, xname: str) -> str:
        component = self.read(f"{COMPONENTS}/{xname}")
        return f"{component['State']}/{component['Flag']}"
