"""Boot parameters by host, role or tag, and by image. The real BSS stores them in etcd."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.bss.boot_parameters.records import BootData, Image
from csm_emulator.services.bss.cloud_init.merge import patched_cloud_init
from csm_emulator.services.bss.inventory import Inventory
from csm_emulator.services.bss.seed_data import Seed, image_key
from csm_emulator.state.tables import RecordTable

DEFAULT = "Default"
_KINDS = ("kernel", "initrd")
_START_OF_LIST, _END_OF_LIST = b" ", b"~"
"""BSS lists a range of its keys: a key outside it exists, but is in no list."""


MAX_CHARACTERS = 64 << 20
"""The largest sum of boot parameters in characters, counted for each host, in the store and in one reply: 6,000 for
each of 10,000 nodes."""
_ROW_OVERHEAD = 200
"""Characters that count for a row in addition to its texts."""


class TooManyCharacters(Exception):
    """More than ``MAX_CHARACTERS``."""


class NoSuchEntry(Exception):
    """BSS has no entry for a host; the text is its message."""


class BootStore:
    """Rows are ``{"params", "kernel", "initrd", "cloud-init", "token"}``; the images in them are keys of ``images``."""

    def __init__(self, context: Context, inventory: Inventory, seed: Seed) -> None:
        self._context = context
        self._inventory = inventory
        self._rows = context.tables.open("bss.params", seed.rows)
        self._images = context.tables.open("bss.images", seed.images)
        self._tokens: RecordTable[int] = context.tables.open("bss.tokens")
        self._sizes: dict[str, int] | None = None
        self._size = 0

    def names(self, candidates: Iterable[str] | None = None) -> list[str]:
        """The names in BSS's lists, of all rows or of ``candidates``."""
        rows = self._rows if candidates is None else (name for name in dict.fromkeys(candidates) if name in self._rows)
        names = [name for name in rows if _START_OF_LIST <= name.encode() < _END_OF_LIST]
        return sorted(names, key=str.encode)

    def images(self, kind: str) -> Iterator[Image]:
        for key in sorted(key for key in self._images if key.startswith(f"/{kind}/")):
            yield self._image(key)

    def data(self, name: str) -> BootData | None:
        row = self._rows.get(name)
        if row is None:
            return None
        return BootData(
            row["params"], self._image(row["kernel"]), self._image(row["initrd"]), row["cloud-init"], row["token"]
        )

    def first(self, *names: str) -> BootData:
        """The boot data of the first of these names that has any."""
        return next((data for name in names if (data := self.data(name)) is not None), BootData())

    def for_name(self, name: str) -> tuple[BootData, Json | None]:
        return self._boot_data(name, self._inventory.by_name(name))

    def for_mac(self, mac: str) -> tuple[BootData, Json | None]:
        return self._boot_data(mac, self._inventory.by_mac(mac))

    def for_nid(self, nid: int) -> tuple[BootData, Json | None]:
        return self._boot_data(nid_name(nid), self._inventory.by_nid(nid))

    def _boot_data(self, name: str, component: Json | None) -> tuple[BootData, Json | None]:
        """The node's own data, under HSM's name and then under this one, else its role's, else the default."""
        if component is None:
            return self.first(name, DEFAULT), None
        role = component.get("Role", "")
        tags = [role, DEFAULT] if role else [DEFAULT]
        own_names = [name] if name else []
        return self.first(component["ID"], *own_names, *tags), component

    def store_new(self, parameters: Json) -> tuple[str, str]:
        """The name that exists already, or an empty text; and the referral token."""
        existing = self._existing(parameters)
        return (existing, "") if existing else ("", self.store(parameters))

    def _existing(self, parameters: Json) -> str:
        if parameters["hosts"]:
            return next((host for host in parameters["hosts"] if host in self._rows), "")
        if parameters["macs"]:
            return next((mac for mac in parameters["macs"] if self._has(self._inventory.by_mac(mac))), "")
        if parameters["nids"]:
            return next((str(nid) for nid in parameters["nids"] if self._has(self._inventory.by_nid(nid))), "")
        kind = next((kind for kind in _KINDS if parameters[kind]), "")
        return parameters[kind] if kind and image_key(kind, parameters[kind]) in self._images else ""

    def _has(self, component: Json | None) -> bool:
        return component is not None and component["ID"] in self._rows

    def store(self, parameters: Json) -> str:
        """The referral token; empty without a host."""
        keys = {kind: self._add_image(kind, parameters[kind]) for kind in _KINDS}
        names = self._names_of(parameters)
        if not names:
            self._set_image_params(parameters, keys)
            return ""
        token = self._new_token()
        row = {"params": parameters["params"], **keys, "cloud-init": parameters["cloud-init"], "token": token}
        self._put(dict.fromkeys(names, row), dict.fromkeys(names, self._size_of(row)))
        return token

    def size(self, name: str) -> int:
        """The approximate number of characters in a row; 0 without a row."""
        return self._size_by_name().get(name, 0)

    def _size_by_name(self) -> dict[str, int]:
        if self._sizes is None:
            self._sizes = {name: self._size_of(row) for name, row in self._rows.items()}
            self._size = sum(self._sizes.values())
        return self._sizes

    def _size_of(self, row: Json) -> int:
        images = sum(len(self._image(row[kind]).path) for kind in _KINDS)
        return _ROW_OVERHEAD + len(row["params"]) + images + _length(row["cloud-init"])

    def _put(self, rows: Mapping[str, Json], sizes: Mapping[str, int]) -> None:
        """Store all rows; raises ``TooManyCharacters`` and then stores none."""
        known_sizes = self._size_by_name()
        size = self._size + sum(size - known_sizes.get(name, 0) for name, size in sizes.items())
        if size > max(MAX_CHARACTERS, self._size):
            raise TooManyCharacters
        self._size = size
        known_sizes.update(sizes)
        for name, row in rows.items():
            self._rows[name] = row

    def _names_of(self, parameters: Json) -> list[str]:
        """The keys to store under: only the first of the three kinds of names counts; unknown nodes keep their name."""
        if parameters["hosts"]:
            return list(parameters["hosts"])
        if parameters["macs"]:
            return [_name(self._inventory.by_mac(mac)) or mac for mac in parameters["macs"]]
        return [_name(self._inventory.by_nid(nid)) or nid_name(nid) for nid in parameters["nids"] or ()]

    def update(self, parameters: Json) -> None:
        """Raises ``NoSuchEntry`` and ``TooManyCharacters``; the images are stored even then."""
        keys = {kind: self._add_image(kind, parameters[kind]) for kind in _KINDS}
        names = self._existing_names(parameters)
        if not names:
            self._set_image_params(parameters, keys)
        fields = {name: value for name, value in {"params": parameters["params"], **keys}.items() if value}
        if len(names) * _length(parameters["cloud-init"]) > MAX_CHARACTERS:
            raise TooManyCharacters
        changed: dict[str, Json] = {}
        for name in names:
            row = self._rows[name]
            new = {**row, **fields, "cloud-init": patched_cloud_init(row["cloud-init"], parameters["cloud-init"])}
            if new != row:
                changed[name] = new
        self._put(changed, {name: self._size_of(row) for name, row in changed.items()})

    def _existing_names(self, selection: Json) -> list[str]:
        names = list(selection["hosts"] or ())
        for name in names:
            self._check(name)
        pairs = [(mac, self._inventory.by_mac(mac)) for mac in selection["macs"] or ()]
        pairs += [(nid_name(nid), self._inventory.by_nid(nid)) for nid in selection["nids"] or ()]
        for stored_name, component in pairs:
            if component is not None:
                row_name = component["ID"] if component["ID"] in self._rows else stored_name
                self._check(row_name)
                names.append(row_name)
        return list(dict.fromkeys(names))

    def _check(self, name: str) -> None:
        if name not in self._rows:
            raise NoSuchEntry(f"Error looking up {name}: Key /params/{name} does not exist")

    def remove(self, selection: Json) -> str:
        """Remove all entries that exist; returns the first error message."""
        names = list(selection["hosts"] or ())
        names += [_name(component) for mac in selection["macs"] or () if (component := self._inventory.by_mac(mac))]
        names += [_name(self._inventory.by_nid(nid)) or nid_name(nid) for nid in selection["nids"] or ()]
        error = ""
        for name in names:
            if name in self._rows:
                self._size -= self._size_by_name().pop(name)
                del self._rows[name]
            else:
                error = error or f"Key {name} deletion: Key /params/{name} does not exist"
        for kind in _KINDS:
            self._remove_image(kind, selection[kind])
        return error

    def _remove_image(self, kind: str, path: str) -> None:
        key = image_key(kind, path)
        if self._images.pop(key, None) is None:
            return
        for name in self.names():
            if self._rows[name][kind] == key:
                self._rows[name] = {**self._rows[name], kind: ""}

    def _set_image_params(self, parameters: Json, keys: Json) -> None:
        """Store the parameters of an image, which a request without hosts sets."""
        kind = next((kind for kind in _KINDS if parameters[kind]), "")
        if kind:
            self._images[keys[kind]] = {"path": parameters[kind], "params": parameters["params"]}

    def _add_image(self, kind: str, path: str) -> str:
        key = image_key(kind, path) if path else ""
        if key and key not in self._images:
            self._images[key] = {"path": path, "params": ""}
        return key

    def _image(self, key: str) -> Image:
        image = self._images.get(key)
        return Image(image["path"], image["params"]) if image else Image()

    def _new_token(self) -> str:
        number = self._tokens.get("last", 0) + 1
        self._tokens["last"] = number
        return self._context.random.uuid("bss.referral-token", number)


def _length(cloud_init: Json) -> int:
    return len(json.dumps(cloud_init)) if cloud_init else 0


def nid_name(nid: int) -> str:
    return f"nid{nid}"


def _name(component: Json | None) -> str:
    return component["ID"] if component else ""
