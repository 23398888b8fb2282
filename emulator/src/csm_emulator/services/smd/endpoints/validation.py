"""Validation of a Redfish endpoint: the xname of a controller, and names and addresses that agree."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from csm_emulator.dialects.hms.names import hms_type, normal
from csm_emulator.records import Json

FIELDS = (
    "ID",
    "Type",
    "Name",
    "Hostname",
    "Domain",
    "FQDN",
    "Enabled",
    "UUID",
    "User",
    "Password",
    "UseSSDP",
    "MACRequired",
    "MACAddr",
    "IPAddress",
    "RediscoverOnUpdate",
    "TemplateID",
)
OMITTED = frozenset({"Name", "UUID", "UseSSDP", "MACRequired", "MACAddr", "IPAddress", "TemplateID"})
"""Fields that SMD omits when they are empty."""
WIDTHS = (
    ("ID", 63),
    ("Hostname", 63),
    ("Domain", 192),
    ("FQDN", 255),
    ("UUID", 64),
    ("User", 128),
    ("Password", 128),
    ("MACAddr", 32),
    ("IPAddress", 64),
    ("Name", 1 << 30),
)
"""The width of the database columns in characters."""
CONTROLLERS = frozenset(
    {"ChassisBMC", "RouterBMC", "NodeBMC", "CabinetPDUController", "MgmtSwitch", "MgmtHLSwitch", "CDUMgmtSwitch"}
)
_EDGES = "./ "


def validated(raw: Json) -> Json:
    """A new endpoint as SMD stores it; raises ``ValueError`` with SMD's message."""
    domain = raw["Domain"].strip(_EDGES)
    hostname, is_address = _hostname(raw["Hostname"].strip(_EDGES))
    if raw["FQDN"]:
        hostname, domain, is_address = _from_fqdn(raw["FQDN"], hostname, domain, is_address)
    xname = normal(raw["ID"].strip(_EDGES) if raw["ID"] else hostname)
    if not xname:
        raise ValueError("No xname ID found")
    type_ = _type(xname)
    fqdn = _fqdn(hostname, xname, domain, is_address)
    requested = ip_text(raw["FQDN"]) or raw["FQDN"]
    if requested and fqdn != requested:
        raise ValueError(f"host/domain conflicts with FQDN: '{fqdn}' != '{requested}'")
    record = {
        **raw,
        "ID": xname,
        "Type": type_,
        "Hostname": hostname,
        "Domain": domain,
        "FQDN": fqdn,
        "Enabled": raw["Enabled"] is not False,
        "IPAddress": _address(raw["IPAddress"], hostname if is_address else ""),
        "TemplateID": "",
        # As in CSM: the password goes to Vault, HSM does not store it.
        "Password": "",
    }
    for name in ("UseSSDP", "MACRequired", "RediscoverOnUpdate"):
        record[name] = bool(raw[name])
    return on_wire({**record, "DiscoveryInfo": {"LastDiscoveryStatus": "NotYetQueried"}})


def on_wire(record: Mapping[str, Json]) -> Json:
    fields = {name: record[name] for name in FIELDS if record.get(name) or name not in OMITTED}
    return {**fields, "DiscoveryInfo": record["DiscoveryInfo"]}


def patched(old: Json, patch: Json) -> Json | None:
    """The endpoint with the changes of the patch; None when it changes nothing."""
    raw = {name: old.get(name, False if name in ("UseSSDP", "MACRequired") else "") for name in FIELDS}
    changes = {
        name: value for name, value in patch.items() if name != "ID" and value is not None and value != raw[name]
    }
    if not changes:
        return None
    changed = {**raw, **changes}
    if "IPAddress" in changes and ip_text(changed["Hostname"]) not in ("", changes["IPAddress"]):
        changed |= {"Hostname": changes["IPAddress"], "FQDN": changes["IPAddress"]}
    return validated(changed)


def _hostname(text: str) -> tuple[str, bool]:
    address = ip_text(text)
    if address:
        return address, True
    if "." in text:
        raise ValueError("Hostname is not a basename or IP address.")
    return text, False


def _from_fqdn(fqdn: str, hostname: str, domain: str, is_address: bool) -> tuple[str, str, bool]:
    """Hostname, domain and whether the hostname is an address, completed from the FQDN where they are empty."""
    address = ip_text(fqdn)
    if address and not hostname:
        hostname, is_address = address, True
    first, _, remainder = fqdn.partition(".")
    first, remainder = first.strip(_EDGES), remainder.strip(_EDGES)
    hostname = hostname or first
    if not domain and hostname == first:
        domain = remainder
    return hostname, domain, is_address


def _type(xname: str) -> str:
    kind = hms_type(xname)
    if not kind:
        raise ValueError(f"{xname} is not a valid locational xname ID")
    if kind not in CONTROLLERS:
        raise ValueError(f"xname ID {xname} has wrong type for RF endpoint: {kind}")
    return kind


def _fqdn(hostname: str, xname: str, domain: str, is_address: bool) -> str:
    if domain:
        return hostname if is_address else f"{hostname or xname}.{domain}"
    return hostname or xname


def _address(text: str, host: str) -> str:
    if not text:
        return host
    address = ip_text(text)
    if not address:
        raise ValueError(f"IPAddress is not a valid IP address: '{text}'")
    if host and address != host:
        raise ValueError(f"hostname IP address conflicts with given IP address: '{host}' != '{address}'")
    return address


def ip_text(text: str) -> str:
    """An IP address, with its port if there is one, in Go's spelling; empty when the text is no address."""
    host, port = _split_port(text.lower())
    address, _, zone = host.partition("%")
    is_ipv6 = ":" in address
    if zone and not is_ipv6:
        return ""
    try:
        text_address = str(ipaddress.ip_address(address))
    except ValueError:
        return ""
    spelled = f"{text_address}%{zone}" if zone else text_address
    return (f"[{spelled}]" if is_ipv6 else spelled) + port


def _split_port(text: str) -> tuple[str, str]:
    if text.startswith("[") and "]:" in text:
        host, _, port = text[1:].rpartition("]:")
        return host, f":{port}" if port else ""
    if text.count(":") == 1:
        host, _, port = text.partition(":")
        return host, f":{port}" if port else ""
    return text.strip("[]"), ""
