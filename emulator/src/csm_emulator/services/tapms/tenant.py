"""Tenants in the form of TAPMS's Go structs, and the check whether they have changed."""

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


def tenant_view(tenant: Tenant) -> Json:
    """The tenant as TAPMS shows it: the status without empty fields, the spec with all fields."""
    spec, status = spec_of(tenant), status_of(tenant)
    return {
        "kind": "Tenant",
        "apiVersion": "tapms.hpe.com/v1alpha3",
        "metadata": tenant.get("metadata") or {},
        "spec": spec_view(spec),
        "status": {
            **_without_empty({"childnamespaces": status.get("childnamespaces")}),
            **_without_empty({"tenantresources": resources(status)}),
            **_without_empty({"uuid": status.get("uuid")}),
            "tenantkms": _without_empty({name: (status.get("tenantkms") or {}).get(name) for name in _KMS}),
            **_without_empty({"tenanthooks": hooks(status)}),
        },
    }


def spec_view(spec: Json) -> Json:
    return {
        "tenantname": spec.get("tenantname", ""),
        "state": spec.get("state", ""),
        "childnamespaces": spec.get("childnamespaces"),
        "tenantresources": resources(spec) if spec.get("tenantresources") is not None else None,
        "tenantkms": {**_NO_KMS, **(spec.get("tenantkms") or {})},
        "tenanthooks": hooks(spec) if spec.get("tenanthooks") is not None else None,
    }


def resources(section: Json) -> list[Json]:
    """The resources of a spec or status."""
    return [
        {
            "type": entry.get("type", ""),
            "xnames": entry.get("xnames"),
            **_without_empty({name: entry.get(name) for name in ("hsmpartitionname", "hsmgrouplabel")}),
            "enforceexclusivehsmgroups": bool(entry.get("enforceexclusivehsmgroups")),
        }
        for entry in section.get("tenantresources") or ()
    ]


def hooks(section: Json) -> list[Json]:
    return [
        {
            **_without_empty({name: entry.get(name) for name in ("name", "url", "eventtypes")}),
            "blockingcall": bool(entry.get("blockingcall")),
        }
        for entry in section.get("tenanthooks") or ()
    ]


def _without_empty(fields: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if value}


def is_updated(tenant: Tenant) -> bool:
    """Whether the tenant has changed, for TAPMS.

    A status does not store empty lists, and Go distinguishes nil from an empty list. So a tenant without child
    namespaces or without resources always counts as changed, and never becomes Deployed.
    """
    spec = spec_of(tenant)
    return not spec.get("childnamespaces") or not spec.get("tenantresources") or needs_deployment(tenant)


def needs_deployment(tenant: Tenant) -> bool:
    """Whether the status does not have everything of the spec yet."""
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
    """The third part of each name between dashes, as in TAPMS: right only for names like ``vcluster-blue-slurm``."""
    words = [name.split("-") for name in names]
    return [parts[2] if len(parts) > 2 else "-".join(parts) for parts in words]
