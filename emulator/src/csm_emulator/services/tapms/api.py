"""TAPMS's REST API: the list of tenants, one tenant, and the tenants of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from csm_emulator.dialects.go_json.reader import DecodeError, decode_first
from csm_emulator.dialects.go_json.types import STRINGS
from csm_emulator.dialects.hms.responses import marshalled
from csm_emulator.records import Json
from csm_emulator.services.tapms.kubernetes_client import KubernetesClient, RequestFailed, Tenant
from csm_emulator.services.tapms.tenant import spec_of, status_of, tenant_view
from csm_emulator.transport.call import Call, Reply, text_reply
from csm_emulator.transport.routes import Route

MEDIA = "application/json; charset=utf-8"
PATH = "/v1alpha3/tenants"


def gin_reply(value: Json, status: int = 200) -> Reply:
    return marshalled(value, status, MEDIA)


def no_route(call: Call) -> Reply:
    """As gin: a redirect for a slash at the end, and 404 for other paths."""
    if call.path == f"{PATH}/" and call.method in ("GET", "POST"):
        code = 301 if call.method == "GET" else 307
        body = f'<a href="{PATH}">{"Moved Permanently" if code == 301 else "Temporary Redirect"}</a>.\n\n'
        html = body if call.method == "GET" else ""
        return replace(text_reply(html, code, "text/html; charset=utf-8"), headers=(("Location", PATH),))
    return gin_reply({"message": "Page not found"}, 404)


class TenantViews:
    def __init__(self, api: KubernetesClient) -> None:
        self._api = api

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", PATH, self._list),
            Route("POST", PATH, self._search),
            Route("GET", f"{PATH}/{{id}}", self._get),
        )

    def _list(self, _: Call) -> Reply:
        try:
            tenants = self._api.tenants()
        except RequestFailed as failed:
            return _failure(failed)
        return gin_reply({"metadata": {}, "items": [tenant_view(tenant) for tenant in tenants]})

    def _search(self, call: Call) -> Reply:
        """The tenants with any of the nodes; ``items`` is null when there are none."""
        try:
            tenants = self._api.tenants()
        except RequestFailed as failed:
            return _failure(failed)
        try:
            xnames = frozenset(decode_first(call.body, STRINGS) or ())
        except DecodeError as error:
            # gin has sent the header before the error is known, and Go then guesses the content type.
            return replace(gin_reply({"message": str(error)}, 400), media="text/plain; charset=utf-8")
        matches = [tenant_view(tenant) for tenant in tenants if _has_any(tenant, xnames)]
        return gin_reply({"metadata": {}, "items": matches or None})

    def _get(self, call: Call) -> Reply:
        name_or_id = call.args["id"]
        try:
            tenants = self._api.tenants()
        except RequestFailed as failed:
            return _failure(failed)
        for tenant in tenants:
            if name_or_id in (tenant["metadata"]["name"], status_of(tenant).get("uuid", "")):
                return gin_reply(tenant_view(tenant))
        return gin_reply(f"Tenant with name/uuid '{name_or_id}' not found.", 404)


def _failure(failed: RequestFailed) -> Reply:
    return gin_reply({"message": str(failed)}, 500)


def _has_any(tenant: Tenant, xnames: frozenset[str]) -> bool:
    return any(
        not xnames.isdisjoint(resource.get("xnames") or ()) for resource in spec_of(tenant).get("tenantresources") or ()
    )
