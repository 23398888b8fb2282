"""A tenant's transit engine in Vault, with the tenant's own key."""

from __future__ import annotations

import json

from csm_emulator.records import Json
from csm_emulator.services.tapms.kubernetes_client import RequestFailed
from csm_emulator.transport.call import Reply
from csm_emulator.transport.mesh import NO_BODY, Mesh


class VaultClient:
    def __init__(self, mesh: Mesh, token: str) -> None:
        self._mesh = mesh
        self._token = token

    def ensure(self, engine: str, tenant_name: str, key: str, kind: str) -> str:
        """The public keys as JSON. Creates engine and key when they do not exist."""
        if not self._has(engine):
            self._create(engine, tenant_name)
        path = f"{engine}/keys/{key}"
        reply = self._ask("GET", path)
        if reply.status == 404:
            _checked(self._ask("POST", path, {"type": kind}))
            reply = self._ask("GET", path)
        return json.dumps(_checked(reply).json()["data"].get("keys"), separators=(",", ":"), sort_keys=True)

    def _create(self, engine: str, tenant_name: str) -> None:
        policy = f'path "{engine}/*" {{\n  capabilities = ["read", "update", "list"]\n}}'
        role = {
            "bound_service_account_names": "default",
            "bound_service_account_namespaces": tenant_name,
            "policies": f"allow_{engine}",
        }
        try:
            _checked(self._ask("POST", f"sys/mounts/{engine}", {"type": "transit", "description": tenant_name}))
            _checked(self._ask("POST", f"sys/policy/allow_{engine}", {"policy": policy}))
            _checked(self._ask("POST", f"auth/kubernetes/role/{engine}", role))
        except RequestFailed:
            self._clear(engine)
            raise

    def remove(self, engine: str) -> None:
        if self._has(engine):
            for reply in self._clear(engine):
                _checked(reply)

    def _clear(self, engine: str) -> list[Reply]:
        paths = (f"sys/mounts/{engine}", f"sys/policy/allow_{engine}", f"auth/kubernetes/role/{engine}")
        return [self._ask("DELETE", path) for path in paths]

    def _has(self, engine: str) -> bool:
        reply = self._ask("GET", f"sys/mounts/{engine}")
        if reply.status == 400 and b"No secret engine mount at" in reply.body:
            return False
        return _checked(reply).ok

    def _ask(self, method: str, path: str, body: Json = NO_BODY) -> Reply:
        return self._mesh.ask("vault", method, f"/v1/{path}", body, headers={"x-vault-token": self._token})


def _checked(reply: Reply) -> Reply:
    if not reply.ok:
        raise RequestFailed(f"Error making API request to Vault: code {reply.status}")
    return reply
