"""Ports and their lists of policies. A client can change nothing else of a port."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypedDict

from csm_emulator.context import Context
from csm_emulator.machine.fabric.plan import PlannedPort
from csm_emulator.machine.fabric.ports import PortSettings
from csm_emulator.services.fabric_manager import seed_data as seeds
from csm_emulator.services.fabric_manager.documents import (
    INSTALLATION_TIME,
    Document,
    RequestRejected,
    not_found,
    read_object,
)
from csm_emulator.services.fabric_manager.fields import read_fields, texts
from csm_emulator.services.fabric_manager.policy_merge import merge
from csm_emulator.services.fabric_manager.switch_sync import SwitchSync
from csm_emulator.services.fabric_manager.tables import DocumentStore
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

PATH = "/fabric/ports"
KIND = "PortState"
_FIELDS = {"portPolicyLinks": texts}


class ChangedPort(TypedDict):
    links: list[str]
    """Of its policies."""
    version: int
    micros: int
    """Time of the last change, in microseconds since 1970."""
    action: str


_UNCHANGED_PORT: ChangedPort = {"links": [], "version": 0, "micros": INSTALLATION_TIME, "action": "POST"}


class Ports:
    """Stores only ports that were changed, since there are tens of thousands."""

    def __init__(self, context: Context, store: DocumentStore) -> None:
        self._plan = context.machine.fabric.plan
        self._store = store
        self._changed: RecordTable[ChangedPort] = context.tables.open("fabric-manager.ports")
        self._links = {
            True: [store.policies.link(name) for name in seeds.EDGE_POLICIES],
            False: [store.policies.link(name) for name in seeds.FABRIC_POLICIES],
        }
        self.switch_sync = SwitchSync(context, self.target_state)

    def routes(self) -> Sequence[Route]:
        return (
            Route(
                "GET", PATH, lambda _: self._store.envelope.list_links(f"{PATH}/{port}" for port in self._plan.ports)
            ),
            Route("GET", f"{PATH}/{{port}}", lambda call: json_reply(self._document(self._find(call)))),
            Route("PATCH", f"{PATH}/{{port}}", self._patch),
        )

    def policy_links(self, port: PlannedPort) -> list[str]:
        record = self._changed.get(port.xname)
        return list(record["links"]) if record else self._links[port.edge]

    def with_policy(self, link: str) -> Iterator[str]:
        """The ports that have this policy."""
        for name, record in self._changed.items():
            if link in record["links"]:
                yield name
        for edge, links in self._links.items():
            if link in links:
                yield from (
                    port.xname
                    for port in self._plan.ports.values()
                    if port.edge == edge and port.xname not in self._changed
                )

    def target_state(self, port: PlannedPort) -> PortSettings:
        """The state of the port that its policies define now."""
        policies = self._store.policies
        names = filter(None, map(policies.name_in, self.policy_links(port)))
        return merge([policies.get(name) for name in names], edge=port.edge)

    def push(self, names: Iterable[str]) -> None:
        self.switch_sync.schedule([self._plan.ports[name] for name in names])

    def _find(self, call: Call) -> PlannedPort:
        port = self._plan.ports.get(call.args["port"])
        if port is None:
            raise not_found(f"{PATH}/{call.args['port']}")
        return port

    def _document(self, port: PlannedPort) -> Document:
        nic = self._plan.nics.get(port.end)
        record = self._changed.get(port.xname, _UNCHANGED_PORT)
        document = {
            "id": f"{port.switch.xname}a0l{port.number}",
            "switchLink": f"/fabric/switches/{port.switch.controller}",
            "portNumber": port.number,
            "conn_port": port.xname,
            "dst_port": port.end,
            "portPolicyLinks": self.policy_links(port),
        }
        address = {"hsnIp": nic.address} if nic and nic.address else {}
        link = f"{PATH}/{port.xname}"
        wrapped = self._store.envelope.wrap(KIND, link, record["action"], record["version"], record["micros"])
        return document | address | wrapped

    def _patch(self, call: Call) -> Reply:
        """Replace the whole list; the switch is configured even when the list is the same."""
        port = self._find(call)
        links = read_fields(read_object(call), _FIELDS).get("portPolicyLinks", self.policy_links(port))
        for link in links:
            if self._store.policies.name_in(link) is None:
                raise RequestRejected(400, f"portPolicyLinks: no port policy {link}")
        version = self._changed.get(port.xname, _UNCHANGED_PORT)["version"] + 1
        micros = self._store.envelope.micros()
        self._changed[port.xname] = {"links": links, "version": version, "micros": micros, "action": "PATCH"}
        self.push([port.xname])
        return json_reply(self._document(port))
