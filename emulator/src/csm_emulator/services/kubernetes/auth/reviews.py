"""``kubectl auth can-i`` and ``whoami``: questions about oneself, which are asked by creating an object."""

from __future__ import annotations

from csm_emulator.services.kubernetes.requests import body_of
from csm_emulator.services.kubernetes.statuses import bad_request
from csm_emulator.transport.call import Call, Reply, json_reply

ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def review(call: Call, *, may_all: bool, user: str) -> Reply | None:
    """None for what is no such question."""
    if call.method != "POST" or call.path not in (ACCESS, SELF):
        return None
    asked = body_of(call)
    if not isinstance(asked, dict):
        raise bad_request("couldn't get version/kind; json parse error")
    if call.path == SELF:
        groups = ["system:masters", "system:authenticated"] if may_all else ["system:authenticated"]
        return json_reply({**asked, "status": {"userInfo": {"username": user, "groups": groups}}}, 201)
    return json_reply({**asked, "status": {"allowed": may_all}}, 201)
