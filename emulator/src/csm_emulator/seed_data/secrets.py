"""Secrets of the site, derived from its seed: each user derives them again, without asking another service."""

from __future__ import annotations

from csm_emulator.state.random import SeededRandom
from csm_emulator.transport.sigv4 import Keys

VCS_USER = "crayvcs"
KEYCLOAK_ADMIN = "admin"
"""Of the realm ``master``; the secret keycloak-master-admin-auth has the name and the password."""


def s3_keys(random: SeededRandom) -> Keys:
    """S3 keys of the site's own services."""
    return Keys(random.hex(20, "s3.access-key", "bss").upper(), random.hex(40, "s3.secret-key", "bss"))


def vcs_password(random: SeededRandom) -> str:
    return random.hex(24, "vcs.password")


def vcs_token(random: SeededRandom) -> str:
    return random.hex(40, "vcs.token")


def vault_root(random: SeededRandom) -> str:
    return f"hvs.{random.hex(48, 'vault.root')}"


def client_secret(random: SeededRandom, client: str) -> str:
    """The secret of a client of Keycloak."""
    return random.uuid("keycloak", "client secret", client)


def keycloak_admin_password(random: SeededRandom) -> str:
    return random.hex(32, "keycloak.master-admin")


def node_password(random: SeededRandom) -> str:
    """The password of root on every node."""
    return random.hex(12, "node.root-password")
