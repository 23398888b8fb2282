"""Tenants, global hooks and namespaces in Kubernetes."""

from __future__ import annotations

from csm_emulator.records import Json, Record
from csm_emulator.transport.call import Reply
from csm_emulator.transport.mesh import NO_BODY, Mesh

NAMESPACE = "tenants"
_TAPMS = f"/apis/tapms.hpe.com/v1alpha3/namespaces/{NAMESPACE}"
_HNC = "hnc.x-k8s.io/v1alpha2"

Tenant = Record


class RequestFailed(Exception):
    """Another service answered with an error; the operator tries again later."""


class KubernetesClient:
    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh

    def tenants(self) -> list[Tenant]:
        return self._list("tenants", "failed to get tenant list")

    def hooks(self) -> list[Json]:
        """The hooks that are called for the changes of every tenant."""
        hooks = self._list("globaltenanthooks", "failed to get global tenant webhooks list")
        return [hook.get("spec") or {} for hook in hooks]

    def _list(self, plural: str, failure: str) -> list[Json]:
        reply = self._mesh.ask("kubernetes", "GET", f"{_TAPMS}/{plural}")
        if reply.status == 404:
            return []
        if not reply.ok:
            raise RequestFailed(f"{failure}: {_message(reply)}")
        return list(reply.json().get("items") or ())

    def tenant(self, name: str) -> Tenant | None:
        reply = self._mesh.ask("kubernetes", "GET", f"{_TAPMS}/tenants/{name}")
        if reply.status == 404:
            return None
        return dict(_checked(reply).json())

    def put(self, tenant: Tenant, subresource: str = "") -> Tenant:
        """Replaces the tenant, and returns it as stored."""
        path = f"{_TAPMS}/tenants/{tenant['metadata']['name']}{subresource}"
        return dict(_checked(self._mesh.ask("kubernetes", "PUT", path, tenant)).json())

    def anchor(self, parent: str, name: str) -> bool:
        """Requests a namespace below another; False when the parent does not exist yet."""
        body = {"apiVersion": _HNC, "kind": "SubnamespaceAnchor", "metadata": {"name": name, "namespace": parent}}
        reply = self._anchors("POST", parent, body=body)
        if reply.status == 404:
            return False
        if reply.status != 409:
            _checked(reply)
        return True

    def remove_anchor(self, parent: str, name: str) -> bool:
        """Removes the request for a namespace; False while the namespace has others below it."""
        reply = self._anchors("DELETE", parent, f"/{name}")
        if reply.status == 403:
            return False
        if reply.status != 404:
            _checked(reply)
        return True

    def _anchors(self, method: str, parent: str, tail: str = "", body: Json = NO_BODY) -> Reply:
        path = f"/apis/{_HNC}/namespaces/{parent}/subnamespaceanchors{tail}"
        return self._mesh.ask("kubernetes", method, path, body)


def _checked(reply: Reply) -> Reply:
    if not reply.ok:
        raise RequestFailed(_message(reply))
    return reply


def _message(reply: Reply) -> str:
    try:
        return str(reply.json()["message"])
    except (ValueError, KeyError, TypeError):
        return f"the server answered {reply.status}"
