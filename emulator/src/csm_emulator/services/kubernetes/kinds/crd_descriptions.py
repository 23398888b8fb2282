"""The CustomResourceDefinitions that CSM installs, reduced to what the API server checks."""

from __future__ import annotations

from collections.abc import Iterator

from csm_emulator.records import Json

_TEXT: Json = {"type": "string"}
_TEXTS: Json = {"type": "array", "items": _TEXT}
_FLAG: Json = {"type": "boolean"}
_FALSE_BY_DEFAULT: Json = {"type": "boolean", "default": False}
_ANY: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _object(properties: Json, *required: str) -> Json:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _custom_resource(spec: Json, status: Json = None) -> Json:
    return _object({"apiVersion": _TEXT, "kind": _TEXT, "metadata": {"type": "object"}, "spec": spec, "status": status})


def _resources(**extra_fields: Json) -> Json:
    fields = {
        "enforceexclusivehsmgroups": _FLAG,
        **extra_fields,
        "hsmgrouplabel": _TEXT,
        "hsmpartitionname": _TEXT,
        "type": _TEXT,
        "xnames": _TEXTS,
    }
    return _list(_object(fields, "enforceexclusivehsmgroups", "type", "xnames"))


_HOOK_FIELDS = {"blockingcall": _FALSE_BY_DEFAULT, "eventtypes": _TEXTS, "name": _TEXT, "url": _TEXT}
_HOOKS = _list(_object(_HOOK_FIELDS))
_KMS = _object(
    {
        "enablekms": _FALSE_BY_DEFAULT,
        "keyname": {**_TEXT, "default": "key1"},
        "keytype": {**_TEXT, "default": "rsa-3072"},
    }
)
_KMS_STATUS = _object({"keyname": _TEXT, "keytype": _TEXT, "publickey": _TEXT, "transitname": _TEXT})


def _tenant(resources: Json, spec: Json, status: Json) -> Json:
    names = {"childnamespaces": _TEXTS, "tenantresources": resources}
    spec_fields = {**names, "state": _TEXT, "tenantname": _TEXT, **spec}
    return _custom_resource(
        _object(spec_fields, "childnamespaces", "tenantname", "tenantresources"),
        _object({**names, "uuid": _TEXT, **status}),
    )


_TENANTS = {
    "v1alpha1": _tenant(_resources(), {}, {}),
    "v1alpha2": _tenant(_resources(forcepoweroff=_FLAG), {"tenantkms": _KMS}, {"tenantkms": _KMS_STATUS}),
    "v1alpha3": _tenant(
        _resources(),
        {"tenantkms": _KMS, "tenanthooks": {**_HOOKS, "default": []}},
        {"tenantkms": _KMS_STATUS, "tenanthooks": _HOOKS},
    ),
}
_SLINGSHOT = _custom_resource(
    _object(
        {
            "host": _TEXT,
            "ip": _TEXT,
            "tenantname": _TEXT,
            "tenantversion": _TEXT,
            "vniBlockName": _TEXT,
            "vnipartition": _object(
                {"edgePortDFA": _list({"type": "integer"}), "vniCount": {"type": "integer"}, "vniRanges": _TEXTS}
            ),
        },
        "tenantname",
        "vnipartition",
    ),
    _object({"message": _TEXT}),
)
_PAIRS = _list(_object({"key": _TEXT, "value": _TEXT}, "key", "value"))
_ANCHOR = _custom_resource(
    _object({"labels": _PAIRS, "annotations": _PAIRS}),
    _object(
        {"status": {**_TEXT, "enum": ["Missing", "Ok", "Conflict", "Forbidden"]}},
    ),
)
_HIERARCHY = _custom_resource(
    _object({"parent": _TEXT, "allowCascadingDeletion": _FLAG, "labels": _PAIRS, "annotations": _PAIRS}),
    _object({"children": _TEXTS, "conditions": _list(_ANY)}),
)
_SLURM = _custom_resource(_ANY, _ANY)


def _crd(group: str, kind: str, plural: str, versions: dict[str, Json], **names: Json) -> Json:
    """The last of ``versions`` is the storage version."""
    last = list(versions)[-1]
    all_names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List", **names}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": all_names,
            "scope": "Namespaced",
            "conversion": {"strategy": "None"},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == last,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
                for version, schema in versions.items()
            ],
        },
    }


def descriptions() -> Iterator[Json]:
    yield _crd("tapms.hpe.com", "Tenant", "tenants", _TENANTS)
    yield _crd(
        "tapms.hpe.com",
        "GlobalTenantHook",
        "globaltenanthooks",
        {"v1alpha3": _custom_resource(_object(_HOOK_FIELDS), _ANY)},
    )
    yield _crd("slingshot.hpe.com", "SlingshotTenant", "slingshottenants", {"v1alpha1": _SLINGSHOT})
    yield _crd("wlm.hpe.com", "SlurmCluster", "slurmclusters", {"v1alpha1": _SLURM})
    yield _crd("hnc.x-k8s.io", "SubnamespaceAnchor", "subnamespaceanchors", {"v1alpha2": _ANCHOR}, shortNames=["subns"])
    yield _crd("hnc.x-k8s.io", "HierarchyConfiguration", "hierarchyconfigurations", {"v1alpha2": _HIERARCHY})
