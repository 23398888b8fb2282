"""What Vault holds on the first day."""

from __future__ import annotations

from base64 import b64encode

from csm_emulator.context import Context, PublicAddresses
from csm_emulator.records import Json
from csm_emulator.seed_data.repositories import FIRST_DAY
from csm_emulator.seed_data.secrets import node_password, vcs_token
from csm_emulator.services.vault.kv.store import Source, seeded
from csm_emulator.state.random import SeededRandom

KUBERNETES = "kubernetes"
ALPS = "alps"


def sites(topology: str) -> tuple[str, ...]:
    """Names under which manta knows this machine."""
    return tuple(dict.fromkeys((topology, ALPS)))


def stand_in(key: str) -> str:
    """Manta may call its site as it likes: what was not written for it is what this machine's own site has."""
    mount, _, path = key.partition("/")
    site, _, name = path.partition("/")
    return f"manta/{ALPS}/{name}" if mount == "manta" and site and name in ("k8s", "vcs") else key


def secrets(context: Context) -> dict[str, Json]:
    """By mount and path."""
    found: dict[str, Json] = {
        "secret/csm/users/root": _written({"password": node_password(context.random)}),
        "secret/slurm/munge": _written({"key": _munge(context.random)}),
    }
    for site in sites(context.machine.topology.name):
        found[f"manta/{site}/k8s"] = seeded(FIRST_DAY, {"from": KUBERNETES})
        found[f"manta/{site}/vcs"] = _written({"token": vcs_token(context.random)})
    return found


def sources(public_addresses: PublicAddresses) -> dict[str, Source]:
    """The administrator's certificate is another whenever the machine is served anew."""
    return {KUBERNETES: lambda: _kubernetes(public_addresses)}


def _kubernetes(public_addresses: PublicAddresses) -> dict[str, str]:
    """As a kubeconfig has it, and csm-rs makes one of it."""
    return {
        "certificate-authority-data": _base64(public_addresses.kubernetes_ca),
        "client-certificate-data": _base64(public_addresses.kubernetes_certificate),
        "client-key-data": _base64(public_addresses.kubernetes_key),
    }


def _written(data: dict[str, str]) -> Json:
    return seeded(FIRST_DAY, {"data": data})


def _munge(random: SeededRandom) -> str:
    return _base64(random.hex(64, "munge.key"))


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()
