"""Which container of a pod a request means."""

from __future__ import annotations

from csm_emulator.cluster.pods import Container, Pod
from csm_emulator.context import Context
from csm_emulator.services.kubernetes.kinds.kinds import PODS
from csm_emulator.services.kubernetes.requests import Request
from csm_emulator.services.kubernetes.statuses import bad_request, not_found


def find(context: Context, request: Request) -> tuple[Pod, Container]:
    """Raises ``Refused``."""
    pod = context.cluster.pod(request.namespace, request.name)
    if pod is None:
        raise not_found(PODS, request.name)
    name = request.call.first("container")
    if not name:
        return pod, _only(pod)
    found = pod.container(name)
    if found is None:
        raise bad_request(f"container {name} is not valid for pod {pod.name}")
    return pod, found


def _only(pod: Pod) -> Container:
    main = [one for one in pod.containers if not one.init]
    if len(main) == 1:
        return main[0]
    first = [one.name for one in pod.containers if one.init]
    choice = f"choose one of: [{' '.join(one.name for one in main)}]"
    more = f" or one of the init containers: [{' '.join(first)}]" if first else ""
    raise bad_request(f"a container name must be specified for pod {pod.name}, {choice}{more}")
