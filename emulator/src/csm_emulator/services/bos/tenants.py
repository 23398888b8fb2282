"""The tenant of a request and the nodes of a tenant, as TAPMS reports them."""

from __future__ import annotations

from csm_emulator.dialects.connexion import Parameter, Refused, internal_error
from csm_emulator.records import Json
from csm_emulator.services.bos.errors import invalid_tenant
from csm_emulator.services.bos.failures import Failure
from csm_emulator.transport import tapms_client
from csm_emulator.transport.call import Call
from csm_emulator.transport.mesh import Mesh

HEADER = Parameter("Cray-Tenant-Name", {"type": "string", "maxLength": 127}, "header")
_HTTP_ERROR = "requests.exceptions.HTTPError"


class InvalidTenant(Failure):
    """TAPMS has no such tenant."""

    def __init__(self, tenant: str) -> None:
        super().__init__("bos.common.tenant_utils.InvalidTenantException", f"Data not found for tenant {tenant}")


def tenant_of(call: Call) -> str:
    return call.headers.get("cray-tenant-name", "")


class Tenants:
    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh

    def must_exist(self, call: Call) -> str:
        """The tenant of the request, empty when there is none; refuses the request when TAPMS has no such tenant."""
        tenant = tenant_of(call)
        if tenant:
            try:
                self._read(tenant)
            except InvalidTenant:
                raise Refused(invalid_tenant("The provided tenant does not exist")) from None
            except Failure:
                raise Refused(internal_error()) from None
        return tenant

    def members_for(self, call: Call) -> set[str] | None:
        """Nodes that the request may see; None means all."""
        tenant = tenant_of(call)
        if not tenant:
            return None
        try:
            return self.members(tenant)
        except InvalidTenant as error:
            raise Refused(invalid_tenant(str(error))) from None
        except Failure:
            raise Refused(internal_error()) from None

    def members(self, tenant: str) -> set[str]:
        """The tenant's nodes; raises ``Failure``."""
        return tapms_client.tenant_nodes(self._read(tenant))

    def _read(self, tenant: str) -> Json:
        reply = tapms_client.get_tenant(self._mesh, tenant)
        if reply.status == 404:
            raise InvalidTenant(tenant)
        try:
            record = reply.json() if reply.ok else None
        except ValueError:
            record = None
        if not isinstance(record, dict):
            url = f"http://cray-tapms{tapms_client.path_of(tenant)}"
            raise Failure(_HTTP_ERROR, f"{reply.status} Server Error for url: {url}")
        return record
