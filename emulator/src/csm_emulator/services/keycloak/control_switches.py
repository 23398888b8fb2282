"""Switches for the side channel, asked over the mesh alone: from outside these paths do not exist.

``world.mesh.ask("keycloak", "POST", "/side/rotate")`` and so on; after ``drop`` tell the gateway's tokens to forget.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from csm_emulator.services.keycloak import wall_clock as moments
from csm_emulator.services.keycloak.realm.realm import SETTINGS, Realm
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Handler, Route

SPIRE = {"iss": "http://spire.local/shasta/vshastaio", "aud": ["system-compute"]}
HOUR = 3600
LONGEST = 10**10


class Side:
    def __init__(self, realm: Realm, not_found: Handler) -> None:
        self._realm = realm
        self._not_found = not_found

    def routes(self) -> Sequence[Route]:
        switches: dict[str, Handler] = {
            "rotate": self._rotate,
            "drop": self._drop,
            "settings": self._set,
            "mint": self._mint,
        }
        return [Route("POST", f"/side/{name}", self._inside(switch)) for name, switch in switches.items()]

    def _inside(self, switch: Handler) -> Handler:
        # Only calls over the mesh come from no address.
        return lambda call: self._not_found(call) if call.peer else switch(call)

    def _rotate(self, _: Call) -> Reply:
        return json_reply({"active": self._realm.keys.rotate(), "keys": self._realm.keys.kids()})

    def _drop(self, call: Call) -> Reply:
        """``{"kid": …}``; 409 for the active key and for one that is not there."""
        dropped = self._realm.keys.drop(str(_object(call).get("kid")))
        return json_reply({"keys": self._realm.keys.kids()}, 200 if dropped else 409)

    def _set(self, call: Call) -> Reply:
        """``{"access_token_lifespan": 300}``: seconds."""
        asked = _object(call)
        if not all(name in SETTINGS and type(value) is int and 0 < value < LONGEST for name, value in asked.items()):
            return json_reply({"detail": f"settings are {', '.join(SETTINGS)}, in whole seconds above 0"}, 400)
        for name, value in asked.items():
            self._realm.settings[name] = value
        return json_reply(dict(self._realm.settings))

    def _mint(self, call: Call) -> Reply:
        """A token with just these claims; with ``sub: spiffe://…`` one of a node's."""
        asked = _object(call)
        moment = moments.now()
        claims = {"iat": int(moment), "exp": int(moment) + HOUR, "jti": self._realm.new_id(moment)}
        node = SPIRE if str(asked.get("sub")).startswith("spiffe:") else {}
        return json_reply({"token": self._realm.keys.sign({**claims, **node, **asked})})


def _object(call: Call) -> dict[str, Any]:
    try:
        found = call.json()
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
