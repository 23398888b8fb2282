"""HSM as a client sees it, without a network."""

from __future__ import annotations

from typing import Any

from csm_emulator.site import Site
from csm_emulator.transport.call import Reply
from service_client import Service

COMPONENTS = "/State/Components"


class Hsm(Service):
    def __init__(self, site: Site) -> None:
        super().__init__(site, "smd", "/hsm/v2")

    def read(self, path: str) -> Any:
        reply = self.ask("GET", path)
        assert reply.status == 200, reply
        assert reply.media == "application/json"
        return reply.json()

    def do(self, method: str, path: str, body: Any = None) -> Reply:
        reply = self.ask(method, path, body)
        assert reply.ok, reply
        return reply

    def refusal(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
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
        self.do("POST", COMPONENTS, {"Components": components})

    def xnames(self, query: str = "") -> list[str]:
        """The xnames of the components that match a query, sorted."""
        return sorted(component["ID"] for component in self.read(f"{COMPONENTS}?{query}")["Components"])

    def state(self, xname: str) -> str:
        component = self.read(f"{COMPONENTS}/{xname}")
        return f"{component['State']}/{component['Flag']}"
