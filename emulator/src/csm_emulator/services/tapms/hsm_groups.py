"""Groups, partitions and nodes in HSM, as TAPMS uses them: one request for each member, and TAPMS's error texts."""

from __future__ import annotations

from collections.abc import Iterable

from csm_emulator.clients.hsm import Group, GroupKind, HsmClient, HsmResponse
from csm_emulator.services.tapms.kubernetes_client import RequestFailed

EXCLUSIVE = "tapms-exclusive-group-label"


class HsmGroups:
    """Each method raises ``RequestFailed`` when HSM answers with an error."""

    def __init__(self, hsm: HsmClient) -> None:
        self._hsm = hsm

    def nodes(self, role: str) -> frozenset[str]:
        response = self._hsm.components(f"type=Node&role={role}")
        if not response.ok:
            raise RequestFailed("HSM returned a non-200 response listing components")
        return frozenset(component["ID"] for component in response.value())

    def list(self, kind: GroupKind) -> list[Group]:
        response = self._hsm.groups(kind)
        if not response.ok:
            raise RequestFailed(f"HSM returned a non-200 response listing {kind}")
        return response.value()

    def has(self, kind: GroupKind, name: str) -> bool:
        return any(group.name == name for group in self.list(kind))

    def create(
        self, kind: GroupKind, name: str, tenant: str, xnames: Iterable[str], *, exclusive: bool = False
    ) -> None:
        if not self._hsm.create_group(kind, name, [tenant], xnames, EXCLUSIVE if exclusive else "").ok:
            raise RequestFailed(f"HSM returned a non-200 response creating {kind[:-1]}")

    def delete(self, kind: GroupKind, name: str) -> None:
        if self.has(kind, name) and not self._hsm.delete_group(kind, name).ok:
            raise RequestFailed(f"HSM returned a non-200 response deleting {kind[:-1]}")

    def add_members(self, kind: GroupKind, name: str, xnames: Iterable[str]) -> None:
        for xname in xnames:
            _check(self._hsm.add_member(kind, name, xname), f"adding member {xname} for {kind[:-1]} {name}")

    def remove_members(self, kind: GroupKind, name: str, xnames: Iterable[str]) -> None:
        for xname in xnames:
            _check(self._hsm.remove_member(kind, name, xname), f"removing member {xname} for {kind[:-1]} {name}")


def _check(response: HsmResponse[None], activity: str) -> None:
    """A member that has left already, or is in the group already, is no error."""
    if not response.ok and response.status not in (404, 409):
        raise RequestFailed(f"HSM returned a non-200 response {activity}")
