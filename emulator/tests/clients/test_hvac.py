"""hvac from PyPI against the site's Vault."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import hvac
import pytest
from hvac.exceptions import Forbidden, InvalidPath, InvalidRequest

from csm_emulator.process import Emulator, emulate
from csm_emulator.seed_data.secrets import vault_root
from csm_emulator.state.random import SeededRandom

SITE = "tiny"


@pytest.fixture(scope="module")
def machine() -> Iterator[Emulator]:
    with emulate("tiny") as running:
        yield running


@pytest.fixture
def vault(machine: Emulator) -> Iterator[hvac.Client]:
    """A client that logged in with a token of Keycloak, as Manta does."""
    client = hvac.Client(url=machine.addresses["vault"], verify=machine.ca)
    client.auth.jwt.jwt_login("manta", machine.token(), path=f"jwt-manta-{SITE}")
    yield client
    client.session.close()


def test_a_token_of_keycloak_opens_it(vault: hvac.Client) -> None:
    assert vault.is_authenticated()
    assert vault.auth.token.lookup_self()["data"]["ttl"] > 0


def test_an_unknown_token_does_not(machine: Emulator) -> None:
    client = hvac.Client(url=machine.addresses["vault"], verify=machine.ca)
    with pytest.raises((InvalidRequest, Forbidden)):
        client.auth.jwt.jwt_login("manta", "not.a.token", path=f"jwt-manta-{SITE}")
    with pytest.raises(Forbidden):
        client.secrets.kv.v2.read_secret_version(f"{SITE}/k8s", mount_point="manta", raise_on_deleted_version=True)
    client.session.close()


def test_the_cluster_s_certificate_is_there(vault: hvac.Client) -> None:
    read = vault.secrets.kv.v2.read_secret_version(f"{SITE}/k8s", mount_point="manta", raise_on_deleted_version=True)
    secret = read["data"]["data"]
    assert b"BEGIN CERTIFICATE" in base64.b64decode(secret["certificate-authority-data"])
    assert b"PRIVATE KEY" in base64.b64decode(secret["client-key-data"])


def test_secrets_have_versions(machine: Emulator) -> None:
    client = hvac.Client(url=machine.addresses["vault"], verify=machine.ca, token=vault_root(SeededRandom(1)))
    kv = client.secrets.kv.v2
    kv.create_or_update_secret("beam", {"password": "one"}, mount_point="secret")
    kv.create_or_update_secret("beam", {"password": "two"}, cas=1, mount_point="secret")
    with pytest.raises(InvalidRequest, match="check-and-set"):
        kv.create_or_update_secret("beam", {"password": "three"}, cas=1, mount_point="secret")
    first = kv.read_secret_version("beam", version=1, mount_point="secret", raise_on_deleted_version=True)
    assert first["data"]["data"] == {"password": "one"}
    assert "beam" in kv.list_secrets("", mount_point="secret")["data"]["keys"]
    kv.delete_metadata_and_all_versions("beam", mount_point="secret")
    with pytest.raises(InvalidPath):
        kv.read_secret_version("beam", mount_point="secret", raise_on_deleted_version=True)
    client.session.close()
