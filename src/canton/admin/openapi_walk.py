"""The requests whose answers are the examples of the API's description, in an order that makes sense."""

from __future__ import annotations

from dataclasses import dataclass

from canton.domain.json_types import Json

ISSUER = "cscs"
PROVIDER, COLLEAGUE, OPERATOR, STRANGER = "provider", "petra", "ann", "eve"
# Not a method of HTTP: a worker drives what is open until it rests.
WORK = "WORK"


@dataclass(frozen=True, slots=True)
class WalkRequest:
    """One request; ``keep`` names what later paths may use in braces, taken from a field of the answer."""

    method: str
    path: str = ""
    status: int = 200
    body: Json = None
    who: str | None = PROVIDER
    reason: str = "new contract"
    approval: str | None = None
    save_as: str | None = None
    save_field: str = "id"


_TENANTS = (
    WalkRequest("POST", "/v1/tenants", 201, {"name": "psi", "description": "Paul Scherrer Institute"}),
    WalkRequest("POST", "/v1/tenants", 201, {"name": "cscs", "description": "Swiss National Supercomputing Centre"}),
    WalkRequest("GET", "/v1/tenants"),
    WalkRequest("GET", "/v1/tenants/psi"),
    WalkRequest("GET", "/v1/tenants/psi", 404, who=STRANGER),
    WalkRequest("GET", "/v1/tenants", 401, who=None),
    WalkRequest("PATCH", "/v1/tenants/psi", body={"description": "PSI, Villigen"}),
    WalkRequest("POST", "/v1/tenants/psi/suspend"),
    WalkRequest("DELETE", "/v1/tenants/psi", 403, who=OPERATOR),
    WalkRequest("POST", "/v1/tenants/psi/resume"),
    WalkRequest("POST", "/v1/tenants", 409, {"name": "psi"}),
    WalkRequest("POST", "/v1/tenants", 400, {"name": "PSI"}),
    WalkRequest(
        "DELETE", "/v1/tenants/cscs", 403, reason="merged into psi", save_as="approval", save_field="details.approval"
    ),
    WalkRequest("GET", "/v1/approvals", who=COLLEAGUE),
    WalkRequest("GET", "/v1/approvals/{approval}", who=COLLEAGUE),
    WalkRequest("POST", "/v1/approvals/{approval}/approve", who=COLLEAGUE, reason="as agreed"),
    WalkRequest("DELETE", "/v1/tenants/cscs", 204, reason="merged into psi", approval="{approval}"),
    WalkRequest("DELETE", "/v1/tenants/psi", 403, reason="a mistake", save_as="refused", save_field="details.approval"),
    WalkRequest("POST", "/v1/approvals/{refused}/refuse", who=COLLEAGUE, reason="not that one"),
    WalkRequest("PUT", "/v1/tenants/psi/quota", body={"nodes": 128, "open_operations": None, "service_accounts": 10}),
    WalkRequest("GET", "/v1/tenants/psi/quota"),
)
_PEOPLE = (
    WalkRequest("GET", "/v1/version", who=None),
    WalkRequest("GET", "/v1/whoami", who=OPERATOR),
    WalkRequest("GET", "/v1/can-i?permission=tenant.delete&tenant=psi", who=OPERATOR),
    WalkRequest("GET", "/v1/roles?limit=2"),
    WalkRequest(
        "POST",
        "/v1/bindings",
        201,
        {"subject": "cscs:bob", "role": "tenant-viewer", "tenant": "psi"},
        save_as="binding",
    ),
    WalkRequest("GET", "/v1/bindings"),
    WalkRequest("GET", "/v1/bindings/{binding}"),
    WalkRequest("GET", "/v1/tenants/psi/members"),
    WalkRequest("POST", "/v1/bindings", 200, {"subject": "cscs:bob", "role": "tenant-viewer", "tenant": "psi"}),
    WalkRequest("DELETE", "/v1/bindings/{binding}", 204),
    WalkRequest(
        "POST",
        "/v1/service-accounts",
        201,
        {"name": "ci", "tenant": "psi", "permissions": ["node.read", "node.power"]},
        save_as="account",
    ),
    WalkRequest("GET", "/v1/service-accounts"),
    WalkRequest("GET", "/v1/service-accounts/{account}"),
    WalkRequest("POST", "/v1/service-accounts/{account}/tokens", 201, {"ttl": 3600}, save_as="token"),
    WalkRequest("GET", "/v1/service-accounts/{account}/tokens"),
    WalkRequest("DELETE", "/v1/service-accounts/{account}/tokens/{token}", 204),
    WalkRequest("POST", "/v1/service-accounts/{account}/rotate", 201, {}),
    WalkRequest("DELETE", "/v1/service-accounts/{account}", 204),
)
_MACHINE = (
    WalkRequest("POST", "/v1/sites", 201, {"name": "alps", "description": "HPE Cray EX at Lugano"}),
    WalkRequest("GET", "/v1/sites"),
    WalkRequest("GET", "/v1/sites/alps"),
    WalkRequest("PATCH", "/v1/sites/alps", body={"description": "HPE Cray EX"}),
    WalkRequest(
        "POST",
        "/v1/nodes/import",
        200,
        {
            "site": "alps",
            "nodes": [
                {"xname": "x1000c0s0b0n0", "nid": 1000, "tenant": "psi"},
                {"xname": "x1000c0s0b0n1", "nid": 1001, "tenant": "psi"},
                {"xname": "x1000c0s1b0n0", "nid": 1002, "state": "free"},
                {"xname": "x1000c0s2b0n0", "nid": 1003},
                {"xname": "x1000c0s3b0n0", "nid": 1004},
            ],
        },
    ),
    WalkRequest("GET", "/v1/nodes"),
    WalkRequest("GET", "/v1/nodes/x1000c0s0b0n0"),
    WalkRequest("DELETE", "/v1/sites/alps", 409),
    WalkRequest(
        "POST",
        "/v1/nodes/power?dry_run=true",
        200,
        {"nodes": "x1000c0s0b0n[0-1]", "to": "on"},
        OPERATOR,
        save_as="plan",
        save_field="digest",
    ),
    WalkRequest("GET", "/v1/plans", who=OPERATOR),
    WalkRequest("GET", "/v1/plans/{plan}", who=OPERATOR),
    WalkRequest(
        "POST",
        "/v1/nodes/power",
        202,
        {"nodes": "x1000c0s0b0n[0-1]", "to": "on"},
        OPERATOR,
        "beam time",
        save_as="operation",
    ),
    WalkRequest("POST", "/v1/nodes/power", 409, {"nodes": "x1000c0s0b0n0", "to": "off"}, OPERATOR, "too late"),
    WalkRequest("GET", "/v1/operations", who=OPERATOR),
    WalkRequest("GET", "/v1/operations/{operation}", who=OPERATOR),
    WalkRequest("GET", "/v1/operations/{operation}/steps", who=OPERATOR),
    WalkRequest("POST", "/v1/operations/{operation}/cancel", 202, who=OPERATOR, reason="wrong nodes"),
    WalkRequest("POST", "/v1/operations/{operation}/retry", 409, who=OPERATOR),
    WalkRequest(WORK),
    WalkRequest("POST", "/v1/nodes/power", 202, {"nodes": "x1000c0s0b0n0", "to": "on"}, OPERATOR, save_as="first"),
    WalkRequest(WORK),
    WalkRequest("POST", "/v1/nodes/power", 202, {"nodes": "x1000c0s0b0n1", "to": "on"}, OPERATOR, save_as="second"),
    WalkRequest(WORK),
    WalkRequest("POST", "/v1/operations/{first}/retry", 202, who=OPERATOR, reason="the site is configured now"),
    WalkRequest(WORK),
    WalkRequest("POST", "/v1/operations/{second}/undo", 202, who=OPERATOR, reason="not today"),
    WalkRequest(WORK),
    WalkRequest("POST", "/v1/operations/{first}/abandon", 202, who=OPERATOR, reason="given up"),
    WalkRequest("POST", "/v1/nodes/assign?dry_run=true", 200, {"nodes": "x1000c0s1b0n0", "tenant": "psi"}),
    WalkRequest("POST", "/v1/nodes/assign", 202, {"nodes": "x1000c0s1b0n0", "tenant": "psi"}, reason="contract 42"),
    WalkRequest("POST", "/v1/nodes/release?dry_run=true", 200, {"nodes": "x1000c0s0b0n1"}),
    WalkRequest("POST", "/v1/nodes/release", 202, {"nodes": "x1000c0s0b0n1"}, reason="contract 42 ended"),
    WalkRequest("POST", "/v1/nodes/enroll?dry_run=true", 200, {"nodes": "x1000c0s2b0n0", "sanitised_by_hand": True}),
    WalkRequest(
        "POST", "/v1/nodes/enroll", 202, {"nodes": "x1000c0s2b0n0", "sanitised_by_hand": True}, reason="new blade"
    ),
    WalkRequest("POST", "/v1/nodes/maintenance?dry_run=true", 200, {"nodes": "x1000c0s3b0n0", "power": "unchanged"}),
    WalkRequest(
        "POST",
        "/v1/nodes/maintenance",
        202,
        {"nodes": "x1000c0s3b0n0", "power": "unchanged"},
        reason="fan to be replaced",
    ),
    WalkRequest(WORK),
    WalkRequest("POST", "/v1/nodes/retire?dry_run=true", 200, {"nodes": "x1000c0s3b0n0"}),
    WalkRequest("POST", "/v1/nodes/retire", 202, {"nodes": "x1000c0s3b0n0"}, reason="blade sent back"),
    WalkRequest(WORK),
    WalkRequest("POST", "/v1/nodes/delete", 200, {"nodes": "x1000c0s3b0n0"}, reason="slot given up"),
)
_RECORDS = (
    WalkRequest("GET", "/v1/audit?limit=3"),
    WalkRequest("GET", "/v1/events?after=start&limit=3"),
)

WALK = _TENANTS + _PEOPLE + _MACHINE + _RECORDS
