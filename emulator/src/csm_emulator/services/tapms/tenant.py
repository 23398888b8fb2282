"""A tenant: how Go's structs write it, and when it counts as changed."""

from __future__ import annotations

from collections.abc import Iterable

from csm_emulator.records import Json
from csm_emulator.services.tapms.kubernetes_client import Tenant

_NO_KMS = {"enablekms": False, "keyname": "", "keytype": ""}
_KMS = ("transitname", "keyname", "keytype", "publickey")


def spec_of(tenant: Json) -> Json:
    return tenant.get("spec") or {}


def status_of(tenant: Json) -> Json:
    return tenant.get("status") or {}


def written(tenant: Tenant) -> Json:
    """As the real one hands it out: what is empty is left out of a status, and never of a spec."""
    spec, status = spec_of(tenant), status_of(tenant)
    return {
        "kind": "Tenant",
        "apiVersion": "tapms.hpe.com/v1alpha3",
        "metadata": tenant.get("metadata") or {},
        "spec": written_spec(spec),
        "status": {
            **_filled({"childnamespaces": status.get("childnamespaces")}),
            **_filled({"tenantresources": resources(status)}),
            **_filled({"uuid": status.get("uuid")}),
            "tenantkms": _filled({name: (status.get("tenantkms") or {}).get(name) for name in _KMS}),
            **_filled({"tenanthooks": hooks(status)}),
        },
    }


def written_spec(spec: Json) -> Json:
    return {
        "tenantname": spec.get("tenantname", ""),
        "state": spec.get("state", ""),
        "childnamespaces": spec.get("childnamespaces"),
        "tenantresources": resources(spec) if spec.get("tenantresources") is not None else None,
        "tenantkms": {**_NO_KMS, **(spec.get("tenantkms") or {})},
        "tenanthooks": hooks(spec) if spec.get("tenanthooks") is not None else None,
    }


def resources(of: Json) -> list[Json]:
    """Of a spec or of a status."""
    return [
        {
            "type": one.get("type", ""),
            "xnames": one.get("xnames"),
            **_filled({name: one.get(name) for name in ("hsmpartitionname", "hsmgrouplabel")}),
            "enforceexclusivehsmgroups": bool(one.get("enforceexclusivehsmgroups")),
        }
        for one in of.get("tenantresources") or ()
    ]


def hooks(of: Json) -> list[Json]:
    return [
        {
            **_filled({name: one.get(name) for name in ("name", "url", "eventtypes")}),
            "blockingcall": bool(one.get("blockingcall")),
        }
        for one in of.get("tenanthooks") or ()
    ]


def _filled(fields: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if value}


def is_updated(tenant: Tenant) -> bool:
    """Whether TAPMS holds it for changed.

    An empty list does not come back from a status, and Go holds "nothing" and "an empty list" for different: a tenant
    without child namespaces, or without resources, counts as changed for ever, and is never Deployed.
    """
    spec = spec_of(tenant)
    return not spec.get("childnamespaces") or not spec.get("tenantresources") or is_undone(tenant)


def is_undone(tenant: Tenant) -> bool:
    """Whether the spec is not yet what the status says."""
    spec, status = spec_of(tenant), status_of(tenant)
    if (status.get("childnamespaces") or []) != namespaces_for_status(spec):
        return True
    if resources(status) != resources(spec):
        return True
    return bool(hooks(spec)) and hooks(status) != hooks(spec)


def child_name(tenant_name: str, child: str) -> str:
    return f"{tenant_name}-{child}"


def namespaces_for_status(spec: Json) -> list[str]:
    return [child_name(spec["tenantname"], child) for child in spec.get("childnamespaces") or ()]


def namespaces_for_spec(names: Iterable[str]) -> list[str]:
    """The third of the words between dashes: right for ``vcluster-blue-slurm``, and for little else."""
    words = [name.split("-") for name in names]
    return [parts[2] if len(parts) > 2 else "-".join(parts) for parts in words]
