"""BOS as a client sees it on ``tiny``, and stubs of the services that it asks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from csm_emulator.site import Site
from csm_emulator.transport.call import JSON, Call, Reply
from service_client import Service

UP, UP_TOO, DOWN, DOWN_TOO = "x1000c0s0b0n0", "x1000c0s0b0n1", "x1000c0s0b1n0", "x1000c0s0b1n1"
BLUE = (UP, UP_TOO, DOWN, DOWN_TOO)
OTHER = "x1000c0s1b0n1"
"""A node that is off, in the group green."""
LOOK = 15.0
"""Seconds between two rounds of an operator."""
Body = dict[str, Any]


class Bos(Service):
    def __init__(self, site: Site) -> None:
        super().__init__(site, "bos", "/v2")

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
        default_headers = {} if body is None else {"content-type": JSON}
        return super().ask(method, path, body, {**default_headers, **(headers or {})})

    def do(self, method: str, path: str, body: Any = None, tenant: str = "") -> Any:
        """The body of the reply, which must be a success."""
        reply = self.ask(method, path, body, {"cray-tenant-name": tenant} if tenant else None)
        assert reply.ok, reply.body
        return reply.json() if reply.body else None

    def component_of(self, name: str) -> Body:
        return dict(self.get(f"/components/{name}"))

    def status_of(self, name: str) -> str:
        return str(self.component_of(name)["status"]["status"])

    def patch(self, name: str, **fields: Any) -> Body:
        return dict(self.do("PATCH", f"/components/{name}", fields))

    def options(self, **fields: Any) -> None:
        self.do("PATCH", "/options", fields)

    def image(self, start: str = "compute") -> Body:
        """An image of IMS, by the beginning of its name."""
        images = self.site.mesh.ask("ims", "GET", "/v3/images").json()
        return next(image for image in images if image["name"].startswith(start))

    def boot_set(self, **fields: Any) -> Body:
        link = self.image()["link"]
        selection = {} if {"node_list", "node_roles_groups"} & fields.keys() else {"node_groups": ["blue"]}
        return {"path": link["path"], "etag": link["etag"], "type": "s3", **selection, **fields}

    def template(self, name: str = "t", tenant: str = "", cfs: str = "", **fields: Any) -> None:
        body: Body = {"boot_sets": {"nodes": self.boot_set(**fields)}}
        if cfs:
            body["cfs"] = {"configuration": cfs}
        self.do("PUT", f"/sessiontemplates/{name}", body, tenant)

    def session(self, operation: str = "boot", tenant: str = "", **fields: Any) -> str:
        body = {"template_name": "t", "operation": operation, **fields}
        return str(self.do("POST", "/sessions", body, tenant)["name"])

    def session_of(self, name: str, tenant: str = "") -> Body:
        return dict(self.do("GET", f"/sessions/{name}", tenant=tenant))

    def state(self, name: str) -> str:
        return str(self.session_of(name)["status"]["status"])

    def nodes_of(self, name: str) -> list[str]:
        """The nodes of the session."""
        text = self.session_of(name)["components"]
        return text.split(",") if text else []

    def finish(self, name: str, most: float = 7200.0) -> float:
        """Steps until the session is complete; the virtual seconds that it took."""
        passed = 0.0
        while self.state(name) != "complete":
            assert passed < most, self.do("GET", "/components")
            self.step(LOOK)
            passed += LOOK
        return passed

    def run(self, operation: str = "boot", **fields: Any) -> Body:
        """The status of a new session after its end."""
        name = self.session(operation, **fields)
        self.finish(name)
        return dict(self.get(f"/sessions/{name}/status"))


class StubbedServices:
    """Replaces the replies of some services; every other request goes to the real one."""

    def __init__(self, site: Site) -> None:
        self.calls: list[tuple[str, str, str, Any]] = []
        self._answers: dict[str, Callable[[Call], Reply | None]] = {}
        self._real = site.mesh._ask
        site.mesh._ask = self._ask

    def answer(self, service: str, answer: Callable[[Call], Reply | None]) -> None:
        self._answers[service] = answer

    def take_down(self, service: str) -> None:
        self.answer(service, lambda _: Reply(503, b"no healthy upstream", "text/plain"))

    def restore(self, service: str) -> None:
        del self._answers[service]

    def requests(self, service: str, method: str = "", path: str = "") -> list[tuple[str, str, str, Any]]:
        return [
            call for call in self.calls if call[0] == service and method in ("", call[1]) and call[2].startswith(path)
        ]

    def _ask(self, service: str, call: Call) -> Reply:
        is_json = call.headers.get("content-type") == JSON
        self.calls.append((service, call.method, call.path, json.loads(call.body) if is_json else None))
        answer = self._answers.get(service)
        reply = answer(call) if answer else None
        return self._real(service, call) if reply is None else reply


def tapms(**tenants: tuple[str, ...]) -> Callable[[Call], Reply]:
    """Tenants and their nodes."""

    def answer(call: Call) -> Reply:
        name = call.path.rpartition("/")[2]
        if name not in tenants:
            return Reply(404, b'"not found"', JSON)
        status = {"tenantresources": [{"type": "compute", "xnames": list(tenants[name])}]}
        return Reply(200, json.dumps({"spec": {"tenantname": name}, "status": status}).encode(), JSON)

    return answer
