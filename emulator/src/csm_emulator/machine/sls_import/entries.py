"""Reads an SLS dump and lists its mistakes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path

from csm_emulator.errors import InvalidMachine, InvalidXname
from csm_emulator.records import Json
from csm_emulator.xnames import Xname, XnameType, parse

CLASSES = ("River", "Mountain", "Hill")
MOST_NID = (1 << 63) - 1
"""HSM stores NIDs as BIGINT."""
NETWORK_TYPES = ("slingshot10", "slingshot11", "cassini", "ethernet", "opa", "infiniband", "mixed")
_NOT_HARDWARE = frozenset({XnameType.ALL, XnameType.ALL_COMP, XnameType.ALL_SVC, XnameType.PARTITION})
MAX_LISTED = 10
"""Mistakes that an error lists; the others are counted."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One hardware entry of the dump."""

    xname: Xname
    hardware_class: str
    extra: Mapping[str, Json]
    raw: Mapping[str, Json]

    @property
    def type(self) -> str:
        return self.xname.type.value


@dataclass(frozen=True, slots=True)
class SlsDump:
    hardware: tuple[Entry, ...]
    """In the order of xnames."""
    networks: Mapping[str, Json]


def read_file(path: Path) -> Json:
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise InvalidMachine(f"{path} cannot be read: {error.strerror}; name the file of an SLS dump") from error
    except (ValueError, RecursionError) as error:
        raise InvalidMachine(f"{path} is not JSON: {error}; get a dump with `cray sls dumpstate list`") from error


def is_dump(data: Json) -> bool:
    """Whether it has the shape of a dump, unlike the responses to other requests to SLS."""
    return isinstance(data, dict) and {"Hardware", "Networks"} <= set(data)


def read_dump(data: Json) -> SlsDump:
    """The dump; raises ``InvalidMachine`` with all mistakes at once."""
    if not is_dump(data):
        raise InvalidMachine(
            "an SLS dump must be an object with Hardware and Networks; get one with `cray sls dumpstate list`"
        )
    hardware, networks = (_section(data, name) for name in ("Hardware", "Networks"))
    mistakes: list[str] = []
    entries: dict[Xname, Entry] = {}
    for key, raw in hardware.items():
        entry = _entry(key, raw, mistakes)
        if entry and entry.xname in entries:
            mistakes.append(f"{entry.xname} occurs twice")
        elif entry:
            entries[entry.xname] = entry
    mistakes += _double_nids(entries)
    mistakes += _wrong_networks(networks)
    raise_if_any(mistakes)
    return SlsDump(tuple(entries[xname] for xname in sorted(entries)), networks)


def raise_if_any(mistakes: list[str]) -> None:
    if mistakes:
        more = f"; and {len(mistakes) - MAX_LISTED} more" if len(mistakes) > MAX_LISTED else ""
        listing = "; ".join(mistakes[:MAX_LISTED])
        raise InvalidMachine(f"the SLS dump has mistakes: {listing}{more}. Correct the dump and load it again")


def _section(data: dict[str, Json], name: str) -> dict[str, Json]:
    section = data.get(name)
    if section is None:
        return {}
    if not isinstance(section, dict):
        raise InvalidMachine(f"{name} of an SLS dump must be an object, not {type(section).__name__}")
    return section


def _entry(key: str, raw: Json, mistakes: list[str]) -> Entry | None:
    """The entry, by its Xname, as in SLS itself; the key, Parent and Type are ignored."""
    if not isinstance(raw, dict):
        mistakes.append(f"{key} is not an object")
        return None
    name, extra = raw.get("Xname", key), raw.get("ExtraProperties")
    try:
        xname = parse(name if isinstance(name, str) else "")
    except InvalidXname:
        mistakes.append(f"{key} has no valid Xname")
        return None
    if xname.type in _NOT_HARDWARE:
        mistakes.append(f"{xname} is not hardware")
    elif raw.get("Class") not in CLASSES:
        mistakes.append(f"{xname} has no valid Class ({', '.join(CLASSES)})")
    elif extra is not None and not isinstance(extra, dict):
        mistakes.append(f"{xname} has ExtraProperties that are not an object")
    else:
        entry = Entry(xname, raw["Class"], extra or {}, raw)
        wrong = list(_wrong_node(entry)) if entry.type == "Node" else []
        mistakes += wrong
        return None if wrong else entry
    return None


def _wrong_node(entry: Entry) -> Iterator[str]:
    nid, aliases = entry.extra.get("NID"), entry.extra.get("Aliases")
    if nid is not None and (isinstance(nid, bool) or not isinstance(nid, int) or not 0 <= nid <= MOST_NID):
        yield f"{entry.xname} has a NID that is not a number from 0 to {MOST_NID}"
    for name in ("Role", "SubRole"):
        if not isinstance(entry.extra.get(name), str | None):
            yield f"{entry.xname} has a {name} that is not a string"
    if aliases is not None and not (isinstance(aliases, list) and all(isinstance(alias, str) for alias in aliases)):
        yield f"{entry.xname} has Aliases that are not a list of strings"


def _double_nids(entries: Mapping[Xname, Entry]) -> Iterator[str]:
    owners: dict[int, Xname] = {}
    for xname, entry in entries.items():
        nid = entry.extra.get("NID") if entry.type == "Node" else None
        if nid is None:
            continue
        if nid in owners:
            yield f"{owners[nid]} and {xname} both have NID {nid}"
        owners[nid] = xname


def _wrong_networks(networks: Mapping[str, Json]) -> Iterator[str]:
    """Mistakes in networks that SLS itself would refuse."""
    for name, network in networks.items():
        if not isinstance(network, dict):
            yield f"network {name} is not an object"
        elif network.get("Name", name) != name:
            yield f"network {name} has the Name {network['Name']!r}"
        elif str(network.get("Type")).lower() not in NETWORK_TYPES:
            yield f"network {name} has no valid Type ({', '.join(NETWORK_TYPES)})"
        elif not _are_networks(network.get("IPRanges")):
            yield f"network {name} has IPRanges that are not a list of networks"
        elif not isinstance(network.get("ExtraProperties"), dict | None):
            yield f"network {name} has ExtraProperties that are not an object"


def _are_networks(ranges: Json) -> bool:
    if ranges is None:
        return True
    try:
        return isinstance(ranges, list) and all(ip_network(str(cidr), strict=False) for cidr in ranges)
    except ValueError:
        return False
