"""``kubectl auth can-i`` and ``whoami``: the client creates a review object and gets it back with the answer."""

from __future__ import annotations

from csm_emulator.services.kubernetes.requests import body_of
from csm_emulator.services.kubernetes.statuses import bad_request
from csm_emulator.transport.call import Call, Reply, json_reply

ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def review(call: Call, *, has_all_rights: bool, user: str) -> Reply | None:
    """None for other requests."""
    if call.method != "POST" or call.path not in (ACCESS, SELF):
        return None
    body = body_of(call)
    if not isinstance(body, dict):
        raise bad_request("couldn't get version/kind; json parse error")
    if call.path == SELF:
        groups = ["system:masters", "system:authenticated"] if has_all_rights else ["system:authenticated"]
        return json_reply({**body, "status": {"userInfo": {"username": user, "groups": groups}}}, 201)
    return json_reply({**body, "status": {"allowed": has_all_rights}}, 201)
