"""The management nodes as Kubernetes nodes: Ready while they send heartbeats."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.machine.context import Event
from csm_emulator.machine.parts import NodePlace
from csm_emulator.records import Json
from csm_emulator.seed_data.cluster_nodes import name_of, places
from csm_emulator.seed_data.repositories import FIRST_DAY
from csm_emulator.services.kubernetes.kinds.kinds import NODES
from csm_emulator.services.kubernetes.reads.discovery import VERSION
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.state.clock import rfc3339

GRACE = 40.0
"""Seconds without a heartbeat after which the node controller marks a node as Unknown."""


def node_seed(context: Context, place: NodePlace) -> Json:
    name = name_of(place)
    nic = next((nic for nic in context.machine.nics(place.xname) if nic.network == "NMN" and nic.address), None)
    model = context.machine.topology.parts[place.xname].model
    arch = "arm64" if model and model.arch == "ARM" else "amd64"
    roles = {"node-role.kubernetes.io/control-plane": ""} if place.sub_role == "Master" else {}
    addresses = [{"type": "InternalIP", "address": nic.address}] if nic else []
    ready = place.xname in context.machine.topology.running
    return {
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": arch,
                **roles,
            },
        },
        "spec": {},
        "status": {
            "capacity": {"cpu": "64", "memory": "263782940Ki", "pods": "200"},
            "allocatable": {"cpu": "64", "memory": "263680540Ki", "pods": "200"},
            "conditions": [_condition(rfc3339(FIRST_DAY, 0), ready=ready)],
            "addresses": [*addresses, {"type": "Hostname", "address": name}],
            "nodeInfo": {
                "kubeletVersion": VERSION,
                "kubeProxyVersion": VERSION,
                "osImage": "SUSE Linux Enterprise Server 15 SP5",
                "kernelVersion": "5.14.21-150500.55.97-default",
                "containerRuntimeVersion": "containerd://1.7.27",
                "operatingSystem": "linux",
                "architecture": arch,
                "machineID": context.random.hex(32, "machine id", place.xname),
                "systemUUID": context.random.uuid("system uuid", place.xname),
                "bootID": context.random.uuid("boot id", place.xname),
            },
        },
    }


def _condition(moment: str, *, ready: bool) -> Json:
    return {
        "type": "Ready",
        "status": "True" if ready else "Unknown",
        "lastHeartbeatTime": moment,
        "lastTransitionTime": moment,
        "reason": "KubeletReady" if ready else "NodeStatusUnknown",
        "message": "kubelet is posting ready status" if ready else "Kubelet stopped posting node status.",
    }


class NodeController:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._context = objects.context
        self._names = {place.xname: name_of(place) for place in places(self._context.machine.topology)}
        self._context.machine.watch(self._machine_event)
        self._context.scheduler.register("kubernetes.look-at-node", self._update_condition)

    def _machine_event(self, event: Event) -> None:
        if event.kind == "beat" and event.xname in self._names:
            wait = GRACE if event.value == "stopped" else 1.0
            self._context.scheduler.after(wait, "kubernetes.look-at-node", event.xname)

    def _update_condition(self, xname: str) -> None:
        node = self._objects.get(NODES, "", self._names[xname])
        if node is None:
            return
        condition = _condition(self._objects.now(), ready=self._context.machine.boot.sends_heartbeats(xname))
        conditions = (node.get("status") or {}).get("conditions") or []
        previous: Json = next((item for item in conditions if item["type"] == "Ready"), {})
        if previous.get("status") != condition["status"]:
            other_conditions = [item for item in conditions if item["type"] != "Ready"]
            self._objects.put(
                NODES, {**node, "status": {**node["status"], "conditions": [*other_conditions, condition]}}
            )


def address_of(node: Json) -> str:
    """The address on the node management network (the INTERNAL-IP of kubectl); empty when the node has none."""
    addresses = ((node or {}).get("status") or {}).get("addresses") or ()
    return next((address["address"] for address in addresses if address["type"] == "InternalIP"), "")
