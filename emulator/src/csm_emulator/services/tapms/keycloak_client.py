"""The group of a tenant's administrators in Keycloak, with the operator's own treatment of errors."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import urlencode

from csm_emulator.records import Json
from csm_emulator.seed_data.secrets import KEYCLOAK_ADMIN
from csm_emulator.services.tapms.kubernetes_client import RequestFailed
from csm_emulator.transport.call import Reply
from csm_emulator.transport.mesh import NO_BODY, Mesh

ROLE = "tenant-admin"
_TOKEN = "/keycloak/realms/master/protocol/openid-connect/token"  # noqa: S105 (a path)
_FORM = {"content-type": "application/x-www-form-urlencoded"}


class KeycloakClient:
    def __init__(self, mesh: Mesh, password: str) -> None:
        """``password`` is the password of the administrator of the realm ``master``."""
        self._mesh = mesh
        self._password = password

    def ensure(self, tenant_name: str) -> None:
        """Creates the group. An existing group stays as it is, even if it never got its role."""
        name, token = _group_name(tenant_name), self._token()
        if name in self._ids(token, "groups"):
            return
        _check(self._ask(token, "POST", "groups", {"name": name, "path": f"/{name}"}), "creating/updating group")
        self._give_role(token, name)

    def _give_role(self, token: str, name: str) -> None:
        """Does nothing, and is not repeated, when group or role are not found."""
        try:
            group, role = self._ids(token, "groups")[name], self._ids(token, "roles")[ROLE]
        except (RequestFailed, KeyError):
            return
        mapping = f"groups/{group}/role-mappings/realm"
        _check(self._ask(token, "POST", mapping, [{"name": ROLE, "id": role}]), f"assigning {ROLE} role")

    def remove(self, tenant_name: str) -> None:
        """A group that cannot be found, for any reason, counts as deleted."""
        token, group = self._token(), None
        with suppress(RequestFailed):
            group = self._ids(token, "groups").get(_group_name(tenant_name))
        if group:
            _check(self._ask(token, "DELETE", f"groups/{group}"), "deleting group")

    def _ids(self, token: str, kind: str) -> dict[str, str]:
        reply = _check(self._ask(token, "GET", kind), "listing groups")
        return {entry["name"]: entry["id"] for entry in reply.json()}

    def _token(self) -> str:
        """A token; empty when the login fails, so that the requests with it fail."""
        login = {"client_id": "admin-cli", "username": KEYCLOAK_ADMIN, "password": self._password}
        form = urlencode({"grant_type": "password", **login}).encode()
        reply = self._mesh.ask("keycloak", "POST", _TOKEN, form, headers=_FORM)
        return str(reply.json()["access_token"]) if reply.ok else ""

    def _ask(self, token: str, method: str, path: str, body: Json = NO_BODY) -> Reply:
        url_path = f"/keycloak/admin/realms/shasta/{path}"
        return self._mesh.ask("keycloak", method, url_path, body, headers={"authorization": f"Bearer {token}"})


def _group_name(tenant_name: str) -> str:
    return f"{tenant_name}-tenant-admin"


def _check(reply: Reply, activity: str) -> Reply:
    if not reply.ok:
        raise RequestFailed(f"keycloak returned a non-200 response {activity}")
    return reply
