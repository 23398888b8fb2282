"""URLs that are told of every change of a tenant, before it comes about.

A hook that is a service of the cluster is asked, and one that blocks may refuse the change. Nothing here can wait for a
server outside of the emulator: such a hook is sent the notice, and counts as one that agrees.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from canton.emulator.faces.tapms.cluster_api import ClusterApi, Failed, Tenant
from canton.emulator.faces.tapms.tenant import spec_of, written_spec
from canton.emulator.wire.call import Json
from canton.emulator.world import World

EVENTS = ("CREATE", "UPDATE", "DELETE")
_SERVICE = re.compile(r"cray-([a-z0-9-]+?)(?:\.services(?:\.svc(?:\.cluster\.local)?)?)?")
_FORM = "application/x-www-form-urlencoded"
"""The real one sets JSON, and then this over it."""


class Hooks:
    def __init__(self, world: World, api: ClusterApi) -> None:
        self._world = world
        self._api = api

    def call(self, tenant: Tenant, event: str) -> None:
        """The tenant's own, then those for all. Raises ``Failed`` when one does not agree."""
        for hook in (*(spec_of(tenant).get("tenanthooks") or ()), *self._api.hooks()):
            self._call(hook, tenant, event)

    def _call(self, hook: Json, tenant: Tenant, event: str) -> None:
        events = hook.get("eventtypes") or ()
        for one in events:
            if one not in EVENTS:
                raise Failed(f"EventType '{one}' is not supported, must be one of: [{' '.join(EVENTS)}]")
        if event not in events:
            return
        body = {"tenantspec": written_spec(spec_of(tenant)), "eventtype": event}
        url, blocks = hook.get("url", ""), bool(hook.get("blockingcall"))
        found = _service(url)
        if found is None:
            self._world.post(url, body)
            return
        headers = {"content-type": _FORM, "block": "true" if blocks else "false"}
        reply = self._world.mesh.ask(found[0], "POST", found[1], body, headers=headers)
        if blocks and not reply.ok:
            raise Failed(
                f"Blocking call to '{hook.get('name', '')}' hook at url {url} returned a non-200 response code: "
                f"{reply.status}"
            )


def _service(url: str) -> tuple[str, str] | None:
    """The service of the cluster that it names, and the path there."""
    try:
        place = urlsplit(url)
        found = _SERVICE.fullmatch(place.hostname or "")
    except ValueError:
        return None
    if found is None:
        return None
    return found[1], f"{place.path or '/'}{'?' + place.query if place.query else ''}"
