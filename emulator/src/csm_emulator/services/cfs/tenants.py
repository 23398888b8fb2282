"""The tenant of a request, and ownership of records."""

from __future__ import annotations

from csm_emulator.clients import tapms as tapms_client
from csm_emulator.dialects.connexion import Refused, read_parameters
from csm_emulator.records import Record
from csm_emulator.services.cfs import parameters
from csm_emulator.services.cfs.components.changes import UncaughtError
from csm_emulator.services.cfs.errors import refuse
from csm_emulator.transport.call import Call
from csm_emulator.transport.mesh import Mesh

_FORBIDDEN = "Forbidden operation."


class Tenants:
    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh

    def of(self, call: Call) -> str:
        """The tenant of a request, empty when there is none; refuses a tenant that TAPMS does not know."""
        tenant = str(read_parameters(call, parameters.TENANT).get("Cray-Tenant-Name", ""))
        if not tenant:
            return ""
        reply = tapms_client.get_tenant(self._mesh, tenant)
        if reply.status == 404:
            raise refuse(400, "Invalid tenant", "The provided tenant does not exist")
        if not reply.ok:
            raise UncaughtError
        return tenant


def check_owner(tenant: str, record: Record) -> None:
    """Raises ``Refused`` (403) for another tenant's record; requests without a tenant may change any record."""
    if tenant and record.get("tenant_name", "") != tenant:
        detail = "Tenant does not own the requested resources and is forbidden from making changes."
        raise refuse(403, _FORBIDDEN, detail)


def immutable() -> Refused:
    return refuse(403, _FORBIDDEN, "Modification to existing field 'tenant_name' is not permitted.")
