"""Groups, partitions and components in HSM, as TAPMS asks for them: one call for each member."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from csm_emulator.records import Json
from csm_emulator.services.tapms.kubernetes_client import Failed
from csm_emulator.transport.call import Reply
from csm_emulator.transport.mesh import NO_BODY, Mesh

EXCLUSIVE = "tapms-exclusive-group-label"
GROUPS, PARTITIONS = "groups", "partitions"
_NAME = {GROUPS: "label", PARTITIONS: "name"}


class Hsm:
    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh

    def _ask(self, method: str, path: str, body: Json = NO_BODY) -> Reply:
        return self._mesh.ask("smd", method, f"/hsm/v2/{path}", body)

    def nodes(self, role: str) -> frozenset[str]:
        reply = self._ask("GET", f"State/Components?type=Node&role={role}")
        if not reply.ok:
            raise Failed("HSM returned a non-200 response listing components")
        return frozenset(component["ID"] for component in reply.json()["Components"])

    def list(self, kind: str) -> list[Json]:
        reply = self._ask("GET", kind)
        if not reply.ok:
            raise Failed(f"HSM returned a non-200 response listing {kind}")
        return list(reply.json() or ())

    def has(self, kind: str, name: str) -> bool:
        return any(one[_NAME[kind]] == name for one in self.list(kind))

    def create(self, kind: str, name: str, tenant: str, xnames: Iterable[str], *, exclusive: bool = False) -> None:
        body: dict[str, Json] = {_NAME[kind]: name, "tags": [tenant], "members": {"ids": list(xnames)}}
        if exclusive:
            body["exclusiveGroup"] = EXCLUSIVE
        if not self._ask("POST", kind, body).ok:
            raise Failed(f"HSM returned a non-200 response creating {kind[:-1]}")

    def delete(self, kind: str, name: str) -> None:
        if not self.has(kind, name):
            return
        if not self._ask("DELETE", f"{kind}/{quote(name, '')}").ok:
            raise Failed(f"HSM returned a non-200 response deleting {kind[:-1]}")

    def add_members(self, kind: str, name: str, xnames: Iterable[str]) -> None:
        for xname in xnames:
            reply = self._ask("POST", f"{kind}/{quote(name, '')}/members", {"id": xname})
            _check(reply, f"adding member {xname} for {kind[:-1]} {name}")

    def remove_members(self, kind: str, name: str, xnames: Iterable[str]) -> None:
        for xname in xnames:
            reply = self._ask("DELETE", f"{kind}/{quote(name, '')}/members/{quote(xname, '')}")
            _check(reply, f"removing member {xname} for {kind[:-1]} {name}")


def _check(reply: Reply, what: str) -> None:
    """One that is gone already, or there already, is well."""
    if not reply.ok and reply.status not in (404, 409):
        raise Failed(f"HSM returned a non-200 response {what}")
