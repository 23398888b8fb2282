"""VLANs: numbers with names, to which policies refer."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.machine.fabric.port_drift import VLANS
from csm_emulator.machine.fabric.ports import DEFAULT_VLAN
from csm_emulator.services.fabric_manager.documents import RequestRejected, read_object
from csm_emulator.services.fabric_manager.fields import integer, one_of, read_fields, text
from csm_emulator.services.fabric_manager.tables import DocumentStore
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

MAX_VLANS = 256
"""The limit in HPE's public operator; inferred to be the limit of a switch."""
_FIELDS = {"id": integer, "name": text, "status": one_of("ONLINE")}


class Vlans:
    def __init__(self, store: DocumentStore) -> None:
        self._store = store
        self._documents = store.vlans

    def routes(self) -> Sequence[Route]:
        return self._documents.routes(self._create, self._delete)

    def _create(self, call: Call) -> Reply:
        fields = read_fields(read_object(call), _FIELDS)
        if fields.get("id") not in VLANS:
            raise RequestRejected(400, f"id must be from {VLANS[0]} to {VLANS[-1]}")
        name = str(fields["id"])
        if name not in self._documents and len(self._documents) >= MAX_VLANS:
            raise RequestRejected(400, f"No more than {MAX_VLANS} VLANs")
        return json_reply(self._documents.create(name, {"name": "", "status": "ONLINE"} | fields))

    def _delete(self, call: Call) -> Reply:
        name = call.args["name"]
        link = self._documents.get(name)["documentSelfLink"]
        if name == str(DEFAULT_VLAN):
            raise RequestRejected(400, f"{link} is the VLAN of ports without a VLAN policy")
        for policy, document in self._store.policies.items():
            if link == document.get("nativeVlanId") or link in document.get("allowedVlans", ()):
                raise RequestRejected(400, f"{link} is in use by {self._store.policies.link(policy)}")
        return json_reply(self._documents.delete(name))
