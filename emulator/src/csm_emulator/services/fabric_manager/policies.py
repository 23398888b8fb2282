"""Port policies: what a port does, as far as the policy says anything of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from csm_emulator.records import Json
from csm_emulator.services.fabric_manager.documents import Refusal, read_object
from csm_emulator.services.fabric_manager.fields import (
    flag,
    one_of,
    own_name,
    read_fields,
    structure,
    text,
    texts,
    whole,
)
from csm_emulator.services.fabric_manager.ports import Ports
from csm_emulator.services.fabric_manager.seed_data import NO_RETRY
from csm_emulator.services.fabric_manager.tables import Store
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

_RETRY = structure({"enabled": flag, "always": flag, "num_retries": whole, "duration_sec": whole})
_FIELDS = {
    "state": one_of("ONLINE", "OFFLINE"),
    "speed": text,
    "autoneg": flag,
    "precode": text,
    "loopback": text,
    "mac": text,
    "flowControl": structure({"rx": flag, "tx": flag}),
    "autoRetry": _RETRY,
    "headShellReset": _RETRY,
    "allowedVlans": texts,
    "nativeVlanId": text,
    "isUntaggedAllowed": flag,
}


class Policies:
    def __init__(self, store: Store, ports: Ports) -> None:
        self._store = store
        self._all = store.policies
        self._ports = ports

    def routes(self) -> Sequence[Route]:
        return self._all.routes(self._create, self._delete, self._patch)

    def _create(self, call: Call) -> Reply:
        body = read_object(call)
        said = self._read(body)
        name = self._name(body)
        return json_reply(self._all.create(name, {"autoRetry": NO_RETRY, "headShellReset": NO_RETRY} | said))

    def _name(self, body: Json) -> str:
        """The last piece of the link, or the whole of it; without one the document gets a name that says nothing."""
        link = body.get("documentSelfLink")
        if link in (None, ""):
            return self._store.new_id("policy")
        return own_name("documentSelfLink", link.removeprefix(f"{self._all.path}/") if isinstance(link, str) else link)

    def _read(self, body: Json) -> dict[str, Any]:
        said = read_fields(body, _FIELDS)
        named = [("allowedVlans", link) for link in said.get("allowedVlans", ())]
        if "nativeVlanId" in said:
            named.append(("nativeVlanId", said["nativeVlanId"]))
        for field, link in named:
            if self._store.vlans.name_in(link) is None:
                raise Refusal(400, f"{field}: no VLAN {link}")
        return said

    def _patch(self, call: Call) -> Reply:
        name = call.args["name"]
        self._all.get(name)
        changed = self._all.change(name, self._read(read_object(call)))
        self._ports.push(self._ports.with_policy(self._all.link(name)))
        return json_reply(changed)

    def _delete(self, call: Call) -> Reply:
        """Inferred: one that a port has is not deleted; clients take it off every port first."""
        name = call.args["name"]
        self._all.get(name)
        link = self._all.link(name)
        used = next(islice(self._ports.with_policy(link), 1), None)
        if used:
            raise Refusal(400, f"{link} is in use by /fabric/ports/{used}")
        return json_reply(self._all.delete(name))
