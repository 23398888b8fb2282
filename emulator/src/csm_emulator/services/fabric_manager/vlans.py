"""VLANs: a number and a name, to which policies refer."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.machine.fabric.port_drift import VLANS
from csm_emulator.machine.fabric.ports import DEFAULT_VLAN
from csm_emulator.services.fabric_manager.documents import Refusal, read_object
from csm_emulator.services.fabric_manager.fields import one_of, read_fields, text, whole
from csm_emulator.services.fabric_manager.tables import Store
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

MOST = 256
"""So many the public operator of HPE knows of; inferred to be what a switch holds."""
_FIELDS = {"id": whole, "name": text, "status": one_of("ONLINE")}


class Vlans:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._all = store.vlans

    def routes(self) -> Sequence[Route]:
        return self._all.routes(self._create, self._delete)

    def _create(self, call: Call) -> Reply:
        said = read_fields(read_object(call), _FIELDS)
        if said.get("id") not in VLANS:
            raise Refusal(400, f"id must be from {VLANS[0]} to {VLANS[-1]}")
        name = str(said["id"])
        if name not in self._all and len(self._all) >= MOST:
            raise Refusal(400, f"No more than {MOST} VLANs")
        return json_reply(self._all.create(name, {"name": "", "status": "ONLINE"} | said))

    def _delete(self, call: Call) -> Reply:
        name = call.args["name"]
        link = self._all.get(name)["documentSelfLink"]
        if name == str(DEFAULT_VLAN):
            raise Refusal(400, f"{link} is the VLAN of ports without a VLAN policy")
        for policy, document in self._store.policies.items():
            if link == document.get("nativeVlanId") or link in document.get("allowedVlans", ()):
                raise Refusal(400, f"{link} is in use by {self._store.policies.link(policy)}")
        return json_reply(self._all.delete(name))
