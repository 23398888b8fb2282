"""The webhooks that the API server asks before it keeps a tenant, in admission.k8s.io/v1."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence

from csm_emulator.clients.hsm import GROUPS
from csm_emulator.dialects.hms.responses import encoded
from csm_emulator.records import Json
from csm_emulator.services.tapms.api import no_route
from csm_emulator.services.tapms.hsm_groups import EXCLUSIVE, HsmGroups
from csm_emulator.services.tapms.kubernetes_client import Failed, Tenant
from csm_emulator.services.tapms.tenant import is_updated, resources, spec_of, status_of
from csm_emulator.services.tapms.webhooks import Hooks
from csm_emulator.transport.call import JSON, Call, Reply
from csm_emulator.transport.routes import Handler, Route

Told = Callable[[str], None]
_ROLES = {"compute": "Compute", "application": "Application"}


class _Unreadable(Exception):
    """No review of a tenant."""


class Admission:
    def __init__(self, hsm: HsmGroups, hooks: Hooks, admitted: Told) -> None:
        self._hsm = hsm
        self._hooks = hooks
        self._admitted = admitted

    def routes(self) -> Sequence[Route]:
        return (
            Route("POST", "/mutate-tapms-hpe-com-v1alpha3-tenant", _inside(self._mutate)),
            Route("POST", "/validate-tapms-hpe-com-v1alpha3-tenant", _inside(self._validate)),
        )

    def _mutate(self, call: Call) -> Reply:
        try:
            request = _request(call)
            tenant = _tenant(request, "object")
        except _Unreadable as error:
            return _unreadable(error)
        change = {"op": "add", "path": "/spec/state", "value": next_state(tenant)}
        if spec_of(tenant).get("state") == change["value"]:
            return _answer(request, {"allowed": True, "status": {"metadata": {}, "code": 200}})
        patch = base64.b64encode(json.dumps([change]).encode()).decode()
        allowed = {"allowed": True, "status": {"metadata": {}, "code": 200}}
        return _answer(request, {**allowed, "patch": patch, "patchType": "JSONPatch"})

    def _validate(self, call: Call) -> Reply:
        try:
            request = _request(call)
            event = request.get("operation")
            tenant = _tenant(request, "oldObject" if event == "DELETE" else "object")
        except _Unreadable as error:
            return _unreadable(error)
        try:
            if event != "DELETE":
                self._check(tenant, is_new=event == "CREATE")
            self._hooks.call(tenant, str(event))
        except Failed as failed:
            reason = {"metadata": {}, "reason": str(failed), "code": 403}
            return _answer(request, {"allowed": False, "status": reason})
        if not request.get("dryRun"):
            self._admitted(tenant["metadata"]["name"])
        return _answer(request, {"allowed": True, "status": {"metadata": {}, "code": 200}})

    def _check(self, tenant: Tenant, *, is_new: bool) -> None:
        for resource in resources(spec_of(tenant)):
            if role := _ROLES.get(resource["type"]):
                self._check_role(resource["xnames"] or (), role)
            if resource["enforceexclusivehsmgroups"]:
                self._check_exclusive(resource["xnames"] or (), resource.get("hsmgrouplabel", ""))
            if not is_new:
                _check_unchanged(resource, resources(status_of(tenant)))

    def _check_role(self, xnames: Sequence[str], role: str) -> None:
        known = self._hsm.nodes(role)
        wrong = [xname for xname in xnames if xname not in known]
        if wrong:
            raise Failed(f"the following xname(s) do not have type Node and role {role}: [{' '.join(wrong)}]")

    def _check_exclusive(self, xnames: Sequence[str], label: str) -> None:
        others = [
            frozenset(group.members)
            for group in self._hsm.list(GROUPS)
            if group.exclusive_group == EXCLUSIVE and group.name != label
        ]
        taken = [xname for xname in xnames for members in others if xname in members]
        if taken:
            raise Failed(f"the following xname(s): '[{' '.join(taken)}]' already exist in an exclusive hsm group")


def next_state(tenant: Tenant) -> str:
    if tenant["metadata"].get("deletionTimestamp"):
        return "Deleting"
    if not spec_of(tenant).get("state"):
        return "New"
    return "Deploying" if is_updated(tenant) else "Deployed"


def _check_unchanged(resource: Json, before: Sequence[Json]) -> None:
    for one in before:
        if (
            one["type"] == resource["type"]
            and one["enforceexclusivehsmgroups"] != resource["enforceexclusivehsmgroups"]
        ):
            raise Failed("EnforceExclusiveHsmGroups field is immutable")


def _inside(handler: Handler) -> Handler:
    """The webhooks have a port of their own, which the gateway does not lead to."""
    return lambda call: no_route(call) if call.base.endswith("/apis/tapms") else handler(call)


def _request(call: Call) -> Json:
    if not call.body:
        raise _Unreadable("request body is empty")
    media = call.headers.get("content-type", "")
    if media != JSON:
        raise _Unreadable(f"contentType={media}, expected application/json")
    try:
        review = call.json()
    except (ValueError, RecursionError):
        raise _Unreadable("couldn't get version/kind; json parse error") from None
    request = review.get("request") if isinstance(review, dict) else None
    if not isinstance(request, dict):
        raise _Unreadable("got an empty request")
    return request


def _tenant(request: Json, name: str) -> Tenant:
    """Only as far as what follows relies on: the API server has held it against the schema."""
    tenant = request.get(name)
    if not isinstance(tenant, dict):
        raise _Unreadable("there is no content to decode")
    meta, spec, status = tenant.get("metadata"), tenant.get("spec"), tenant.get("status") or {}
    if not isinstance(meta, dict) or not isinstance(meta.get("name"), str):
        raise _Unreadable("there is no content to decode")
    if not isinstance(spec, dict) or not isinstance(status, dict) or not all(map(_is_sound, (spec, status))):
        raise _Unreadable("json: cannot unmarshal into Go struct field Tenant.spec of type v1alpha3.TenantSpec")
    return tenant


def _is_sound(of: Json) -> bool:
    lists = [of.get(name) or [] for name in ("tenantresources", "tenanthooks", "childnamespaces")]
    if not all(isinstance(one, list) for one in lists) or not all(isinstance(one, str) for one in lists[2]):
        return False
    if not all(isinstance(one, dict) for one in (*lists[0], *lists[1])):
        return False
    texts = [one.get("xnames") or [] for one in lists[0]] + [one.get("eventtypes") or [] for one in lists[1]]
    words = [one.get(name, "") for one in lists[0] for name in ("type", "hsmgrouplabel", "hsmpartitionname")]
    words += [one.get("url", "") for one in lists[1]] + [of.get("tenantname", ""), of.get("state", "")]
    return all(isinstance(word, str) for word in words) and all(
        isinstance(text, list) and all(isinstance(word, str) for word in text) for text in texts
    )


def _answer(request: Json, response: Json) -> Reply:
    told = {"uid": request.get("uid", ""), **response}
    return encoded({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": told})


def _unreadable(error: _Unreadable) -> Reply:
    status = {"metadata": {}, "message": str(error), "code": 400}
    return encoded({"response": {"uid": "", "allowed": False, "status": status}})
