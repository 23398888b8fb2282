"""PCS and CAPMC as a client sees them, without a network."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

from canton.emulator.machine.faults import Fault
from canton.emulator.site import Site
from canton.emulator.wire.call import Call, Reply

UP, UP_TOO, DOWN, DOWN_TOO = "x1000c0s0b0n0", "x1000c0s0b0n1", "x1000c0s0b1n0", "x1000c0s1b0n0"
BLADE, BMC = "x1000c0s0", "x1000c0s0b0"


class Client:
    def __init__(self, site: Site, service: str, base: str) -> None:
        self.site = site
        self._service = service
        self._base = base

    def ask(self, method: str, path: str, body: Any = None) -> Reply:
        """A body of bytes goes as it is."""
        path, _, query = path.partition("?")
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return self.site.ask(
            self._service, Call(method, self._base + path, tuple(parse_qsl(query, keep_blank_values=True)), {}, data)
        )

    def orders(self, xname: str) -> list[str]:
        """The ResetTypes that its controller was given."""
        entries = self.site.log.after(0, 10_000)
        return [entry["action"] for entry in entries if entry["what"] == "power-order" and entry["target"] == xname]

    def break_(self, kind: str, targets: str, **facts: Any) -> None:
        self.site.set_fault(Fault(self.site.faults.new_id(), kind, targets, facts=facts))


class Pcs(Client):
    def __init__(self, site: Site) -> None:
        super().__init__(site, "pcs", "/v1")

    def start(self, operation: str, *xnames: str, **more: Any) -> str:
        location = [{"xname": xname} for xname in xnames]
        reply = self.ask("POST", "/transitions", {"operation": operation, "location": location, **more})
        assert reply.status == 200, reply.body
        return str(reply.json()["transitionID"])

    def show(self, transition: str) -> dict[str, Any]:
        reply = self.ask("GET", f"/transitions/{transition}")
        assert reply.status == 200, reply.body
        return dict(reply.json())

    def state(self, transition: str) -> str:
        return str(self.show(transition)["transitionStatus"])

    def task(self, transition: str, xname: str) -> dict[str, str]:
        return next(task for task in self.show(transition)["tasks"] if task["xname"] == xname)

    def finish(self, transition: str, most: float = 3600.0) -> float:
        """Steps until it ended; how long that took."""
        passed = 0.0
        while self.state(transition) not in ("completed", "aborted"):
            assert passed < most, self.show(transition)
            self.site.step(1.0)
            passed += 1.0
        return passed

    def status(self, xname: str) -> dict[str, Any]:
        return dict(self.ask("GET", f"/power-status?xname={xname}").json()["status"][0])
