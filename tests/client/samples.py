"""Sample objects of the API."""

from __future__ import annotations

from typing import Any

AT = "2026-11-15T23:07:21.123456Z"


def tenant(name: str = "psi", **changes: Any) -> dict[str, Any]:
    document = {"name": name, "description": "Villigen", "state": "active", "version": 3, "created_at": AT, "nodes": 4}
    return document | changes


def site(name: str = "alps", **changes: Any) -> dict[str, Any]:
    return {"name": name, "description": "Lugano", "version": 1, "created_at": AT} | changes


def node(xname: str = "x1000c0s0b0n0", **changes: Any) -> dict[str, Any]:
    document = {
        "xname": xname,
        "nid": 1,
        "site": "alps",
        "state": "free",
        "tenant": None,
        "separation": None,
        "power": "on",
        "seen_at": AT,
        "stale": False,
    }
    return document | {"version": 1, "changed_at": AT, "claimed_by": None} | changes


def operation(state: str = "queued", steps_done: int = 0, total: int = 2, **changes: Any) -> dict[str, Any]:
    steps = {"total": total, "done": steps_done, "failed": 0, "under_way": 0, "pending": total - steps_done}
    document = {
        "id": "op_1",
        "kind": "node.power",
        "summary": "power off x1000c0s0b0n[0-1]",
        "tenant": "psi",
        "actor": "cscs:alice",
    }
    document |= {"reason": "ticket 17", "plan": "sha256:aa", "state": state, "nodes": "x1000c0s0b0n[0-1]"}
    other_fields = {"attention": None, "cancel_requested_by": None, "worker": None, "created_at": AT, "ended_at": None}
    return document | {"steps": steps} | other_fields | changes


def step(n: int, target: str, state: str = "done", **changes: Any) -> dict[str, Any]:
    document = {"n": n, "kind": "set_power/1", "target": target, "state": state, "tries": 1, "acts": 1, "begun_at": AT}
    return document | {"changed_at": AT, "evidence": None, "error": None, "cause": None} | changes


def error(message: str = "no answer", **details: Any) -> dict[str, Any]:
    return {"code": "permanent-failure", "message": message, "details": details}


def failed(n: int, target: str, message: str) -> dict[str, Any]:
    """An entry of an operation's ``attention.failed``."""
    return {"n": n, "kind": "set_power/1", "target": target, "error": error(message)}


def attention(*steps: dict[str, Any], **changes: Any) -> dict[str, Any]:
    document = {"reason": f"{len(steps)} of {len(steps)} steps failed", "stopped_before": [], "failed": list(steps)}
    return document | {"choices": ["retry", "undo", "abandon"]} | changes


def listed_plan(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in plan().items() if name not in ("steps", "inputs")} | changes


def role(**changes: Any) -> dict[str, Any]:
    document = {"name": "auditor", "scope": "provider", "description": "sees", "permissions": ["a.b"], "builtin": True}
    return document | changes


def plan(**changes: Any) -> dict[str, Any]:
    document = {"digest": "sha256:aa", "kind": "node.power", "summary": "power off x1000c0s0b0n[0-1]", "tenant": "psi"}
    steps = [{"kind": "set_power/1", "target": "x1000c0s0b0n0"}]
    return document | {"nodes": "x1000c0s0b0n[0-1]", "steps": steps, "inputs": {}, "created_at": AT} | changes


def binding(id_: str = "bd_1", **changes: Any) -> dict[str, Any]:
    document = {"id": id_, "subject": "cscs:alice", "role": "tenant-admin", "tenant": "psi", "until": None}
    document |= {"identity": "cscs:f7f5-1", "other_identity": None}
    return document | {"granted_by": "cscs:root", "reason": "r", "created_at": AT} | changes


def quota(**changes: Any) -> dict[str, Any]:
    used = {"nodes": 4, "open_operations": 0, "service_accounts": 0}
    document = {"tenant": "psi", "nodes": 64, "open_operations": 4, "service_accounts": 8, "used": used, "version": 5}
    return document | changes


def approval(state: str = "pending", **changes: Any) -> dict[str, Any]:
    document = {
        "id": "ap_1",
        "permission": "tenant.delete",
        "tenant": "psi",
        "method": "DELETE",
        "path": "/v1/tenants/psi",
    }
    document |= {
        "requested_by": "cscs:alice",
        "requested_identity": "cscs:f7f5-1",
        "reason": "contract ended",
        "state": state,
    }
    return (
        document
        | {"body": None, "decided_by": None, "decided_reason": None, "created_at": AT, "expires_at": AT}
        | changes
    )


def account(**changes: Any) -> dict[str, Any]:
    document = {"id": "sa_1", "name": "ci", "tenant": "psi", "permissions": ["node.read"], "description": ""}
    return document | {"created_by": "cscs:alice", "created_at": AT, "version": 1} | changes


def token(**changes: Any) -> dict[str, Any]:
    document = {"id": "tk_1", "permissions": ["node.read"], "created_by": "cscs:alice"}
    return document | {"created_at": AT, "expires_at": AT} | changes


def issued_token(**changes: Any) -> dict[str, Any]:
    return {"id": "tk_1", "token": "canton_secret", "expires_at": AT, "permissions": ["node.read"]} | changes


def event(kind: str = "tenant.created", subject: str = "psi", **changes: Any) -> dict[str, Any]:
    return {"at": AT, "kind": kind, "subject": subject, "tenant": "psi", "body": {"a": 1}} | changes


def record(**changes: Any) -> dict[str, Any]:
    document = {"seq": 7, "at": AT, "actor": "cscs:alice", "action": "tenant.create", "subject": "psi", "tenant": "psi"}
    return document | {"reason": "r", "details": {}, "hash": "sha256:00"} | changes


def decision(**changes: Any) -> dict[str, Any]:
    document = {"allowed": True, "permission": "tenant.delete", "tenant": "psi", "rule": "role:tenant-admin"}
    return document | {"reason": "alice is tenant-admin", "needs_reason": False, "two_persons": False} | changes


def whoami(**changes: Any) -> dict[str, Any]:
    binding_row = {"role": "tenant-admin", "tenant": "psi", "source": "claim", "until": None}
    document = {
        "id": "cscs:alice",
        "identity": "cscs:f7f5-1",
        "name": "Alice",
        "kind": "person",
        "issuer": "cscs",
        "bindings": [binding_row],
    }
    return document | {"expires_at": None, "server": {"version": "0.2.0", "issuers": ["cscs"]}} | changes
