"""PCS as a client sees it, without a network, and the nodes of ``tiny``."""

from __future__ import annotations

from typing import Any

from csm_emulator.site import Site
from service_client import Service

UP, UP_TOO, DOWN, DOWN_TOO = "x1000c0s0b0n0", "x1000c0s0b0n1", "x1000c0s0b1n0", "x1000c0s1b0n0"
BLADE, BMC = "x1000c0s0", "x1000c0s0b0"


class Pcs(Service):
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
        """Steps until the transition has ended; the virtual seconds that it took."""
        passed = 0.0
        while self.state(transition) not in ("completed", "aborted"):
            assert passed < most, self.show(transition)
            self.site.step(1.0)
            passed += 1.0
        return passed

    def status(self, xname: str) -> dict[str, Any]:
        return dict(self.ask("GET", f"/power-status?xname={xname}").json()["status"][0])
