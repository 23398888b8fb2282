"""The requests whose answers are the examples of the API's description, in an order that makes sense."""

from __future__ import annotations

from dataclasses import dataclass

from canton.domain.data import Json

ISSUER = "cscs"
PROVIDER, COLLEAGUE, OPERATOR, STRANGER = "provider", "petra", "ann", "eve"
# Not a method of HTTP: a worker drives what is open until it rests.
WORK = "WORK"


@dataclass(frozen=True, slots=True)
class Ask:
    """One request; ``keep`` names what later paths may use in braces, taken from a field of the answer."""

    method: str
    path: str = ""
    status: int = 200
    body: Json = None
    who: str | None = PROVIDER
    reason: str = "new contract"
    approval: str | None = None
    keep: str | None = None
    keep_field: str = "id"


_TENANTS = (
    Ask("POST", "/v1/tenants", 201, {"name": "psi", "description": "Paul Scherrer Institute"}),
    Ask("POST", "/v1/tenants", 201, {"name": "cscs", "description": "Swiss National Supercomputing Centre"}),
    Ask("GET", "/v1/tenants"),
    Ask("GET", "/v1/tenants/psi"),
    Ask("GET", "/v1/tenants/psi", 404, who=STRANGER),
    Ask("GET", "/v1/tenants", 401, who=None),
    Ask("PATCH", "/v1/tenants/psi", body={"description": "PSI, Villigen"}),
    Ask("POST", "/v1/tenants/psi/suspend"),
    Ask("DELETE", "/v1/tenants/psi", 403, who=OPERATOR),
    Ask("POST", "/v1/tenants/psi/resume"),
    Ask("POST", "/v1/tenants", 409, {"name": "psi"}),
    Ask("POST", "/v1/tenants", 400, {"name": "PSI"}),
    Ask("DELETE", "/v1/tenants/cscs", 403, reason="merged into psi", keep="approval", keep_field="details.approval"),
    Ask("GET", "/v1/approvals", who=COLLEAGUE),
    Ask("GET", "/v1/approvals/{approval}", who=COLLEAGUE),
    Ask("POST", "/v1/approvals/{approval}/approve", who=COLLEAGUE, reason="as agreed"),
    Ask("DELETE", "/v1/tenants/cscs", 204, reason="merged into psi", approval="{approval}"),
    Ask("DELETE", "/v1/tenants/psi", 403, reason="a mistake", keep="refused", keep_field="details.approval"),
    Ask("POST", "/v1/approvals/{refused}/refuse", who=COLLEAGUE, reason="not that one"),
    Ask("PUT", "/v1/tenants/psi/quota", body={"nodes": 128, "open_operations": None, "service_accounts": 10}),
    Ask("GET", "/v1/tenants/psi/quota"),
)
_PEOPLE = (
    Ask("GET", "/v1/version", who=None),
    Ask("GET", "/v1/whoami", who=OPERATOR),
    Ask("GET", "/v1/can-i?permission=tenant.delete&tenant=psi", who=OPERATOR),
    Ask("GET", "/v1/roles?limit=2"),
    Ask("POST", "/v1/bindings", 201, {"subject": "cscs:bob", "role": "tenant-viewer", "tenant": "psi"}, keep="binding"),
    Ask("GET", "/v1/bindings"),
    Ask("GET", "/v1/bindings/{binding}"),
    Ask("GET", "/v1/tenants/psi/members"),
    Ask("POST", "/v1/bindings", 200, {"subject": "cscs:bob", "role": "tenant-viewer", "tenant": "psi"}),
    Ask("DELETE", "/v1/bindings/{binding}", 204),
    Ask(
        "POST",
        "/v1/service-accounts",
        201,
        {"name": "ci", "tenant": "psi", "permissions": ["node.read", "node.power"]},
        keep="account",
    ),
    Ask("GET", "/v1/service-accounts"),
    Ask("GET", "/v1/service-accounts/{account}"),
    Ask("POST", "/v1/service-accounts/{account}/tokens", 201, {"ttl": 3600}, keep="token"),
    Ask("GET", "/v1/service-accounts/{account}/tokens"),
    Ask("DELETE", "/v1/service-accounts/{account}/tokens/{token}", 204),
    Ask("POST", "/v1/service-accounts/{account}/rotate", 201, {}),
    Ask("DELETE", "/v1/service-accounts/{account}", 204),
)
_MACHINE = (
    Ask("POST", "/v1/sites", 201, {"name": "alps", "description": "HPE Cray EX at Lugano"}),
    Ask("GET", "/v1/sites"),
    Ask("GET", "/v1/sites/alps"),
    Ask("PATCH", "/v1/sites/alps", body={"description": "HPE Cray EX"}),
    Ask(
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
    Ask("GET", "/v1/nodes"),
    Ask("GET", "/v1/nodes/x1000c0s0b0n0"),
    Ask("DELETE", "/v1/sites/alps", 409),
    Ask(
        "POST",
        "/v1/nodes/power?dry_run=true",
        200,
        {"nodes": "x1000c0s0b0n[0-1]", "to": "on"},
        OPERATOR,
        keep="plan",
        keep_field="digest",
    ),
    Ask("GET", "/v1/plans", who=OPERATOR),
    Ask("GET", "/v1/plans/{plan}", who=OPERATOR),
    Ask(
        "POST",
        "/v1/nodes/power",
        202,
        {"nodes": "x1000c0s0b0n[0-1]", "to": "on"},
        OPERATOR,
        "beam time",
        keep="operation",
    ),
    Ask("POST", "/v1/nodes/power", 409, {"nodes": "x1000c0s0b0n0", "to": "off"}, OPERATOR, "too late"),
    Ask("GET", "/v1/operations", who=OPERATOR),
    Ask("GET", "/v1/operations/{operation}", who=OPERATOR),
    Ask("GET", "/v1/operations/{operation}/steps", who=OPERATOR),
    Ask("POST", "/v1/operations/{operation}/cancel", 202, who=OPERATOR, reason="wrong nodes"),
    Ask("POST", "/v1/operations/{operation}/retry", 409, who=OPERATOR),
    Ask(WORK),
    Ask("POST", "/v1/nodes/power", 202, {"nodes": "x1000c0s0b0n0", "to": "on"}, OPERATOR, keep="first"),
    Ask(WORK),
    Ask("POST", "/v1/nodes/power", 202, {"nodes": "x1000c0s0b0n1", "to": "on"}, OPERATOR, keep="second"),
    Ask(WORK),
    Ask("POST", "/v1/operations/{first}/retry", 202, who=OPERATOR, reason="the site is configured now"),
    Ask(WORK),
    Ask("POST", "/v1/operations/{second}/undo", 202, who=OPERATOR, reason="not today"),
    Ask(WORK),
    Ask("POST", "/v1/operations/{first}/abandon", 202, who=OPERATOR, reason="given up"),
    Ask("POST", "/v1/nodes/assign?dry_run=true", 200, {"nodes": "x1000c0s1b0n0", "tenant": "psi"}),
    Ask("POST", "/v1/nodes/assign", 202, {"nodes": "x1000c0s1b0n0", "tenant": "psi"}, reason="contract 42"),
    Ask("POST", "/v1/nodes/release?dry_run=true", 200, {"nodes": "x1000c0s0b0n1"}),
    Ask("POST", "/v1/nodes/release", 202, {"nodes": "x1000c0s0b0n1"}, reason="contract 42 ended"),
    Ask("POST", "/v1/nodes/enroll?dry_run=true", 200, {"nodes": "x1000c0s2b0n0", "sanitised_by_hand": True}),
    Ask("POST", "/v1/nodes/enroll", 202, {"nodes": "x1000c0s2b0n0", "sanitised_by_hand": True}, reason="new blade"),
    Ask("POST", "/v1/nodes/maintenance?dry_run=true", 200, {"nodes": "x1000c0s3b0n0", "power": "unchanged"}),
    Ask(
        "POST",
        "/v1/nodes/maintenance",
        202,
        {"nodes": "x1000c0s3b0n0", "power": "unchanged"},
        reason="fan to be replaced",
    ),
    Ask(WORK),
    Ask("POST", "/v1/nodes/retire?dry_run=true", 200, {"nodes": "x1000c0s3b0n0"}),
    Ask("POST", "/v1/nodes/retire", 202, {"nodes": "x1000c0s3b0n0"}, reason="blade sent back"),
    Ask(WORK),
    Ask("POST", "/v1/nodes/delete", 200, {"nodes": "x1000c0s3b0n0"}, reason="slot given up"),
)
_RECORDS = (
    Ask("GET", "/v1/audit?limit=3"),
    Ask("GET", "/v1/events?after=start&limit=3"),
)

WALK = _TENANTS + _PEOPLE + _MACHINE + _RECORDS
