"""A tenant's key in Vault, and TAPMS's requests to Vault, which a stub answers in most tests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from csm_emulator.seed_data.secrets import vault_root
from csm_emulator.transport.call import Call, Reply, json_reply
from services.tapms.tenants_client import BLUE, Tapms

KMS = {"enablekms": True}
PUBLIC = {"1": {"public_key": "-----BEGIN PUBLIC KEY-----"}}


class Vault:
    """Returns the value that was written at a path; answers in Vault's words for a missing mount."""

    def __init__(self, tapms: Tapms) -> None:
        self.kept: dict[str, Any] = {}
        self.refuses = ""
        self._site, self._token = tapms.site, vault_root(tapms.site.random)
        tapms.site.mesh._ask = self._ask

    def _ask(self, service: str, call: Call) -> Reply:
        if service != "vault":
            return self._site.ask(service, call)
        path = call.path.removeprefix("/v1/")
        if call.headers.get("x-vault-token") != self._token or (self.refuses and path.startswith(self.refuses)):
            return json_reply({"errors": ["permission denied"]}, 403)
        return getattr(self, f"_{call.method.lower()}")(path, call)  # type: ignore[no-any-return]

    def _get(self, path: str, _: Call) -> Reply:
        if path in self.kept:
            return json_reply({"data": {**self.kept[path], "keys": PUBLIC}})
        if path.startswith("sys/mounts/"):
            return json_reply({"errors": [f"No secret engine mount at {path[11:]}/"]}, 400)
        return json_reply({"errors": []}, 404)

    def _post(self, path: str, call: Call) -> Reply:
        self.kept[path] = json.loads(call.body)
        return Reply(204)

    def _delete(self, path: str, _: Call) -> Reply:
        self.kept = {key: value for key, value in self.kept.items() if not key.startswith(path)}
        return Reply(204)


@pytest.fixture
def vault(tapms: Tapms) -> Vault:
    return Vault(tapms)


def test_a_key_of_its_own(tapms: Tapms, vault: Vault) -> None:
    status = tapms.deploy(tenantkms=KMS)["status"]
    engine = f"cray-tenant-{status['uuid']}"
    assert status["tenantkms"] == {
        "transitname": engine,
        "keyname": "key1",
        "keytype": "rsa-3072",
        "publickey": json.dumps(PUBLIC, separators=(",", ":")),
    }
    assert vault.kept[f"sys/mounts/{engine}"] == {"type": "transit", "description": BLUE}
    assert vault.kept[f"{engine}/keys/key1"] == {"type": "rsa-3072"}
    assert vault.kept[f"auth/kubernetes/role/{engine}"]["bound_service_account_namespaces"] == BLUE
    assert f'path "{engine}/*"' in vault.kept[f"sys/policy/allow_{engine}"]["policy"]
    assert tapms.get(f"/v1alpha3/tenants/{BLUE}")["status"]["tenantkms"] == status["tenantkms"]


def test_the_key_stays_when_the_tenant_changes(tapms: Tapms, vault: Vault) -> None:
    key_before = tapms.deploy(tenantkms=KMS)["status"]["tenantkms"]
    keys_stored = dict(vault.kept)
    assert tapms.change(childnamespaces=["user"]).ok
    tapms.until("Deployed")
    tenant = tapms.tenant()
    assert tenant is not None
    assert (tenant["status"]["tenantkms"], vault.kept) == (key_before, keys_stored)


def test_it_goes_with_the_tenant(tapms: Tapms, vault: Vault) -> None:
    engine = tapms.deploy(tenantkms=KMS)["status"]["tenantkms"]["transitname"]
    tapms.delete()
    tapms.until(None)
    assert [path for path in vault.kept if engine in path and "/keys/" not in path] == []


def test_half_an_engine_is_taken_away_again(tapms: Tapms, vault: Vault) -> None:
    vault.refuses = "auth/"
    assert tapms.create(tenantkms=KMS).status == 201
    tapms.step(120)
    assert tapms.state() == "Deploying"
    assert vault.kept == {}
    vault.refuses = ""
    tapms.until("Deployed", most=900)


def test_vault_is_not_asked_when_the_tenant_has_no_key(tapms: Tapms, vault: Vault) -> None:
    tapms.deploy()
    assert vault.kept == {}


def test_with_the_machine_s_own_vault(tapms: Tapms) -> None:
    kms = tapms.deploy(tenantkms=KMS)["status"]["tenantkms"]
    assert "-----BEGIN PUBLIC KEY-----" in kms["publickey"]
    mount, token = f"/v1/sys/mounts/{kms['transitname']}", {"x-vault-token": vault_root(tapms.site.random)}
    assert tapms.site.mesh.ask("vault", "GET", mount, headers=token).ok
    tapms.delete()
    tapms.until(None)
    assert tapms.site.mesh.ask("vault", "GET", mount, headers=token).status == 400
