"""Port policies: settings of ports, of which a policy may have only some."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from csm_emulator.records import Json, Record
from csm_emulator.services.fabric_manager.documents import RequestRejected, read_object
from csm_emulator.services.fabric_manager.fields import (
    boolean,
    integer,
    one_of,
    path_name,
    read_fields,
    structure,
    text,
    texts,
)
from csm_emulator.services.fabric_manager.ports import Ports
from csm_emulator.services.fabric_manager.seed_data import NO_RETRY
from csm_emulator.services.fabric_manager.tables import DocumentStore
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

_RETRY = structure({"enabled": boolean, "always": boolean, "num_retries": integer, "duration_sec": integer})
_FIELDS = {
    "state": one_of("ONLINE", "OFFLINE"),
    "speed": text,
    "autoneg": boolean,
    "precode": text,
    "loopback": text,
    "mac": text,
    "flowControl": structure({"rx": boolean, "tx": boolean}),
    "autoRetry": _RETRY,
    "headShellReset": _RETRY,
    "allowedVlans": texts,
    "nativeVlanId": text,
    "isUntaggedAllowed": boolean,
}


class Policies:
    def __init__(self, store: DocumentStore, ports: Ports) -> None:
        self._store = store
        self._documents = store.policies
        self._ports = ports

    def routes(self) -> Sequence[Route]:
        return self._documents.routes(self._create, self._delete, self._patch)

    def _create(self, call: Call) -> Reply:
        body = read_object(call)
        fields = self._read(body)
        name = self._name(body)
        return json_reply(self._documents.create(name, {"autoRetry": NO_RETRY, "headShellReset": NO_RETRY} | fields))

    def _name(self, body: Json) -> str:
        """The name in the link, which may be the link itself; without a link, a new id."""
        link = body.get("documentSelfLink")
        if link in (None, ""):
            return self._store.new_id("policy")
        return path_name(
            "documentSelfLink", link.removeprefix(f"{self._documents.path}/") if isinstance(link, str) else link
        )

    def _read(self, body: Json) -> Record:
        fields = read_fields(body, _FIELDS)
        vlan_links = [("allowedVlans", link) for link in fields.get("allowedVlans", ())]
        if "nativeVlanId" in fields:
            vlan_links.append(("nativeVlanId", fields["nativeVlanId"]))
        for field, link in vlan_links:
            if self._store.vlans.name_in(link) is None:
                raise RequestRejected(400, f"{field}: no VLAN {link}")
        return fields

    def _patch(self, call: Call) -> Reply:
        name = call.args["name"]
        self._documents.get(name)
        changed = self._documents.change(name, self._read(read_object(call)))
        self._ports.push(self._ports.with_policy(self._documents.link(name)))
        return json_reply(changed)

    def _delete(self, call: Call) -> Reply:
        """Inferred: a policy that a port has cannot be deleted; clients remove it from every port first."""
        name = call.args["name"]
        self._documents.get(name)
        link = self._documents.link(name)
        used = next(islice(self._ports.with_policy(link), 1), None)
        if used:
            raise RequestRejected(400, f"{link} is in use by /fabric/ports/{used}")
        return json_reply(self._documents.delete(name))
