"""Switches for the control API, which are reached over the mesh only: for calls from outside these paths do not exist.

``context.mesh.ask("keycloak", "POST", "/control/rotate")`` and so on. After ``drop``, the gateway's tokens have to
forget the keys that they have cached.
"""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.records import Record
from csm_emulator.services.keycloak import wall_clock as moments
from csm_emulator.services.keycloak.realm.realm import SETTINGS, Realm
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Handler, Route

SPIRE_CLAIMS = {"iss": "http://spire.local/shasta/vshastaio", "aud": ["system-compute"]}
HOUR = 3600
MAX_SECONDS = 10**10


class ControlSwitches:
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
        return [Route("POST", f"/control/{name}", self._inside(switch)) for name, switch in switches.items()]

    def _inside(self, switch: Handler) -> Handler:
        # Only calls over the mesh have no peer address.
        return lambda call: self._not_found(call) if call.peer else switch(call)

    def _rotate(self, _: Call) -> Reply:
        return json_reply({"active": self._realm.keys.rotate(), "keys": self._realm.keys.kids()})

    def _drop(self, call: Call) -> Reply:
        """``{"kid": …}``. 409 for the active key and for an unknown one."""
        dropped = self._realm.keys.drop(str(_object(call).get("kid")))
        return json_reply({"keys": self._realm.keys.kids()}, 200 if dropped else 409)

    def _set(self, call: Call) -> Reply:
        """``{"access_token_lifespan": 300}``, in seconds."""
        settings = _object(call)
        if not all(
            name in SETTINGS and type(value) is int and 0 < value < MAX_SECONDS for name, value in settings.items()
        ):
            return json_reply({"detail": f"settings are {', '.join(SETTINGS)}, in whole seconds above 0"}, 400)
        for name, value in settings.items():
            self._realm.settings[name] = value
        return json_reply(dict(self._realm.settings))

    def _mint(self, call: Call) -> Reply:
        """Signs a token with the claims of the body, and with those of a node's token for ``sub: spiffe://…``."""
        extra_claims = _object(call)
        moment = moments.now()
        claims = {"iat": int(moment), "exp": int(moment) + HOUR, "jti": self._realm.new_id(moment)}
        node = SPIRE_CLAIMS if str(extra_claims.get("sub")).startswith("spiffe:") else {}
        return json_reply({"token": self._realm.keys.sign({**claims, **node, **extra_claims})})


def _object(call: Call) -> Record:
    try:
        document = call.json()
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
