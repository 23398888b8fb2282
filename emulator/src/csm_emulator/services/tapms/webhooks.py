"""Tenant hooks: URLs that are called before a tenant changes.

A hook is a service of the cluster or an external server. A blocking hook may refuse the change.
"""

from __future__ import annotations

import json
import re
from urllib.parse import SplitResult, urlsplit

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.tapms.kubernetes_client import KubernetesClient, RequestFailed, Tenant
from csm_emulator.services.tapms.tenant import spec_of, spec_view
from csm_emulator.transport.call import Reply
from csm_emulator.transport.external_servers import ExternalRequest, ExternalServerUnreachable, target

EVENTS = ("CREATE", "UPDATE", "DELETE")
_SERVICE = re.compile(r"cray-([a-z0-9-]+?)(?:\.services(?:\.svc(?:\.cluster\.local)?)?)?")
_FORM = "application/x-www-form-urlencoded"
"""TAPMS sets the type of JSON first, and then overwrites it with this one."""


class TenantHooks:
    def __init__(self, context: Context, api: KubernetesClient) -> None:
        self._context = context
        self._api = api

    def call(self, tenant: Tenant, event: str) -> None:
        """Calls the tenant's hooks, then the global ones. Raises ``RequestFailed`` if one refuses, and ``Unheard``."""
        for hook in (*(spec_of(tenant).get("tenanthooks") or ()), *self._api.hooks()):
            self._call(hook, tenant, event)

    def _call(self, hook: Json, tenant: Tenant, event: str) -> None:
        events = hook.get("eventtypes") or ()
        for event_type in events:
            if event_type not in EVENTS:
                raise RequestFailed(f"EventType '{event_type}' is not supported, must be one of: [{' '.join(EVENTS)}]")
        if event not in events:
            return
        url, blocks = hook.get("url", ""), bool(hook.get("blockingcall"))
        parts = _parsed(url)
        body = {"tenantspec": spec_view(spec_of(tenant)), "eventtype": event}
        headers = {"content-type": _FORM, "block": "true" if blocks else "false"}
        try:
            reply = self._ask(url, parts, json.dumps(body).encode(), headers)
        except ExternalServerUnreachable as unreachable:
            if blocks:
                raise RequestFailed(f'Post "{url}": {unreachable}') from unreachable
            return
        if blocks and not reply.ok:
            raise RequestFailed(
                f"Blocking call to '{hook.get('name', '')}' hook at url {url} returned a non-200 response code: "
                f"{reply.status}"
            )

    def _ask(self, url: str, parts: SplitResult, body: bytes, headers: dict[str, str]) -> Reply:
        service = _SERVICE.fullmatch(parts.hostname or "")
        if service is None:
            return self._context.external_servers.answer_to(ExternalRequest(url, body, tuple(headers.items())))
        return self._context.mesh.ask(service[1], "POST", target(parts), body, headers=headers)


def _parsed(url: str) -> SplitResult:
    """Raises ``RequestFailed`` for a text that is not a URL, even if the hook does not block."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 (the property checks the port)
    except ValueError as error:
        raise RequestFailed(f'parse "{url}": {error}') from error
    return parts
