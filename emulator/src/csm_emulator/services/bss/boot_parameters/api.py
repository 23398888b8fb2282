"""``/bootparameters``."""

from __future__ import annotations

from collections.abc import Callable

from csm_emulator.dialects.go_json.reader import DecodeError, decode, decode_first
from csm_emulator.records import Json
from csm_emulator.services.bss.boot_parameters.records import BOOT_PARAMS, entry_record, image_record
from csm_emulator.services.bss.inventory import Inventory
from csm_emulator.services.bss.responses import JSON, encoded, parse_int, problem
from csm_emulator.services.bss.table import MAX_CHARACTERS, BootStore, NoSuchEntry, TooManyCharacters
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Handler

_TOKEN = "BSS-Referral-Token"  # noqa: S105 (the name of a header)
_WORD_OF_FIELD = {"hosts": "Hosts", "macs": "MACs", "nids": "NIDs", "kernel": "kernel", "initrd": "initrd"}


class Parameters:
    def __init__(self, store: BootStore, inventory: Inventory) -> None:
        self._store = store
        self._inventory = inventory

    def list_all(self, *, with_cloud: bool = True) -> list[Json]:
        """Images first, then hosts, each in the order of its key."""
        entries = [image_record(image, kind) for kind in ("kernel", "initrd") for image in self._store.images(kind)]
        for name in self._store.names():
            data = self._store.data(name)
            if data is not None:
                entries.append(entry_record(data, [name], with_cloud=with_cloud))
        return entries

    def get(self, call: Call) -> Reply:
        macs, names, nids = (",".join(call.all(name)) for name in ("mac", "name", "nid"))
        queried = bool(macs or names or nids)
        if not call.body and not queried:
            return encoded(self.list_all() or None)
        try:
            selection = decode(call.body, BOOT_PARAMS)
        except DecodeError as error:
            if not queried:
                body = call.body.decode("utf-8", "replace")
                return problem(400, f"Failed to interpret request body '{body}': {error}")
            selection = error.value
        selection["macs"] = [*(selection["macs"] or ()), *(macs.split(",") if macs else ())]
        selection["hosts"] = [*(selection["hosts"] or ()), *(names.split(",") if names else ())]
        selection["nids"] = list(selection["nids"] or ())
        for text in nids.split(",") if nids else ():
            number = parse_int(text)
            if number is None:
                return problem(400, f"Bad Request - Invalid nid '{text}'")
            selection["nids"].append((number + (1 << 31)) % (1 << 32) - (1 << 31))
        return self._reply(selection)

    def _reply(self, selection: Json) -> Reply:
        entries = [
            image_record(image, kind)
            for kind in ("kernel", "initrd")
            for image in self._store.images(kind)
            if selection["kernel"] + selection["initrd"] and image.path == selection[kind]
        ]
        if sum(map(self._store.size, selection["hosts"])) > MAX_CHARACTERS:
            raise TooManyCharacters
        missing = []
        for host in selection["hosts"]:
            data = self._store.data(host)
            if data is None:
                missing.append(host)
            else:
                entries.append(entry_record(data, [host]))
        selection["hosts"] = missing
        entries += self._matching(missing, selection["macs"], selection["nids"])
        return encoded(entries) if entries else _not_found(selection)

    def _matching(self, hosts: list[str], macs: list[str], nids: list[int]) -> list[Json]:
        """Entries whose node has one of these names, MAC addresses or NIDs in HSM."""
        if not (hosts or macs or nids):
            return []
        lower_macs = {mac.lower() for mac in macs}
        entries = []
        for name in self._store.names(self._inventory.nodes.names_of(hosts, lower_macs, nids)):
            node = self._inventory.by_name(name) or {"ID": "", "FQDN": "", "MAC": None}
            if (
                not {node["ID"], node["FQDN"], name}.isdisjoint(hosts)
                or any(mac.lower() in lower_macs for mac in node["MAC"] or ())
                or node.get("NID") in nids
            ):
                data = self._store.data(name)
                entries += [entry_record(data, [name])] if data is not None else []
        return entries

    def post(self, body: Json) -> Reply:
        existing, token = self._store.store_new(body)
        if existing:
            return problem(400, f"Bad Request: Already exists: {existing}")
        return _stored_reply(201, token)

    def put(self, body: Json) -> Reply:
        return _stored_reply(200, self._store.store(body))

    def patch(self, body: Json) -> Reply:
        try:
            self._store.update(body)
        except NoSuchEntry as error:
            return problem(404, f"Not Found: {error}")
        return _stored_reply(200, "")

    def delete(self, body: Json) -> Reply:
        error = self._store.remove(body)
        return problem(400, error) if error else _stored_reply(200, "")


def with_body(handler: Callable[[Json], Reply]) -> Handler:
    """A handler of the boot parameters in the body, as a handler of a call."""

    def handle(call: Call) -> Reply:
        try:
            parameters = decode_first(call.body, BOOT_PARAMS)
        except DecodeError as error:
            return problem(400, f"Bad Request: {error}")
        return handler(parameters)

    return handle


def _stored_reply(status: int, token: str) -> Reply:
    return Reply(status, b"", JSON, [(_TOKEN, token)] if token else [])


def _not_found(selection: Json) -> Reply:
    names = [word for field, word in _WORD_OF_FIELD.items() if selection[field]]
    if not names:
        return problem(400, "No specified data requested")
    *first_names, last = names
    words = f"{', '.join(first_names)} or {last}" if first_names else last
    return problem(404, f"Cannot find boot parameters for requested {words}")
