"""Secrets of the site, made from its seed: whoever needs one makes it again, and no service asks another for it."""

from __future__ import annotations

from csm_emulator.state.random import Dice
from csm_emulator.transport.sigv4 import Keys

VCS_USER = "crayvcs"
KEYCLOAK_ADMIN = "admin"
"""Of the realm ``master``; the secret keycloak-master-admin-auth has the name and the password."""


def s3_keys(dice: Dice) -> Keys:
    """Of the site's own services."""
    return Keys(dice.hex(20, "s3.access-key", "bss").upper(), dice.hex(40, "s3.secret-key", "bss"))


def vcs_password(dice: Dice) -> str:
    return dice.hex(24, "vcs.password")


def vcs_token(dice: Dice) -> str:
    return dice.hex(40, "vcs.token")


def vault_root(dice: Dice) -> str:
    return f"hvs.{dice.hex(48, 'vault.root')}"


def client_secret(dice: Dice, client: str) -> str:
    """Of a client of Keycloak."""
    return dice.uuid("keycloak", "client secret", client)


def keycloak_admin_password(dice: Dice) -> str:
    return dice.hex(32, "keycloak.master-admin")


def node_password(dice: Dice) -> str:
    """Of root, on every node."""
    return dice.hex(12, "node.root-password")
