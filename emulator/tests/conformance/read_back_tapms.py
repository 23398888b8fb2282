"""TAPMS: a tenant is created in Kubernetes, and read from TAPMS."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from conformance.legal_values import NODES
from conformance.read_back import ReadBack, Row, get

_TENANTS = "/apis/tapms.hpe.com/v1alpha3/namespaces/tenants/tenants"
_LABEL = st.from_regex(r"[a-z]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)
_RESOURCE = st.fixed_dictionaries(
    {
        "type": st.just("compute"),
        "xnames": st.lists(st.sampled_from(NODES), min_size=1, max_size=8, unique=True),
        "hsmgrouplabel": _LABEL.map("tenant-{}".format),
        "enforceexclusivehsmgroups": st.booleans(),
    }
)
_SPEC = st.fixed_dictionaries(
    {
        "tenantname": _LABEL.map("vcluster-{}".format),
        "childnamespaces": st.lists(_LABEL, max_size=3, unique=True),
        "tenantresources": _RESOURCE.map(lambda resource: [resource]),
    }
)


def _object(spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "tapms.hpe.com/v1alpha3",
        "kind": "Tenant",
        "metadata": {"name": spec["tenantname"], "namespace": "tenants"},
        "spec": spec,
    }


def _spec(body: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    return {name: body["spec"][name] for name in spec}


TENANT = Row(
    "tenant",
    "kubernetes",
    _SPEC,
    lambda spec: ("POST", _TENANTS, _object(spec)),
    [
        ReadBack(get(lambda spec: f"/v1alpha3/tenants/{spec['tenantname']}"), _spec, lambda spec: spec, "tapms"),
        ReadBack(
            get(lambda _: "/v1alpha3/tenants"),
            lambda body, spec: [_spec(record, spec) for record in body["items"]],
            lambda spec: [spec],
            "tapms",
        ),
        ReadBack(
            get(lambda spec: f"/v1alpha3/tenants/{spec['tenantname']}"),
            lambda body, _: sorted(body["status"].get("childnamespaces", [])),
            lambda spec: sorted(f"{spec['tenantname']}-{child}" for child in spec["childnamespaces"]),
            "tapms",
        ),
        ReadBack(
            lambda spec, _: ("POST", "/v1alpha3/tenants", spec["tenantresources"][0]["xnames"][:1]),
            lambda body, _: [record["metadata"]["name"] for record in body["items"]],
            lambda spec: [spec["tenantname"]],
            "tapms",
        ),
        ReadBack(
            get(lambda spec: f"/hsm/v2/groups/{spec['tenantresources'][0]['hsmgrouplabel']}"),
            lambda body, _: sorted(body["members"]["ids"]),
            lambda spec: sorted(spec["tenantresources"][0]["xnames"]),
            "smd",
        ),
    ],
    clean_up=lambda spec: [("DELETE", f"{_TENANTS}/{spec['tenantname']}", None)],
    wait=60.0,
)

ROWS = (TENANT,)
