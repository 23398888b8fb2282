"""The requests whose answers are the examples of the API's description, in an order that makes sense."""

from __future__ import annotations

from dataclasses import dataclass

from canton.domain.data import Json

ISSUER = "cscs"
PROVIDER, OPERATOR, STRANGER = "provider", "ann", "eve"


@dataclass(frozen=True, slots=True)
class Ask:
    """One request; ``keep`` names what later paths may use in braces, taken from a field of the answer."""

    method: str
    path: str
    status: int = 200
    body: Json = None
    who: str | None = PROVIDER
    reason: str = "new contract"
    keep: str | None = None
    keep_field: str = "id"


WALK = (
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
    Ask("DELETE", "/v1/tenants/cscs", 204),
)
