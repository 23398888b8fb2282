"""The assignment of nodes' consoles to console pods."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil

from csm_emulator.clients.hsm import HsmClient
from csm_emulator.cluster.pods import RUNNING, Pod
from csm_emulator.cluster.service_workloads import CONSOLE_DATA
from csm_emulator.context import Context
from csm_emulator.dialects.hms.names import hms_type

NAMESPACE = "services"
CONTAINER = "cray-console-node"
POD = "cray-console-node-{}"
_NAME = re.compile("cray-console-node-(0|[1-9][0-9]{0,5})")
LABEL = ("app.kubernetes.io/name", "cray-console-node")
MAX_RIVER, MAX_MOUNTAIN = 2000, 750
"""The most consoles in one pod."""


_NOT_JSON_ERROR = "invalid character 'o' in literal null (expecting 'u')"
"""Go's error for ``no healthy upstream``, which console-operator reads as the answer of console-data."""


class NoPod(Exception):
    """console-data has no pod for a node; the message is the one for clients."""


class ConsoleAssignments:
    """Divides the nodes of HSM among the console pods."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._hsm = HsmClient(context.mesh)
        self._positions = {part.xname: number for number, part in enumerate(context.machine.parts("Node"))}
        """The order of the machine's nodes, of which each pod has a contiguous part."""

    def nodes(self) -> dict[str, str]:
        """The class of each node by xname, in the order of HSM."""
        response = self._hsm.components("type=Node")
        nodes = response.value() if response.ok else []
        return {node["ID"]: node.get("Class", "River") for node in nodes if node.get("State") != "Empty"}

    def counts(self) -> tuple[int, int]:
        """The numbers of River and Mountain nodes; Hill counts as Mountain."""
        classes = list(self.nodes().values())
        river = classes.count("River")
        return river, len(classes) - river

    def pods(self) -> list[Pod]:
        """The console pods, by label and name: other pods may have the label too."""
        name, value = LABEL
        labelled = (pod for pod in self._context.cluster.pods(NAMESPACE) if pod.labels.get(name) == value)
        pods = [pod for pod in labelled if _NAME.fullmatch(pod.name)]
        return sorted(pods, key=lambda pod: int(pod.name.rpartition("-")[2]))

    def targets(self) -> tuple[int, int, int]:
        """The number of pods, and of River and Mountain consoles in each."""
        river, mountain = self.counts()
        pods = max(ceil(river / MAX_RIVER), ceil(mountain / MAX_MOUNTAIN), 1) + 1
        return pods, ceil(river / pods) + 1, ceil(mountain / pods) + 1

    def ask_console_data(self, node: str) -> Pod:
        """The pod of a node, by console-data. Raises ``NoPod``."""
        pod = self.pod_of(node) if self._context.cluster.runs(CONSOLE_DATA) else None
        if pod is None:
            reason = f"no console for {node}" if self._context.cluster.runs(CONSOLE_DATA) else _NOT_JSON_ERROR
            raise NoPod(f"There was an error querying console-data service: {reason}")
        return pod

    def knows(self, node: str) -> bool:
        """Whether HSM has such a node."""
        if hms_type(node) != "Node":
            return False
        response = self._hsm.component(node)
        return response.ok and response.value().get("State") != "Empty"

    def pod_of(self, node: str) -> Pod | None:
        """None when the node is unknown or its pod does not run."""
        pods = self.pods()
        if not pods or not self.knows(node):
            return None
        pod = self._assigned(node, pods)
        container = pod.container(CONTAINER)
        return pod if container is not None and container.state == RUNNING else None

    def nodes_of(self, name: str) -> list[str]:
        """The nodes whose consoles the pod of this name has."""
        pods = self.pods()
        return [node for node in self.nodes() if self._assigned(node, pods).name == name] if pods else []

    def _assigned(self, node: str, pods: Sequence[Pod]) -> Pod:
        """The pod of a node. For a node that only HSM has, it is chosen by a hash of the name."""
        number, total = self._positions.get(node), len(self._positions)
        if number is None:
            number, total = int(self._context.random.hex(8, "console pod", node), 16), 1 << 32
        return pods[number * len(pods) // total]
