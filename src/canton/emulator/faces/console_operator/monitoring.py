"""Which console pod watches which node."""

from __future__ import annotations

import re
from math import ceil

from canton.emulator.cluster.pods import RUNNING, Pod
from canton.emulator.cluster.service_workloads import CONSOLE_DATA
from canton.emulator.world import World

NAMESPACE = "services"
CONTAINER = "cray-console-node"
POD = "cray-console-node-{}"
_NAME = re.compile("cray-console-node-(0|[1-9][0-9]{0,5})")
LABEL = ("app.kubernetes.io/name", "cray-console-node")
MOST_RIVER, MOST_MOUNTAIN = 2000, 750
"""Consoles that one pod takes."""


_NOT_JSON = "invalid character 'o' in literal null (expecting 'u')"
"""What Go says of ``no healthy upstream``: console-operator reads it as the answer of console-data."""


class NoPod(Exception):
    """console-data names no pod for a node; the message is the one that clients get."""


class Monitoring:
    """HSM says which nodes there are; the pods share them."""

    def __init__(self, world: World) -> None:
        self._world = world

    def nodes(self) -> dict[str, str]:
        """Class by xname, in the order of HSM."""
        reply = self._world.mesh.ask("smd", "GET", "/hsm/v2/State/Components?type=Node")
        found = reply.json()["Components"] if reply.ok else []
        return {node["ID"]: node.get("Class", "River") for node in found if node.get("State") != "Empty"}

    def counts(self) -> tuple[int, int]:
        """River and Mountain; Hill counts as Mountain."""
        classes = list(self.nodes().values())
        river = classes.count("River")
        return river, len(classes) - river

    def pods(self) -> list[Pod]:
        """Those of the set: anybody may put the label on a pod of their own."""
        name, value = LABEL
        labelled = (pod for pod in self._world.cluster.pods(NAMESPACE) if pod.labels.get(name) == value)
        found = [pod for pod in labelled if _NAME.fullmatch(pod.name)]
        return sorted(found, key=lambda pod: int(pod.name.rpartition("-")[2]))

    def targets(self) -> tuple[int, int, int]:
        """Pods, and how many River and Mountain consoles each of them is to take."""
        river, mountain = self.counts()
        pods = max(ceil(river / MOST_RIVER), ceil(mountain / MOST_MOUNTAIN), 1) + 1
        return pods, ceil(river / pods) + 1, ceil(mountain / pods) + 1

    def ask_console_data(self, node: str) -> Pod:
        """The pod that watches a node, as console-data knows it; raises ``NoPod``."""
        pod = self.pod_of(node) if self._world.cluster.runs(CONSOLE_DATA) else None
        if pod is None:
            reason = f"no console for {node}" if self._world.cluster.runs(CONSOLE_DATA) else _NOT_JSON
            raise NoPod(f"There was an error querying console-data service: {reason}")
        return pod

    def pod_of(self, node: str) -> Pod | None:
        """None when nobody watches it: an unknown node, or its pod is away."""
        nodes, pods = list(self.nodes()), self.pods()
        if node not in nodes or not pods:
            return None
        pod = pods[nodes.index(node) * len(pods) // len(nodes)]
        container = pod.container(CONTAINER)
        return pod if container is not None and container.state == RUNNING else None
