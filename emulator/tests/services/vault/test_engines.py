"""Secrets with their versions, keys, and mounts."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from service_client import reopen
from services.vault.vault_client import Vault, account_token_of

NOTHING: tuple[int, list[str]] = (404, [])


def write(vault: Vault, path: str, data: Any, **options: Any) -> int:
    body = {"data": data, "options": options} if options else {"data": data}
    return int(vault.data("POST", f"/secret/data/{path}", body)["version"])


def test_every_version_is_kept(vault: Vault) -> None:
    assert [write(vault, "a/b", {"n": n}) for n in (1, 2, 3)] == [1, 2, 3]
    secret = vault.data("GET", "/secret/data/a/b")
    assert (secret["data"], secret["metadata"]["version"]) == ({"n": 3}, 3)
    assert vault.data("GET", "/secret/data/a/b?version=1")["data"] == {"n": 1}
    assert vault.errors_of("GET", "/secret/data/a/b?version=4") == NOTHING
    assert vault.errors_of("GET", "/secret/data/a") == NOTHING
    about = vault.data("GET", "/secret/metadata/a/b")
    assert (about["current_version"], list(about["versions"])) == (3, ["1", "2", "3"])


def test_what_is_deleted_can_come_back_and_what_is_destroyed_cannot(vault: Vault) -> None:
    for n in (1, 2):
        write(vault, "a", {"n": n})
    vault.do("DELETE", "/secret/data/a")
    reply = vault.ask("GET", "/secret/data/a")
    assert (reply.status, reply.json()["data"]["data"]) == (404, None)
    assert reply.json()["data"]["metadata"]["deletion_time"] != ""
    assert vault.data("GET", "/secret/data/a?version=1")["data"] == {"n": 1}
    vault.do("POST", "/secret/undelete/a", {"versions": [2]})
    assert vault.data("GET", "/secret/data/a")["data"] == {"n": 2}
    vault.do("PUT", "/secret/destroy/a", {"versions": [2]})
    vault.do("POST", "/secret/undelete/a", {"versions": [2]})
    assert vault.ask("GET", "/secret/data/a").json()["data"]["metadata"]["destroyed"] is True
    vault.do("POST", "/secret/delete/a", {"versions": ["1", 2]})
    assert vault.data("GET", "/secret/metadata/a")["versions"]["2"]["deletion_time"] == ""
    assert vault.ask("GET", "/secret/data/a?version=1").status == 404
    assert vault.errors_of("POST", "/secret/delete/a", {}) == (400, ["no version number provided"])
    vault.do("DELETE", "/secret/metadata/a")
    assert vault.errors_of("GET", "/secret/metadata/a") == NOTHING
    assert write(vault, "a", {}) == 1


def test_what_is_gone_or_never_was_is_not_deleted_again(vault: Vault) -> None:
    vault.do("DELETE", "/secret/data/never")
    assert vault.errors_of("GET", "/secret/metadata/never") == NOTHING
    write(vault, "a", {})
    vault.do("DELETE", "/secret/data/a")
    first = vault.data("GET", "/secret/metadata/a")["versions"]
    vault.step(60)
    vault.do("DELETE", "/secret/data/a")
    vault.do("POST", "/secret/delete/a", {"versions": [1, 2]})
    assert vault.data("GET", "/secret/metadata/a")["versions"] == first


@pytest.mark.parametrize(("secret", "mount", "lives"), [("1h", "0s", 3600), ("0s", "10m", 600), ("1h", "10m", 600)])
def test_versions_that_end_by_themselves(vault: Vault, secret: str, mount: str, lives: int) -> None:
    vault.do("POST", "/secret/config", {"delete_version_after": mount})
    vault.do("POST", "/secret/metadata/a", {"delete_version_after": secret})
    write(vault, "a", {"n": 1})
    vault.step(lives - 1)
    assert vault.data("GET", "/secret/data/a")["metadata"]["deletion_time"] != ""
    vault.step(1)
    assert vault.ask("GET", "/secret/data/a").status == 404


def test_check_and_set(vault: Vault) -> None:
    mismatch = (400, ["check-and-set parameter did not match the current version"])
    assert write(vault, "a", {"n": 1}, cas=0) == 1
    assert vault.errors_of("POST", "/secret/data/a", {"data": {}, "options": {"cas": 0}}) == mismatch
    assert write(vault, "a", {"n": 2}, cas=1) == 2
    vault.do("POST", "/secret/metadata/a", {"cas_required": True, "custom_metadata": {"owner": "bea"}})
    assert vault.errors_of("POST", "/secret/data/a", {"data": {}}) == (
        400,
        ["check-and-set parameter required for this call"],
    )
    assert vault.data("GET", "/secret/metadata/a")["custom_metadata"] == {"owner": "bea"}
    assert vault.data("GET", "/secret/data/a")["data"] == {"n": 2}


def test_old_versions_make_room(vault: Vault) -> None:
    for n in range(12):
        write(vault, "ten", {"n": n})
        if n == 9:
            assert vault.data("GET", "/secret/metadata/ten")["oldest_version"] == 0
    about = vault.data("GET", "/secret/metadata/ten")
    assert (list(about["versions"]), about["oldest_version"]) == ([str(n) for n in range(3, 13)], 3)
    vault.do("POST", "/secret/metadata/two", {"max_versions": 2})
    for n in range(4):
        write(vault, "two", {"n": n})
    assert list(vault.data("GET", "/secret/metadata/two")["versions"]) == ["3", "4"]


def test_a_patch_is_merged(vault: Vault) -> None:
    write(vault, "a", {"x": {"y": 1, "z": 2}, "w": 3})
    vault.data("PATCH", "/secret/data/a", {"data": {"x": {"y": None, "v": [1]}, "w": "é\ud800"}})
    assert vault.data("GET", "/secret/data/a")["data"]["x"] == {"z": 2, "v": [1]}
    assert vault.errors_of("PATCH", "/secret/data/none", {"data": {}}) == NOTHING


def test_folders_are_listed(vault: Vault) -> None:
    for path in ("team/a", "team/b/c", "team/b"):
        write(vault, path, {})
    for ask in ("LIST /secret/metadata/team", "GET /secret/metadata/team?list=true", "LIST /secret/metadata/team/"):
        assert vault.data(*ask.split(" ")) == {"keys": ["a", "b", "b/"]}
    assert vault.errors_of("LIST", "/secret/metadata/none") == NOTHING
    assert vault.errors_of("GET", "/secret/team/a")[0] == 404
    assert vault.errors_of("POST", "/secret/data/", {"data": {}})[0] == 404


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "no data provided"),
        ({"data": "text"}, "error converting input for field \"data\": '' expected a map, got 'string'"),
        ({"data": {}, "options": {"cas": "x"}}, "error converting input for field 'cas'"),
    ],
)
def test_a_write_that_is_none(vault: Vault, body: Any, message: str) -> None:
    assert vault.errors_of("POST", "/secret/data/a", body) == (400, [message])


def test_what_tapms_does(vault: Vault) -> None:
    """An engine per tenant, with a key, a policy and a role."""
    own = account_token_of(vault.site, "tapms-operator", "tapms-operator")
    tapms = Vault(vault.site, vault.login(own, "kubernetes", "tapms-operator")["client_token"])
    engine = "cray-tenant-1234"
    assert tapms.errors_of("GET", f"/sys/mounts/{engine}") == (400, [f"No secret engine mount at {engine}/"])
    tapms.do("PUT", f"/sys/mounts/{engine}", {"type": "transit", "description": "vcluster-blue"})
    rules = f'path "{engine}/*" {{\n  capabilities = ["read", "update", "list"]\n}}'
    tapms.do("PUT", f"/sys/policy/allow_{engine}", {"policy": rules})
    role = {
        "bound_service_account_names": "default",
        "bound_service_account_namespaces": "user",
        "policies": f"allow_{engine}",
    }
    tapms.do("PUT", f"/auth/kubernetes/role/{engine}", role)
    assert tapms.data("GET", f"/sys/mounts/{engine}")["type"] == "transit"
    assert tapms.errors_of("GET", f"/{engine}/keys/key1") == NOTHING
    tapms.do("PUT", f"/{engine}/keys/key1", {"type": "rsa-3072"})
    keys = tapms.data("GET", f"/{engine}/keys/key1")["keys"]
    public = load_pem_public_key(keys["1"]["public_key"].encode())
    assert isinstance(public, rsa.RSAPublicKey)
    assert public.key_size == 3072
    theirs = account_token_of(vault.site, "user", "default")
    tenant = Vault(vault.site, vault.login(theirs, "kubernetes", engine)["client_token"])
    assert tenant.data("GET", f"/{engine}/keys/key1")["keys"] == keys
    assert tenant.ask("GET", "/cray-tenant-other/keys/key1").status == 403
    assert Vault(reopen(vault.site), vault.token).data("GET", f"/{engine}/keys/key1")["keys"] == keys


def test_an_engine_that_goes_takes_everything_along(vault: Vault) -> None:
    vault.do("POST", "/sys/mounts/team", {"type": "kv", "options": {"version": "2"}})
    vault.do("POST", "/sys/mounts/keys", {"type": "transit"})
    vault.data("POST", "/team/data/a", {"data": {"n": 1}})
    vault.do("POST", "/keys/keys/a", {"type": "ecdsa-p256"})
    vault.do("POST", "/keys/keys/a/rotate")
    assert vault.data("GET", "/keys/keys/a")["latest_version"] == 2
    assert vault.data("GET", "/sys/internal/ui/mounts/team/a")["options"] == {"version": "2"}
    assert vault.ask("GET", "/sys/mounts").json()["team/"]["type"] == "kv"
    for name in ("team", "keys"):
        vault.do("DELETE", f"/sys/mounts/{name}")
    assert vault.errors_of("GET", "/team/data/a") == (
        404,
        ['no handler for route "team/data/a". route entry not found.'],
    )
    vault.do("POST", "/sys/mounts/team", {"type": "kv-v2"})
    vault.do("POST", "/sys/mounts/keys", {"type": "transit"})
    assert vault.errors_of("GET", "/team/data/a") == NOTHING
    assert vault.errors_of("GET", "/keys/keys/a") == NOTHING


@pytest.mark.parametrize(
    ("name", "body", "refusal"),
    [
        ("secret", {"type": "transit"}, (400, ["path is already in use at secret/"])),
        ("secret/inside", {"type": "transit"}, (400, ["path is already in use at secret/"])),
        ("sys/x", {"type": "transit"}, (400, ['cannot mount "sys/x/"'])),
        ("new", {}, (400, ["backend type must be specified as a string"])),
        ("new", {"type": "none"}, (400, ["plugin not found in the catalog: none"])),
    ],
)
def test_a_mount_that_cannot_be(vault: Vault, name: str, body: Any, refusal: tuple[int, list[str]]) -> None:
    assert vault.errors_of("POST", f"/sys/mounts/{name}", body) == refusal
    assert vault.errors_of("POST", "/transit/keys/k", {"type": "none"}) == (400, ["unknown key type none"])


@pytest.mark.parametrize("path", ["encrypt/k", "keys/k/config", "random"])
def test_keys_are_kept_and_not_used(vault: Vault, path: str) -> None:
    status, (reason,) = vault.errors_of("POST", f"/transit/{path}", {})
    assert (status, reason) == (501, f"this Vault keeps transit keys and does not work with them: {path}")


def test_secrets_outlive_the_machine(vault: Vault) -> None:
    write(vault, "a", {"n": 1})
    vault.do("DELETE", "/secret/metadata/slurm/munge")
    reopened_vault = Vault(reopen(vault.site))
    assert reopened_vault.data("GET", "/secret/data/a")["data"] == {"n": 1}
    assert reopened_vault.errors_of("GET", "/secret/data/slurm/munge") == NOTHING
    assert reopened_vault.data("POST", "/manta/data/alps/k8s", {"data": {"mine": "now"}})["version"] == 2
    assert reopened_vault.data("GET", "/manta/data/alps/k8s")["data"] == {"mine": "now"}
