"""TokenReviews: which service account a token belongs to. Vault asks this when a client logs in with one."""

from __future__ import annotations

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.auth.identity import Identity
from csm_emulator.services.kubernetes.requests import read
from csm_emulator.services.kubernetes.statuses import StatusError, bad_request
from csm_emulator.transport.call import Call, Reply, json_reply

PATH = "/apis/authentication.k8s.io/v1/tokenreviews"


def review_token(call: Call, identity: Identity) -> Reply | None:
    """None for other requests."""
    if call.method != "POST" or call.path != PATH:
        return None
    body = read(call.body)
    token = (body.get("spec") or {}).get("token") if isinstance(body, dict) else None
    if not isinstance(token, str):
        raise bad_request("spec.token: Required value")
    return json_reply({**body, "status": _status(token, identity)}, 201)


def _status(token: str, identity: Identity) -> Json:
    try:
        name = identity.account(token)
    except StatusError:
        return {"user": {}, "error": "[invalid bearer token, unknown]"}
    namespace = name.split(":")[2]
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
    return {"authenticated": True, "user": {"username": name, "groups": groups}}
