"""The secrets that Vault has when the machine is new."""

from __future__ import annotations

from base64 import b64encode

from csm_emulator.context import Context, PublicAddresses
from csm_emulator.records import Json
from csm_emulator.seed_data.repositories import FIRST_DAY
from csm_emulator.seed_data.secrets import node_password, vcs_token
from csm_emulator.services.vault.kv.store import Source, seed_record
from csm_emulator.state.random import SeededRandom

KUBERNETES = "kubernetes"
ALPS = "alps"


def sites(topology: str) -> tuple[str, ...]:
    """The names of this machine in manta's configuration."""
    return tuple(dict.fromkeys((topology, ALPS)))


def manta_default(key: str) -> str:
    """The key that is read instead of a missing one, since manta may give this machine's site any name."""
    mount, _, path = key.partition("/")
    site, _, name = path.partition("/")
    return f"manta/{ALPS}/{name}" if mount == "manta" and site and name in ("k8s", "vcs") else key


def secrets(context: Context) -> dict[str, Json]:
    """Records by mount and path."""
    records: dict[str, Json] = {
        "secret/csm/users/root": _record({"password": node_password(context.random)}),
        "secret/slurm/munge": _record({"key": _munge(context.random)}),
    }
    for site in sites(context.machine.topology.name):
        records[f"manta/{site}/k8s"] = seed_record(FIRST_DAY, {"from": KUBERNETES})
        records[f"manta/{site}/vcs"] = _record({"token": vcs_token(context.random)})
    return records


def sources(public_addresses: PublicAddresses) -> dict[str, Source]:
    """Contents that are made when they are read: the administrator's certificate is new at each start."""
    return {KUBERNETES: lambda: _kubernetes(public_addresses)}


def _kubernetes(public_addresses: PublicAddresses) -> dict[str, str]:
    """In the form of a kubeconfig, which csm-rs makes of it."""
    return {
        "certificate-authority-data": _base64(public_addresses.kubernetes_ca),
        "client-certificate-data": _base64(public_addresses.kubernetes_certificate),
        "client-key-data": _base64(public_addresses.kubernetes_key),
    }


def _record(data: dict[str, str]) -> Json:
    return seed_record(FIRST_DAY, {"data": data})


def _munge(random: SeededRandom) -> str:
    return _base64(random.hex(64, "munge.key"))


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()
