"""The webhooks that TAPMS has registered for tenants: the API server calls them before it stores a tenant."""

from __future__ import annotations

import base64
import binascii
import json

from csm_emulator.cluster.service_workloads import TAPMS_OPERATOR
from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import Kind
from csm_emulator.services.kubernetes.statuses import StatusError, internal_error
from csm_emulator.services.kubernetes.storage.object_store import ObjectStore
from csm_emulator.services.kubernetes.writes import json_patch
from csm_emulator.transport.call import Reply

CREATE, UPDATE, DELETE = "CREATE", "UPDATE", "DELETE"
TENANTS = "tapms.hpe.com/tenants"
VERSION = "v1alpha3"
"""The webhook is called with this version, whichever version a client uses (``matchPolicy: Equivalent``)."""
MUTATING = ("mtenant.kb.io", "/mutate-tapms-hpe-com-v1alpha3-tenant")
VALIDATING = ("vtenant.kb.io", "/validate-tapms-hpe-com-v1alpha3-tenant")
SERVICE = "tapms-webhook-service"
URL = f"https://{SERVICE}.tapms-operator.svc:443"
_UNAVAILABLE = (502, 503, 504)


class Admission:
    def __init__(self, context: Context, store: ObjectStore) -> None:
        self._context = context
        self._store = store

    def admit(self, kind: Kind, operation: str, user: str, new: Json, old: Json, *, dry: bool) -> Json:
        """The object as the webhooks changed it; raises ``StatusError``. ``new`` is None for a deletion."""
        if kind.storage_key != TENANTS:
            return new
        review = self._review(operation, user, new, old, dry=dry)
        if operation != DELETE:
            new = self._mutate(new, self._call_webhook(MUTATING, review))
            review["request"]["object"] = new
        self._call_webhook(VALIDATING, review)
        return new

    def _review(self, operation: str, user: str, new: Json, old: Json, *, dry: bool) -> Json:
        meta = (new or old)["metadata"]
        kind = {"group": "tapms.hpe.com", "version": VERSION, "kind": "Tenant"}
        resource = {"group": "tapms.hpe.com", "version": VERSION, "resource": "tenants"}
        return {
            "kind": "AdmissionReview",
            "apiVersion": "admission.k8s.io/v1",
            "request": {
                "uid": self._store.new_uid("review"),
                "kind": kind,
                "resource": resource,
                "requestKind": kind,
                "requestResource": resource,
                "name": meta["name"],
                "namespace": meta.get("namespace", ""),
                "operation": operation,
                "userInfo": {"username": user, "groups": ["system:authenticated"]},
                "object": new,
                "oldObject": old,
                "dryRun": dry,
                "options": {"kind": f"{operation.capitalize()}Options", "apiVersion": "meta.k8s.io/v1"},
            },
        }

    def _call_webhook(self, webhook: tuple[str, str], review: Json) -> Json:
        name, path = webhook
        reply = self._context.mesh.ask("tapms", "POST", path, review)
        answer = _response_of(reply)
        if answer is None:
            raise internal_error(
                f'failed calling webhook "{name}": failed to call webhook: Post "{URL}{path}?timeout=30s": '
                + self._failure_reason(reply)
            )
        if not answer.get("allowed"):
            raise StatusError(_denial(name, answer.get("status") or answer.get("result") or {}))
        return answer

    def _failure_reason(self, reply: Reply) -> str:
        """The reason of a failed call, as the API server words it."""
        if reply.status in _UNAVAILABLE:
            if not self._context.cluster.runs(TAPMS_OPERATOR):
                return f'no endpoints available for service "{SERVICE}"'
            return "dial tcp 10.24.16.120:443: connect: connection refused"
        if reply.ok:
            return "received invalid webhook response: expected response.uid"
        body = reply.body.decode("utf-8", "replace").strip()[:200]
        return f"an error on the server ({body!r}) has prevented the request"

    def _mutate(self, new: Json, answer: Json) -> Json:
        patch = answer.get("patch")
        if not patch:
            return new
        try:
            return json_patch.apply(new, json.loads(base64.b64decode(patch)))
        except (ValueError, TypeError, binascii.Error, json_patch.PatchError) as error:
            raise internal_error(f'failed calling webhook "{MUTATING[0]}": {error}') from error


def _response_of(reply: Reply) -> Json:
    """The ``response`` of the webhook; None when the reply has none."""
    if not reply.ok:
        return None
    try:
        document = reply.json()
    except ValueError:
        return None
    answer = document.get("response") if isinstance(document, dict) else None
    return answer if isinstance(answer, dict) else None


def _denial(name: str, status: Json) -> Json:
    """The Status as the API server words it: it names the webhook, and its code is at least 400."""
    denied = f'admission webhook "{name}" denied the request'
    message, reason = status.get("message"), status.get("reason")
    text = f"{denied}: {message or reason}" if message or reason else f"{denied} without explanation"
    code = status.get("code")
    denial = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": text}
    if reason:
        denial["reason"] = reason
    return {**denial, "code": code if isinstance(code, int) and code >= 400 else 400}
