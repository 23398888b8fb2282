"""``/bootparameters``."""

from __future__ import annotations

from collections.abc import Callable

from csm_emulator.dialects.go_json.reader import DecodeError, decode, decode_first
from csm_emulator.records import Json
from csm_emulator.services.bss.boot_parameters.records import BOOT_PARAMS, shown, shown_image
from csm_emulator.services.bss.inventory import Inventory
from csm_emulator.services.bss.responses import JSON, encoded, problem, whole
from csm_emulator.services.bss.table import MOST, BootStore, NotStored, TooMuch
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Handler

_TOKEN = "BSS-Referral-Token"  # noqa: S105 (the name of a header)
_NAMES = {"hosts": "Hosts", "macs": "MACs", "nids": "NIDs", "kernel": "kernel", "initrd": "initrd"}


class Parameters:
    def __init__(self, store: BootStore, inventory: Inventory) -> None:
        self._store = store
        self._inventory = inventory

    def everything(self, *, with_cloud: bool = True) -> list[Json]:
        """Images first, then hosts, each in the order of its key."""
        told = [shown_image(image, kind) for kind in ("kernel", "initrd") for image in self._store.images(kind)]
        for name in self._store.names():
            data = self._store.data(name)
            if data is not None:
                told.append(shown(data, [name], with_cloud=with_cloud))
        return told

    def get(self, call: Call) -> Reply:
        macs, names, nids = (",".join(call.all(name)) for name in ("mac", "name", "nid"))
        queried = bool(macs or names or nids)
        if not call.body and not queried:
            return encoded(self.everything() or None)
        try:
            asked = decode(call.body, BOOT_PARAMS)
        except DecodeError as mistake:
            if not queried:
                body = call.body.decode("utf-8", "replace")
                return problem(400, f"Failed to interpret request body '{body}': {mistake}")
            asked = mistake.value
        asked["macs"] = [*(asked["macs"] or ()), *(macs.split(",") if macs else ())]
        asked["hosts"] = [*(asked["hosts"] or ()), *(names.split(",") if names else ())]
        asked["nids"] = list(asked["nids"] or ())
        for text in nids.split(",") if nids else ():
            number = whole(text)
            if number is None:
                return problem(400, f"Bad Request - Invalid nid '{text}'")
            asked["nids"].append((number + (1 << 31)) % (1 << 32) - (1 << 31))
        return self._answer(asked)

    def _answer(self, asked: Json) -> Reply:
        told = [
            shown_image(image, kind)
            for kind in ("kernel", "initrd")
            for image in self._store.images(kind)
            if asked["kernel"] + asked["initrd"] and image.path == asked[kind]
        ]
        if sum(map(self._store.size, asked["hosts"])) > MOST:
            raise TooMuch
        missing = []
        for host in asked["hosts"]:
            data = self._store.data(host)
            if data is None:
                missing.append(host)
            else:
                told.append(shown(data, [host]))
        asked["hosts"] = missing
        told += self._matching(missing, asked["macs"], asked["nids"])
        return encoded(told) if told else _nothing(asked)

    def _matching(self, hosts: list[str], macs: list[str], nids: list[int]) -> list[Json]:
        """Entries whose node, as HSM knows it, has one of these names, MAC addresses or NIDs."""
        if not (hosts or macs or nids):
            return []
        wanted = {mac.lower() for mac in macs}
        told = []
        for name in self._store.names(self._inventory.known.names_of(hosts, wanted, nids)):
            node = self._inventory.by_name(name) or {"ID": "", "FQDN": "", "MAC": None}
            if (
                not {node["ID"], node["FQDN"], name}.isdisjoint(hosts)
                or any(mac.lower() in wanted for mac in node["MAC"] or ())
                or node.get("NID") in nids
            ):
                data = self._store.data(name)
                told += [shown(data, [name])] if data is not None else []
        return told

    def post(self, asked: Json) -> Reply:
        exists, token = self._store.store_new(asked)
        if exists:
            return problem(400, f"Bad Request: Already exists: {exists}")
        return _stored(201, token)

    def put(self, asked: Json) -> Reply:
        return _stored(200, self._store.store(asked))

    def patch(self, asked: Json) -> Reply:
        try:
            self._store.update(asked)
        except NotStored as none:
            return problem(404, f"Not Found: {none}")
        return _stored(200, "")

    def delete(self, asked: Json) -> Reply:
        complaint = self._store.remove(asked)
        return problem(400, complaint) if complaint else _stored(200, "")


def with_body(handler: Callable[[Json], Reply]) -> Handler:
    """A handler that is given the boot parameters of the body."""

    def handle(call: Call) -> Reply:
        try:
            asked = decode_first(call.body, BOOT_PARAMS)
        except DecodeError as mistake:
            return problem(400, f"Bad Request: {mistake}")
        return handler(asked)

    return handle


def _stored(status: int, token: str) -> Reply:
    return Reply(status, b"", JSON, [(_TOKEN, token)] if token else [])


def _nothing(asked: Json) -> Reply:
    names = [word for field, word in _NAMES.items() if asked[field]]
    if not names:
        return problem(400, "No specified data requested")
    *others, last = names
    listed = f"{', '.join(others)} or {last}" if others else last
    return problem(404, f"Cannot find boot parameters for requested {listed}")
