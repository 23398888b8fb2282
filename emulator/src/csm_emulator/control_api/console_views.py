"""The control API's view of consoles, pods and their logs."""

from __future__ import annotations

from csm_emulator.cluster.pods import ENDED, Container, Pod
from csm_emulator.context import Context
from csm_emulator.errors import InvalidMachine, NotFound
from csm_emulator.nodes.consoles import Position
from csm_emulator.records import Record
from csm_emulator.transport.call import Call

LINES = 1000
LONGEST_NUMBER = 18


def console(context: Context, call: Call) -> Record:
    """The last ``lines=`` lines of the console of node ``xname=``, or its output since the position ``after=``."""
    node = call.first("xname")
    part = context.machine.part(node)
    if part is None or part.type != "Node":
        raise NotFound(f"this machine has no node {node}")
    if call.has("after"):
        texts, position = context.consoles.read(node, _position(call.first("after")))
        return {"text": "".join(texts), "position": _position_text(position)}
    text, position = context.consoles.tail(node, _number(call, "lines", LINES))
    return {"text": text, "position": _position_text(position)}


def _position(text: str) -> Position:
    number, _, texts = text.partition(".")
    if not _is_number(number) or not _is_number(texts):
        raise InvalidMachine(f"after= must be the position of an earlier response, not {text!r}")
    return int(number), int(texts)


def _position_text(position: Position) -> str:
    return f"{position[0]}.{position[1]}"


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= LONGEST_NUMBER


def _number(call: Call, name: str, default: int) -> int:
    text = call.first(name, str(default))
    if not _is_number(text):
        raise InvalidMachine(f"{name}= must be a number, not {text!r}")
    return int(text)


def pods(context: Context, call: Call) -> Record:
    """All pods, or those of ``namespace=``."""
    return {"pods": [_describe_pod(pod) for pod in context.cluster.pods(call.first("namespace") or None)]}


def _describe_pod(pod: Pod) -> Record:
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "phase": pod.phase,
        "labels": dict(pod.labels),
        "containers": {container.name: container.state for container in pod.containers},
    }


def pod_log(context: Context, call: Call) -> Record:
    """Log lines after the line number ``after=`` of ``container=`` in ``pod=``, a name or ``LABEL=VALUE``."""
    pod = _find(context, call.first("pod"))
    container = _container(pod, call.first("container"))
    lines, position = context.cluster.follow(pod.namespace, pod.name, container.name, _number(call, "after", 0))
    return {
        "pod": pod.name,
        "lines": [text for _, text in lines],
        "position": position,
        "over": container.state == ENDED,
    }


def _container(pod: Pod, name: str) -> Container:
    if not name and len(pod.containers) == 1:
        return pod.containers[0]
    container = pod.container(name)
    if container is None:
        names = ", ".join(one.name for one in pod.containers)
        problem = (
            f"pod {pod.name} has no container {name}" if name else f"pod {pod.name} has several containers; name one"
        )
        raise NotFound(f"{problem}; containers: {names}")
    return container


def _find(context: Context, selector: str) -> Pod:
    label, equals, value = selector.partition("=")
    for pod in context.cluster.pods():
        if pod.labels.get(label) == value if equals else pod.name == selector:
            return pod
    raise NotFound(f"no pod {selector}; `csm-emulator pods` lists them")
