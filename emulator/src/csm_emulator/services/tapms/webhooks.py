"""URLs that are told of every change of a tenant, before it comes about.

A hook is a service of the cluster, or a server outside. One that blocks may refuse the change.
"""

from __future__ import annotations

import json
import re
from urllib.parse import SplitResult, urlsplit

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.tapms.kubernetes_client import ClusterApi, Failed, Tenant
from csm_emulator.services.tapms.tenant import spec_of, written_spec
from csm_emulator.transport.call import Reply
from csm_emulator.transport.external_servers import ExternalRequest, ExternalServerUnreachable, target

EVENTS = ("CREATE", "UPDATE", "DELETE")
_SERVICE = re.compile(r"cray-([a-z0-9-]+?)(?:\.services(?:\.svc(?:\.cluster\.local)?)?)?")
_FORM = "application/x-www-form-urlencoded"
"""The real one sets JSON, and then this over it."""


class Hooks:
    def __init__(self, context: Context, api: ClusterApi) -> None:
        self._context = context
        self._api = api

    def call(self, tenant: Tenant, event: str) -> None:
        """The tenant's own, then those for all. Raises ``Failed`` when one does not agree, and ``AnswerPending``."""
        for hook in (*(spec_of(tenant).get("tenanthooks") or ()), *self._api.hooks()):
            self._call(hook, tenant, event)

    def _call(self, hook: Json, tenant: Tenant, event: str) -> None:
        events = hook.get("eventtypes") or ()
        for one in events:
            if one not in EVENTS:
                raise Failed(f"EventType '{one}' is not supported, must be one of: [{' '.join(EVENTS)}]")
        if event not in events:
            return
        url, blocks = hook.get("url", ""), bool(hook.get("blockingcall"))
        place = _parsed(url)
        body = {"tenantspec": written_spec(spec_of(tenant)), "eventtype": event}
        headers = {"content-type": _FORM, "block": "true" if blocks else "false"}
        try:
            reply = self._ask(url, place, json.dumps(body).encode(), headers)
        except ExternalServerUnreachable as unreachable:
            if blocks:
                raise Failed(f'Post "{url}": {unreachable}') from unreachable
            return
        if blocks and not reply.ok:
            raise Failed(
                f"Blocking call to '{hook.get('name', '')}' hook at url {url} returned a non-200 response code: "
                f"{reply.status}"
            )

    def _ask(self, url: str, place: SplitResult, body: bytes, headers: dict[str, str]) -> Reply:
        service = _SERVICE.fullmatch(place.hostname or "")
        if service is None:
            return self._context.external_servers.answer_to(ExternalRequest(url, body, tuple(headers.items())))
        return self._context.mesh.ask(service[1], "POST", target(place), body, headers=headers)


def _parsed(url: str) -> SplitResult:
    """Raises ``Failed`` for what is none, also when nobody would wait for the answer."""
    try:
        place = urlsplit(url)
        place.port  # noqa: B018 (is read when it is asked for)
    except ValueError as error:
        raise Failed(f'parse "{url}": {error}') from error
    return place
