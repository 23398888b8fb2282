"""What anybody may ask: the list of tenants, one of them, and whose a node is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from csm_emulator.dialects.go_json.reader import DecodeError, decode_first
from csm_emulator.dialects.go_json.types import STRINGS
from csm_emulator.dialects.hms.responses import marshalled
from csm_emulator.records import Json
from csm_emulator.services.tapms.kubernetes_client import ClusterApi, Failed, Tenant
from csm_emulator.services.tapms.tenant import spec_of, status_of, written
from csm_emulator.transport.call import Call, Reply, text_reply
from csm_emulator.transport.routes import Route

MEDIA = "application/json; charset=utf-8"
PATH = "/v1alpha3/tenants"


def gin(value: Json, status: int = 200) -> Reply:
    return marshalled(value, status, MEDIA)


def no_route(call: Call) -> Reply:
    """gin puts a slash too many right."""
    if call.path == f"{PATH}/" and call.method in ("GET", "POST"):
        code = 301 if call.method == "GET" else 307
        body = f'<a href="{PATH}">{"Moved Permanently" if code == 301 else "Temporary Redirect"}</a>.\n\n'
        shown = body if call.method == "GET" else ""
        return replace(text_reply(shown, code, "text/html; charset=utf-8"), headers=(("Location", PATH),))
    return gin({"message": "Page not found"}, 404)


class Views:
    def __init__(self, api: ClusterApi) -> None:
        self._api = api

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", PATH, self._list),
            Route("POST", PATH, self._search),
            Route("GET", f"{PATH}/{{id}}", self._get),
        )

    def _list(self, _: Call) -> Reply:
        try:
            found = self._api.tenants()
        except Failed as failed:
            return _failure(failed)
        return gin({"metadata": {}, "items": [written(tenant) for tenant in found]})

    def _search(self, call: Call) -> Reply:
        """With nothing found there is no list at all."""
        try:
            tenants = self._api.tenants()
        except Failed as failed:
            return _failure(failed)
        try:
            xnames = frozenset(decode_first(call.body, STRINGS) or ())
        except DecodeError as error:
            # gin has sent the head when the service chooses 500, and Go then guesses the kind of the body.
            return replace(gin({"message": str(error)}, 400), media="text/plain; charset=utf-8")
        found = [written(tenant) for tenant in tenants if _has_any(tenant, xnames)]
        return gin({"metadata": {}, "items": found or None})

    def _get(self, call: Call) -> Reply:
        wanted = call.args["id"]
        try:
            tenants = self._api.tenants()
        except Failed as failed:
            return _failure(failed)
        for tenant in tenants:
            if wanted in (tenant["metadata"]["name"], status_of(tenant).get("uuid", "")):
                return gin(written(tenant))
        return gin(f"Tenant with name/uuid '{wanted}' not found.", 404)


def _failure(failed: Failed) -> Reply:
    return gin({"message": str(failed)}, 500)


def _has_any(tenant: Tenant, xnames: frozenset[str]) -> bool:
    return any(
        not xnames.isdisjoint(resource.get("xnames") or ()) for resource in spec_of(tenant).get("tenantresources") or ()
    )
