"""The admission webhooks that Kubernetes calls before it stores a tenant (admission.k8s.io/v1)."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence

from csm_emulator.clients.hsm import GROUPS
from csm_emulator.dialects.hms.responses import encoded
from csm_emulator.records import Json
from csm_emulator.services.tapms.api import no_route
from csm_emulator.services.tapms.hsm_groups import EXCLUSIVE, HsmGroups
from csm_emulator.services.tapms.kubernetes_client import RequestFailed, Tenant
from csm_emulator.services.tapms.tenant import is_updated, resources, spec_of, status_of
from csm_emulator.services.tapms.webhooks import TenantHooks
from csm_emulator.transport.call import JSON, Call, Reply
from csm_emulator.transport.routes import Handler, Route

TenantCallback = Callable[[str], None]
_ROLES = {"compute": "Compute", "application": "Application"}


class _UnreadableReview(Exception):
    """The body is not the review of a tenant."""


class Admission:
    def __init__(self, hsm: HsmGroups, hooks: TenantHooks, admitted: TenantCallback) -> None:
        self._hsm = hsm
        self._hooks = hooks
        self._admitted = admitted

    def routes(self) -> Sequence[Route]:
        return (
            Route("POST", "/mutate-tapms-hpe-com-v1alpha3-tenant", _inside_cluster(self._mutate)),
            Route("POST", "/validate-tapms-hpe-com-v1alpha3-tenant", _inside_cluster(self._validate)),
        )

    def _mutate(self, call: Call) -> Reply:
        try:
            request = _request(call)
            tenant = _tenant(request, "object")
        except _UnreadableReview as error:
            return _unreadable_reply(error)
        change = {"op": "add", "path": "/spec/state", "value": next_state(tenant)}
        if spec_of(tenant).get("state") == change["value"]:
            return _review(request, {"allowed": True, "status": {"metadata": {}, "code": 200}})
        patch = base64.b64encode(json.dumps([change]).encode()).decode()
        allowed = {"allowed": True, "status": {"metadata": {}, "code": 200}}
        return _review(request, {**allowed, "patch": patch, "patchType": "JSONPatch"})

    def _validate(self, call: Call) -> Reply:
        try:
            request = _request(call)
            event = request.get("operation")
            tenant = _tenant(request, "oldObject" if event == "DELETE" else "object")
        except _UnreadableReview as error:
            return _unreadable_reply(error)
        try:
            if event != "DELETE":
                self._check(tenant, is_new=event == "CREATE")
            self._hooks.call(tenant, str(event))
        except RequestFailed as failed:
            reason = {"metadata": {}, "reason": str(failed), "code": 403}
            return _review(request, {"allowed": False, "status": reason})
        if not request.get("dryRun"):
            self._admitted(tenant["metadata"]["name"])
        return _review(request, {"allowed": True, "status": {"metadata": {}, "code": 200}})

    def _check(self, tenant: Tenant, *, is_new: bool) -> None:
        for resource in resources(spec_of(tenant)):
            if role := _ROLES.get(resource["type"]):
                self._check_role(resource["xnames"] or (), role)
            if resource["enforceexclusivehsmgroups"]:
                self._check_exclusive(resource["xnames"] or (), resource.get("hsmgrouplabel", ""))
            if not is_new:
                _check_unchanged(resource, resources(status_of(tenant)))

    def _check_role(self, xnames: Sequence[str], role: str) -> None:
        nodes = self._hsm.nodes(role)
        unsuitable = [xname for xname in xnames if xname not in nodes]
        if unsuitable:
            raise RequestFailed(
                f"the following xname(s) do not have type Node and role {role}: [{' '.join(unsuitable)}]"
            )

    def _check_exclusive(self, xnames: Sequence[str], label: str) -> None:
        member_sets = [
            frozenset(group.members)
            for group in self._hsm.list(GROUPS)
            if group.exclusive_group == EXCLUSIVE and group.name != label
        ]
        conflicts = [xname for xname in xnames for members in member_sets if xname in members]
        if conflicts:
            raise RequestFailed(
                f"the following xname(s): '[{' '.join(conflicts)}]' already exist in an exclusive hsm group"
            )


def next_state(tenant: Tenant) -> str:
    if tenant["metadata"].get("deletionTimestamp"):
        return "Deleting"
    if not spec_of(tenant).get("state"):
        return "New"
    return "Deploying" if is_updated(tenant) else "Deployed"


def _check_unchanged(resource: Json, known_resources: Sequence[Json]) -> None:
    for known_resource in known_resources:
        if (
            known_resource["type"] == resource["type"]
            and known_resource["enforceexclusivehsmgroups"] != resource["enforceexclusivehsmgroups"]
        ):
            raise RequestFailed("EnforceExclusiveHsmGroups field is immutable")


def _inside_cluster(handler: Handler) -> Handler:
    """The webhooks have a port of their own, which cannot be reached through the gateway."""
    return lambda call: no_route(call) if call.base.endswith("/apis/tapms") else handler(call)


def _request(call: Call) -> Json:
    if not call.body:
        raise _UnreadableReview("request body is empty")
    media = call.headers.get("content-type", "")
    if media != JSON:
        raise _UnreadableReview(f"contentType={media}, expected application/json")
    try:
        review = call.json()
    except (ValueError, RecursionError):
        raise _UnreadableReview("couldn't get version/kind; json parse error") from None
    request = review.get("request") if isinstance(review, dict) else None
    if not isinstance(request, dict):
        raise _UnreadableReview("got an empty request")
    return request


def _tenant(request: Json, name: str) -> Tenant:
    """The tenant in the review. It is checked as far as needed, since Kubernetes has checked it with the schema."""
    tenant = request.get(name)
    if not isinstance(tenant, dict):
        raise _UnreadableReview("there is no content to decode")
    meta, spec, status = tenant.get("metadata"), tenant.get("spec"), tenant.get("status") or {}
    if not isinstance(meta, dict) or not isinstance(meta.get("name"), str):
        raise _UnreadableReview("there is no content to decode")
    if not isinstance(spec, dict) or not isinstance(status, dict) or not all(map(_is_well_formed, (spec, status))):
        raise _UnreadableReview("json: cannot unmarshal into Go struct field Tenant.spec of type v1alpha3.TenantSpec")
    return tenant


def _is_well_formed(section: Json) -> bool:
    lists = [section.get(name) or [] for name in ("tenantresources", "tenanthooks", "childnamespaces")]
    if not all(isinstance(entry, list) for entry in lists) or not all(isinstance(entry, str) for entry in lists[2]):
        return False
    if not all(isinstance(entry, dict) for entry in (*lists[0], *lists[1])):
        return False
    texts = [entry.get("xnames") or [] for entry in lists[0]] + [entry.get("eventtypes") or [] for entry in lists[1]]
    words = [entry.get(name, "") for entry in lists[0] for name in ("type", "hsmgrouplabel", "hsmpartitionname")]
    words += [entry.get("url", "") for entry in lists[1]] + [section.get("tenantname", ""), section.get("state", "")]
    return all(isinstance(word, str) for word in words) and all(
        isinstance(text, list) and all(isinstance(word, str) for word in text) for text in texts
    )


def _review(request: Json, response: Json) -> Reply:
    review_response = {"uid": request.get("uid", ""), **response}
    return encoded({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": review_response})


def _unreadable_reply(error: _UnreadableReview) -> Reply:
    status = {"metadata": {}, "message": str(error), "code": 400}
    return encoded({"response": {"uid": "", "allowed": False, "status": status}})
