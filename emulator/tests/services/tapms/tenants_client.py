"""Tenants as an administrator creates them, through Kubernetes, and as TAPMS shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from csm_emulator.transport.call import Reply
from service_client import Service, open_site, reopen

PATH = "/apis/tapms.hpe.com/v1alpha3/namespaces/tenants"
BLUE, GREEN = "vcluster-blue", "vcluster-green"
GROUP, OTHER_GROUP = "tenant-blue", "tenant-green"


class Tapms(Service):
    """``sent`` has the notices that went to hooks outside."""

    def __init__(self, path: Path) -> None:
        self.sent: list[tuple[str, Any]] = []
        super().__init__(open_site(path, outgoing=self.sent), "tapms", "")
        # The machine has no such node of its own.
        role = f"/State/Components/{self.nodes()[-1]}/Role"
        assert self.hsm("PATCH", role, {"Role": "Application"}).ok

    def again(self) -> None:
        """TAPMS after a restart of the emulator."""
        self.site = reopen(self.site, self.sent)

    def nodes(self, role: str = "Compute") -> list[str]:
        components = self.hsm("GET", f"/State/Components?type=Node&role={role}").json()["Components"]
        return sorted(component["ID"] for component in components)

    def kubernetes(self, method: str, path: str, body: Any = None) -> Reply:
        if body is None:
            return self.site.mesh.ask("kubernetes", method, path)
        return self.site.mesh.ask("kubernetes", method, path, body)

    def create(self, name: str = BLUE, **spec: Any) -> Reply:
        body = {
            "apiVersion": "tapms.hpe.com/v1alpha3",
            "kind": "Tenant",
            "metadata": {"name": name, "namespace": "tenants"},
            "spec": {
                "tenantname": name,
                "childnamespaces": ["slurm", "user"],
                "tenantresources": [self.resource()],
                **spec,
            },
        }
        return self.kubernetes("POST", f"{PATH}/tenants", body)

    def resource(self, *xnames: str, **more: Any) -> dict[str, Any]:
        return {
            "type": "compute",
            "xnames": list(xnames or self.nodes()[:2]),
            "hsmgrouplabel": GROUP,
            "enforceexclusivehsmgroups": True,
            **more,
        }

    def tenant(self, name: str = BLUE) -> dict[str, Any] | None:
        reply = self.kubernetes("GET", f"{PATH}/tenants/{name}")
        return None if reply.status == 404 else dict(reply.json())

    def state(self, name: str = BLUE) -> str | None:
        tenant = self.tenant(name)
        return str(tenant["spec"]["state"]) if tenant else None

    def change(self, name: str = BLUE, **spec: Any) -> Reply:
        tenant = self.tenant(name)
        assert tenant is not None
        return self.kubernetes("PUT", f"{PATH}/tenants/{name}", {**tenant, "spec": {**tenant["spec"], **spec}})

    def delete(self, name: str = BLUE) -> Reply:
        return self.kubernetes("DELETE", f"{PATH}/tenants/{name}")

    def until(self, state: str | None, name: str = BLUE, most: int = 90) -> float:
        """The virtual seconds that it took."""
        for second in range(most):
            if self.state(name) == state:
                return second
            self.step(1)
        raise AssertionError(f"{self.state(name)} after {most} s, not {state}: {self.retries()}")

    def deploy(self, name: str = BLUE, **spec: Any) -> dict[str, Any]:
        reply = self.create(name, **spec)
        assert reply.status == 201, reply.body
        self.until("Deployed", name)
        self.step(5)
        tenant = self.tenant(name)
        assert tenant is not None
        return tenant

    def group(self, label: str = GROUP) -> dict[str, Any] | None:
        reply = self.hsm("GET", f"/groups/{label}")
        return None if reply.status == 404 else dict(reply.json())

    def members(self, label: str = GROUP) -> list[str]:
        group = self.group(label)
        assert group is not None
        return sorted(group["members"]["ids"])

    def retries(self) -> list[str]:
        return [entry["cause"] for entry in self.site.log.after(0, 10_000) if entry["what"] == "tapms-retry"]

    def has_namespace(self, name: str) -> bool:
        reply = self.kubernetes("GET", f"/api/v1/namespaces/{name}")
        return reply.status == 200 and reply.json()["status"]["phase"] == "Active"
