"""``kubectl exec`` and ``kubectl attach``."""

from __future__ import annotations

from csm_emulator.cluster.pods import RUNNING, Container, Exec, Pod, Program
from csm_emulator.context import Context
from csm_emulator.services.kubernetes.auth.identity import is_true
from csm_emulator.services.kubernetes.containers import container_lookup, exec_spdy, exec_websocket
from csm_emulator.services.kubernetes.containers.exec_session import ExecRequest
from csm_emulator.services.kubernetes.requests import Request
from csm_emulator.services.kubernetes.statuses import StatusError, bad_request, failure
from csm_emulator.transport.call import Call, Reply, utf8

POLL_INTERVAL = 0.25


class ExecHandler:
    def __init__(self, context: Context, default: Program) -> None:
        self._context = context
        self._default = default

    def answer(self, request: Request) -> Reply:
        call = request.call
        pod, container = container_lookup.find_container(self._context, request)
        if container.state != RUNNING:
            message = f'unable to upgrade connection: container not found ("{container.name}")'
            raise StatusError(failure(500, "InternalError", message))
        argv = call.all("command")
        if request.subresource == "exec" and not argv:
            raise bad_request("you must specify at least 1 command for the container")
        exec_request = _exec_request(call, pod, container, argv, self._program(request, pod))
        if not (exec_request.stdin or exec_request.stdout or exec_request.stderr):
            raise bad_request("you must specify at least 1 of stdin, stdout, stderr")
        upgrade = call.headers.get("upgrade", "").lower()
        if upgrade == "websocket":
            return exec_websocket.answer(call, exec_request, self._context)
        if upgrade == "spdy/3.1":
            return exec_spdy.answer(call, exec_request, self._context)
        raise bad_request("Upgrade request required")

    def _program(self, request: Request, pod: Pod) -> Program:
        if request.subresource == "attach":
            return self._attach
        return self._context.cluster.programs.get(pod.program, self._default)

    async def _attach(self, run: Exec) -> int:
        """Send the lines that the container logs from now on, until it ends; return its exit code."""
        cluster, container_key = self._context.cluster, (run.pod.namespace, run.pod.name, run.container)
        position = cluster.follow(*container_key, 0)[1]
        while await self._context.change_signal.wait(POLL_INTERVAL):
            lines, position = cluster.follow(*container_key, position)
            await run.write(utf8("".join(f"{text}\r\n" if run.tty else f"{text}\n" for _, text in lines)))
            pod = cluster.pod(run.pod.namespace, run.pod.name)
            container = pod.container(run.container) if pod else None
            if container is None or container.state != RUNNING:
                return (container.code or 0) if container else 137
        return 137


def _exec_request(call: Call, pod: Pod, container: Container, argv: list[str], program: Program) -> ExecRequest:
    stdin, stdout, stderr, tty = (is_true(call.first(name)) for name in ("stdin", "stdout", "stderr", "tty"))
    return ExecRequest(pod, container, argv, program, stdin, stdout, stderr, tty)
