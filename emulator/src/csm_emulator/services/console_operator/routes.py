"""console-operator's paths."""

from __future__ import annotations

from csm_emulator.cluster.pods import Exec, Pod
from csm_emulator.context import Context
from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import STRING, struct
from csm_emulator.services.console_operator.assignments import (
    CONTAINER,
    MOST_MOUNTAIN,
    MOST_RIVER,
    NAMESPACE,
    Monitoring,
    NoPod,
)
from csm_emulator.services.console_operator.programs import LOG, ConsolePrograms
from csm_emulator.services.console_operator.restarts import Restarts
from csm_emulator.state.clock import rfc3339
from csm_emulator.transport import tapms_client
from csm_emulator.transport.call import JSON, Call, Reply, json_reply
from csm_emulator.transport.routes import EmulatedService, Route
from csm_emulator.transport.websocket import WebSocket, accept

_ASKED = struct("main.GetNodeData", {"xname": STRING})
HARDWARE_CHECK, HEARTBEAT_CHECK, STALE_MINUTES = 30, 30, 3


def create_service(context: Context) -> EmulatedService:
    monitoring = Monitoring(context)
    programs = ConsolePrograms(context, monitoring)
    context.cluster.programs["console-operator"] = programs.in_operator
    context.cluster.programs["console-node"] = programs.in_node_pod
    Restarts(context, monitoring)
    operator = ConsoleOperator(context, monitoring, programs)
    base = "/console-operator"
    routes = [
        Route("GET", f"{base}/interact/{{xname}}", operator.interact),
        Route("GET", f"{base}/tail/{{xname}}", operator.tail),
        Route("GET", f"{base}/getNodePod", operator.node_pod),
        Route("GET", f"{base}/location/{{pod}}", operator.location),
        Route("GET", f"{base}/replicas", operator.replicas),
        Route("GET", f"{base}/currentTargets", operator.targets),
        Route("GET", f"{base}/health", operator.health),
        Route("GET", f"{base}/liveness", _alive),
        Route("GET", f"{base}/readiness", _alive),
    ]
    return EmulatedService("console-operator", [("/apis/console-operator", "")], routes)


def _alive(_: Call) -> Reply:
    return Reply(204)


def _message(text: str, status: int) -> Reply:
    return json_reply({"message": text}, status)


class ConsoleOperator:
    def __init__(self, context: Context, monitoring: Monitoring, programs: ConsolePrograms) -> None:
        self._context = context
        self._monitoring = monitoring
        self._programs = programs
        places = context.machine.topology.places.values()
        self._xnames = {alias: place.xname for place in places for alias in place.aliases}

    def interact(self, call: Call) -> Reply:
        """Every message is a line: the service puts the newline behind it."""
        xname = call.args["xname"]
        return self._run(call, ["conman", "-j", xname])

    def tail(self, call: Call) -> Reply:
        follow = ["-F"] if call.headers.get("cray-console-follow") == "True" else []
        lines = call.headers.get("cray-console-lines")
        return self._run(call, ["tail", *follow, *(["-n", lines] if lines else []), LOG + call.args["xname"]])

    def _run(self, call: Call, argv: list[str]) -> Reply:
        pod = self._allowed(call)
        if isinstance(pod, Reply):
            return pod

        async def talk(socket: WebSocket) -> None:
            async def read() -> bytes:
                message = await socket.receive()
                if message is None:
                    return b""
                return (message if isinstance(message, bytes) else message.encode()) + b"\n"

            async def write(data: bytes) -> None:
                await socket.send(data.decode("utf-8", "replace"))

            await self._programs.in_node_pod(Exec(pod, CONTAINER, argv, True, read, write, write))

        return accept(call, talk)

    def _allowed(self, call: Call) -> Pod | Reply:
        xname = call.args["xname"]
        if not self._monitoring.knows(xname):
            return _message(f"{xname} is not a valid node.", 404)
        try:
            pod = self._monitoring.ask_console_data(xname)
        except NoPod:
            return _message(f"Node {xname} is not currently being monitored", 404)
        tenant = call.headers.get("cray-tenant-name", "")
        if tenant and not self._belongs(tenant, xname):
            return _message(f"{xname} is not a valid node.", 404)
        return pod

    def _belongs(self, tenant: str, xname: str) -> bool:
        """The real one lets everybody in when TAPMS does not answer, or with nonsense."""
        reply = tapms_client.get_tenant(self._context.mesh, tenant)
        return not reply.ok or xname in tapms_client.tenant_nodes(reply.json())

    def node_pod(self, call: Call) -> Reply:
        if call.headers.get("content-type") != JSON:
            return _message("Expecting Content-Type: application/json", 400)
        try:
            xname = decode(call.body, _ASKED)["xname"]
        except DecodeError as error:
            return _message(f"There was an error while decoding the json data: {error}", 400)
        try:
            return json_reply({"podname": self._monitoring.ask_console_data(xname).name})
        except NoPod as error:
            return _message(str(error), 500)

    def location(self, call: Call) -> Reply:
        pod = self._context.cluster.pod(NAMESPACE, call.args["pod"])
        if pod is None:
            told = f'There was an error retrieving pod location pods "{call.args["pod"]}" not found'
            return _message(told, 500)
        return json_reply({"podname": pod.name, "alias": pod.node, "xname": self._xnames.get(pod.node, "")})

    def replicas(self, _: Call) -> Reply:
        return json_reply({"replicas": len(self._monitoring.pods())})

    def targets(self, _: Call) -> Reply:
        pods, river, mountain = self._monitoring.targets()
        all_river, all_mountain = self._monitoring.counts()
        return json_reply(
            {
                "targetnumrvrnodes": river,
                "targetnummtnnodes": mountain,
                "totalrvrnodes": all_river,
                "totalmtnnodes": all_mountain,
                "targetnumnodepods": pods,
            }
        )

    def health(self, _: Call) -> Reply:
        pods, river, mountain = self._monitoring.targets()
        numbers = {
            "consoles": sum(self._monitoring.counts()),
            "hardwareupdatesec": HARDWARE_CHECK,
            "hardwareupdate": rfc3339(self._context.clock.now()),
            "nodepods": pods,
            "rvrnodesperpod": river,
            "mtnnodesperpod": mountain,
            "maxrvrnodesperpod": MOST_RIVER,
            "maxmtnnodesperpod": MOST_MOUNTAIN,
            "heartbeatcheck": HEARTBEAT_CHECK,
            "heartbeatstale": STALE_MINUTES,
        }
        return json_reply({name: str(value) for name, value in numbers.items()})
