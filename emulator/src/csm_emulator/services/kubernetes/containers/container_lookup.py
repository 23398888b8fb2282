"""Find the pod and the container that a request names."""

from __future__ import annotations

from csm_emulator.cluster.pods import Container, Pod
from csm_emulator.context import Context
from csm_emulator.services.kubernetes.kinds.kinds import PODS
from csm_emulator.services.kubernetes.requests import Request
from csm_emulator.services.kubernetes.statuses import bad_request, not_found


def find_container(context: Context, request: Request) -> tuple[Pod, Container]:
    """Raises ``StatusError`` when one of them does not exist, or the container is not named and not the only one."""
    pod = context.cluster.pod(request.namespace, request.name)
    if pod is None:
        raise not_found(PODS, request.name)
    name = request.call.first("container")
    if not name:
        return pod, _only_container(pod)
    container = pod.container(name)
    if container is None:
        raise bad_request(f"container {name} is not valid for pod {pod.name}")
    return pod, container


def _only_container(pod: Pod) -> Container:
    containers = [container for container in pod.containers if not container.init]
    if len(containers) == 1:
        return containers[0]
    init_names = [container.name for container in pod.containers if container.init]
    choice = f"choose one of: [{' '.join(container.name for container in containers)}]"
    init_choice = f" or one of the init containers: [{' '.join(init_names)}]" if init_names else ""
    raise bad_request(f"a container name must be specified for pod {pod.name}, {choice}{init_choice}")
