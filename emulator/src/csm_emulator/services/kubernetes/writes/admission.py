"""The webhooks that TAPMS has registered for tenants: the API server asks them before it keeps anything."""

from __future__ import annotations

import base64
import binascii
import json

from csm_emulator.cluster.service_workloads import TAPMS_OPERATOR
from csm_emulator.context import Context
from csm_emulator.services.kubernetes.kinds.kinds import Json, Kind
from csm_emulator.services.kubernetes.statuses import Refused, internal_error
from csm_emulator.services.kubernetes.storage.table import Store
from csm_emulator.services.kubernetes.writes import json_patch
from csm_emulator.transport.call import Reply

CREATE, UPDATE, DELETE = "CREATE", "UPDATE", "DELETE"
TENANTS = "tapms.hpe.com/tenants"
VERSION = "v1alpha3"
"""Whatever version a client speaks, the webhook is asked in this one (``matchPolicy: Equivalent``)."""
MUTATING = ("mtenant.kb.io", "/mutate-tapms-hpe-com-v1alpha3-tenant")
VALIDATING = ("vtenant.kb.io", "/validate-tapms-hpe-com-v1alpha3-tenant")
SERVICE = "tapms-webhook-service"
URL = f"https://{SERVICE}.tapms-operator.svc:443"
_AWAY = (502, 503, 504)


class Admission:
    def __init__(self, context: Context, store: Store) -> None:
        self._context = context
        self._store = store

    def admit(self, kind: Kind, operation: str, user: str, new: Json, old: Json, *, dry: bool) -> Json:
        """The object as the webhooks leave it; raises ``Refused``. ``new`` is None for a deletion."""
        if kind.place != TENANTS:
            return new
        review = self._review(operation, user, new, old, dry=dry)
        if operation != DELETE:
            new = self._mutated(new, self._ask(MUTATING, review))
            review["request"]["object"] = new
        self._ask(VALIDATING, review)
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

    def _ask(self, webhook: tuple[str, str], review: Json) -> Json:
        name, path = webhook
        reply = self._context.mesh.ask("tapms", "POST", path, review)
        answer = _answer(reply)
        if answer is None:
            raise internal_error(
                f'failed calling webhook "{name}": failed to call webhook: Post "{URL}{path}?timeout=30s": '
                + self._why(reply)
            )
        if not answer.get("allowed"):
            raise Refused(_denial(name, answer.get("status") or answer.get("result") or {}))
        return answer

    def _why(self, reply: Reply) -> str:
        """What went wrong with the call, in the words of the API server."""
        if reply.status in _AWAY:
            if not self._context.cluster.runs(TAPMS_OPERATOR):
                return f'no endpoints available for service "{SERVICE}"'
            return "dial tcp 10.24.16.120:443: connect: connection refused"
        if reply.ok:
            return "received invalid webhook response: expected response.uid"
        said = reply.body.decode("utf-8", "replace").strip()[:200]
        return f"an error on the server ({said!r}) has prevented the request"

    def _mutated(self, new: Json, answer: Json) -> Json:
        patch = answer.get("patch")
        if not patch:
            return new
        try:
            return json_patch.apply(new, json.loads(base64.b64decode(patch)))
        except (ValueError, TypeError, binascii.Error, json_patch.Unpatchable) as error:
            raise internal_error(f'failed calling webhook "{MUTATING[0]}": {error}') from error


def _answer(reply: Reply) -> Json:
    """What the webhook decided; None when there is no such answer."""
    if not reply.ok:
        return None
    try:
        told = reply.json()
    except ValueError:
        return None
    answer = told.get("response") if isinstance(told, dict) else None
    return answer if isinstance(answer, dict) else None


def _denial(name: str, status: Json) -> Json:
    """As the API server puts it: never below 400, and always with who it was."""
    denied = f'admission webhook "{name}" denied the request'
    message, reason = status.get("message"), status.get("reason")
    said = f"{denied}: {message or reason}" if message or reason else f"{denied} without explanation"
    code = status.get("code")
    told = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": said}
    if reason:
        told["reason"] = reason
    return {**told, "code": code if isinstance(code, int) and code >= 400 else 400}
