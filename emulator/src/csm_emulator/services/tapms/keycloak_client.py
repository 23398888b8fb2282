"""The group of a tenant's administrators in Keycloak. What is not answered counts here as the operator counts it."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import urlencode

from csm_emulator.records import Json
from csm_emulator.seed_data.secrets import KEYCLOAK_ADMIN
from csm_emulator.services.tapms.kubernetes_client import Failed
from csm_emulator.transport.call import Reply
from csm_emulator.transport.mesh import NO_BODY, Mesh

ROLE = "tenant-admin"
_TOKEN = "/keycloak/realms/master/protocol/openid-connect/token"  # noqa: S105 (a path)
_FORM = {"content-type": "application/x-www-form-urlencoded"}


class Keycloak:
    def __init__(self, mesh: Mesh, password: str) -> None:
        """``password`` is that of the realm ``master``'s administrator."""
        self._mesh = mesh
        self._password = password

    def ensure(self, tenant_name: str) -> None:
        """A group that is there is left as it is, also one that never got its role."""
        name, token = _group_name(tenant_name), self._token()
        if name in self._ids(token, "groups"):
            return
        _check(self._ask(token, "POST", "groups", {"name": name, "path": f"/{name}"}), "creating/updating group")
        self._give_role(token, name)

    def _give_role(self, token: str, name: str) -> None:
        """Nothing, and no further try, when group or role are not found."""
        try:
            group, role = self._ids(token, "groups")[name], self._ids(token, "roles")[ROLE]
        except (Failed, KeyError):
            return
        mapping = f"groups/{group}/role-mappings/realm"
        _check(self._ask(token, "POST", mapping, [{"name": ROLE, "id": role}]), f"assigning {ROLE} role")

    def remove(self, tenant_name: str) -> None:
        """The operator takes a group that it cannot find, for whatever reason, for deleted."""
        token, group = self._token(), None
        with suppress(Failed):
            group = self._ids(token, "groups").get(_group_name(tenant_name))
        if group:
            _check(self._ask(token, "DELETE", f"groups/{group}"), "deleting group")

    def _ids(self, token: str, kind: str) -> dict[str, str]:
        reply = _check(self._ask(token, "GET", kind), "listing groups")
        return {one["name"]: one["id"] for one in reply.json()}

    def _token(self) -> str:
        """Empty when none is given; what is asked with it is then refused."""
        who = {"client_id": "admin-cli", "username": KEYCLOAK_ADMIN, "password": self._password}
        form = urlencode({"grant_type": "password", **who}).encode()
        reply = self._mesh.ask("keycloak", "POST", _TOKEN, form, headers=_FORM)
        return str(reply.json()["access_token"]) if reply.ok else ""

    def _ask(self, token: str, method: str, path: str, body: Json = NO_BODY) -> Reply:
        where = f"/keycloak/admin/realms/shasta/{path}"
        return self._mesh.ask("keycloak", method, where, body, headers={"authorization": f"Bearer {token}"})


def _group_name(tenant_name: str) -> str:
    return f"{tenant_name}-tenant-admin"


def _check(reply: Reply, what: str) -> Reply:
    if not reply.ok:
        raise Failed(f"keycloak returned a non-200 response {what}")
    return reply
