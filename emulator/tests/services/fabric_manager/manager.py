"""The Fabric Manager as a client sees it, and the network behind it."""

from __future__ import annotations

from typing import Any

from csm_emulator.machine.fabric.fabric import Fabric
from csm_emulator.machine.fabric.ports import PortState
from csm_emulator.site import Site
from service_client import Service

PUSHED = 30.0
"""Seconds after which every switch that answers has the new state."""
ENFORCED = 10.0
POLICIES = "/fabric/port-policies"


class Manager(Service):
    def __init__(self, site: Site) -> None:
        super().__init__(site, "fabric-manager", "")

    @property
    def fabric(self) -> Fabric:
        return self.site.machine.fabric

    def send(self, method: str, path: str, body: Any = None) -> Any:
        reply = self.ask(method, path, body)
        assert reply.status == 200, reply.body
        return reply.json()

    def refusal(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        """Status and message of the error."""
        reply = self.ask(method, path, body)
        refusal = reply.json()
        assert reply.status >= 400, refusal
        assert set(refusal) == {"message", "statusCode", "errorCode", "documentKind"}
        assert refusal["statusCode"] == reply.status
        return reply.status, refusal["message"]

    def port(self, nic: str) -> str:
        return self.fabric.plan.port_of[nic]

    def dfa(self, nic: str) -> int:
        return self.fabric.plan.ports[self.port(nic)].dfa

    def state(self, nic: str) -> PortState:
        """The state of the switch port."""
        return self.fabric.state(self.port(nic))

    def make_vlan(self, vlan: int, name: str) -> str:
        """Creates a VLAN and its policy as the public operator does; the link of the policy."""
        self.send("POST", "/fabric/vlans", {"id": vlan, "name": name, "status": "ONLINE"})
        link = f"/fabric/vlans/{vlan}"
        body = {"nativeVlanId": link, "allowedVlans": [link], "isUntaggedAllowed": True, "documentSelfLink": name}
        return str(self.send("POST", POLICIES, body)["documentSelfLink"])

    def links(self, nic: str) -> list[str]:
        return list(self.get(f"/fabric/ports/{self.port(nic)}")["portPolicyLinks"])

    def give(self, nic: str, *policies: str) -> Any:
        """Adds the policy before those of the port."""
        body = {"portPolicyLinks": [*policies, *self.links(nic)]}
        return self.send("PATCH", f"/fabric/ports/{self.port(nic)}", body)

    def take(self, nic: str, policy: str) -> Any:
        links = [link for link in self.links(nic) if link != policy]
        return self.send("PATCH", f"/fabric/ports/{self.port(nic)}", {"portPolicyLinks": links})

    def make_block(self, name: str, ranges: list[str], *nics: str) -> str:
        """Creates a partition and a block; the link of the task."""
        dfas = [self.dfa(nic) for nic in nics]
        self.send("POST", "/fabric/vni/partitions", {"partitionName": name, "vniRanges": ranges, "edgePortDFAs": dfas})
        block = {"vniBlockName": f"{name}-block", "partitionName": name, "vniRanges": ranges, "portDFAs": dfas}
        return str(self.send("POST", "/fabric/vni/blocks", block)["enforcementTaskServiceLink"])

    def stage(self, task: str) -> str:
        return str(self.get(task)["taskInfo"]["stage"])

    def reaches(self, source: str, target: str, vlan: int | None = None) -> bool:
        return self.fabric.trace_frame(source, target, vlan).reached
