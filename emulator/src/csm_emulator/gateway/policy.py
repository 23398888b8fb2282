"""The decision about one request by its claims, method, path and headers: a pure function."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from csm_emulator.gateway.rules import ALL, ROLES, SLINGSHOT_ADMIN, TENANT_ADMIN, WORKLOADS, allows
from csm_emulator.records import Json

Claims = Mapping[str, Json]
Headers = Mapping[str, str]

SPIRE_ISSUERS = frozenset({"http://spire.local/shasta/vshastaio", "http://crayspire.local/shasta"})

_REALM = "/keycloak/realms/shasta"
_OIDC = f"{_REALM}/protocol/openid-connect"
_OPEN = (
    f"{_OIDC}/token",
    f"{_OIDC}/userinfo",
    f"{_OIDC}/logout",
    f"{_OIDC}/certs",
    f"{_REALM}/.well-known/openid-configuration",
    "/vcs",
    "/repository",
    "/v2",
    "/service/rest",
    "/capsules/",
    "/apis/gozerd/",
    "/spire-jwks",
)
_OPEN_TO_READERS = {"GET": ("/meta-data", "/user-data", "/keycloak/resources"), "HEAD": ("/keycloak/resources",)}
# CVE-2020-10770.
_REQUEST_URI = re.compile(r"/keycloak/realms/[a-zA-Z0-9]+/protocol/openid-connect/.*request_uri=.*")

_DECORATED = "x-envoy-decorator-operation"
_OPEN_UPSTREAMS = frozenset(
    {
        "nexus.nexus.svc.cluster.local:80/*",
        "cray-sysmgmt-health-grafana.sysmgmt-health.svc.cluster.local:80/*",
        "sma-grafana.services.svc.cluster.local:3000/*",
        "sma-kibana.services.svc.cluster.local:5601/*",
    }
)
_VAULT = "cray-vault.vault.svc.cluster.local:8200/*"
_VAULT_LOGINS = ("/v1/auth/jwt/login", "/v1/auth/kubernetes/login")
_VAULT_TOKEN = re.compile(r"hvs\.\S{24,}")

_TENANT = "cray-tenant-name"
_TENANT_NAME = re.compile(r"[a-z0-9][a-z0-9\-.]{1,251}[a-z0-9]")
_ADMIN_METHODS = frozenset(ALL.split())


@dataclass(frozen=True, slots=True)
class Allow:
    rule: str


@dataclass(frozen=True, slots=True)
class Deny:
    """A refusal; OPA gives no reason."""


def decide(claims: Claims | None, method: str, path: str, headers: Headers) -> Allow | Deny:
    """``claims`` are of a verified token; ``path`` is the target with its query; names of headers are in lower case,
    and x-envoy-decorator-operation was set by the gateway.
    """
    rule = _open(method, path, headers)
    if rule is None and claims is not None:
        rule = _as_workload(claims, method, path) if _of_spire(claims) else _as_user(claims, method, path, headers)
    return Deny() if rule is None else Allow(rule)


def _open(method: str, path: str, headers: Headers) -> str | None:
    if path.startswith(_OPEN) or path.startswith(_OPEN_TO_READERS.get(method, ())):
        return "open"
    if path.startswith("/keycloak"):
        return _open_keycloak(path, headers)
    upstream = headers.get(_DECORATED)
    if upstream in _OPEN_UPSTREAMS or (upstream == _VAULT and _open_vault(method, path, headers)):
        return "own authentication"
    return None


def _open_keycloak(path: str, headers: Headers) -> str | None:
    if headers.get("host", "").startswith("auth.cmn."):
        return "open at auth.cmn"
    if path.startswith(f"{_OIDC}/auth") and not _REQUEST_URI.fullmatch(path):
        return "open"
    return None


def _open_vault(method: str, path: str, headers: Headers) -> bool:
    if method == "POST" and path.startswith(_VAULT_LOGINS):
        return True
    return path.startswith("/v1/") and _VAULT_TOKEN.fullmatch(headers.get("x-vault-token", "")) is not None


def _as_user(claims: Claims, method: str, path: str, headers: Headers) -> str | None:
    shasta = _texts(claims, "resource_access", "shasta", "roles")
    if "admin" in shasta and method in _ADMIN_METHODS and _may_act_for(headers):
        return "admin"
    slingshot = _texts(claims, "resource_access", "system-slingshot-client", "roles")
    if "slingshot-admin" in slingshot and allows(SLINGSHOT_ADMIN, method, path):
        return "slingshot-admin"
    for role in (*shasta, *slingshot):
        if allows(ROLES.get(role), method, path):
            return role
    return _as_tenant_admin(claims, method, path, headers)


def _may_act_for(headers: Headers) -> bool:
    """Whether the header of the tenant, which administrators may omit, is valid."""
    tenant = headers.get(_TENANT)
    return tenant is None or _TENANT_NAME.fullmatch(tenant) is not None


def _as_tenant_admin(claims: Claims, method: str, path: str, headers: Headers) -> str | None:
    tenant = headers.get(_TENANT, "")
    if "tenant-admin" not in _texts(claims, "realm_access", "roles") or not _TENANT_NAME.fullmatch(tenant):
        return None
    # The suffix is optional: a group with just the tenant's name counts as well.
    tenants = {group.removesuffix("-tenant-admin") for group in _texts(claims, "groups")}
    return "tenant-admin" if tenant in tenants and allows(TENANT_ADMIN, method, path) else None


def _of_spire(claims: Claims) -> bool:
    issuer = claims.get("iss")
    return isinstance(issuer, str) and issuer in SPIRE_ISSUERS


def _as_workload(claims: Claims, method: str, path: str) -> str | None:
    """``spiffe://shasta/compute/x1000c0s0b0n0/workload/heartbeat``."""
    subject = claims.get("sub")
    parts = subject.split("/") if isinstance(subject, str) else []
    if len(parts) != 7 or parts[:3] != ["spiffe:", "", "shasta"] or parts[5] != "workload":
        return None
    kind, xname, workload = parts[3], parts[4], parts[6]
    return workload if allows(WORKLOADS.get(kind, {}).get(workload), method, path, xname) else None


def _texts(claims: Claims, *path: str) -> list[str]:
    """The strings in the list at this path; empty if the claims have another shape."""
    value_at_path: Json = claims
    for key in path:
        value_at_path = value_at_path.get(key) if isinstance(value_at_path, Mapping) else None
    return [value for value in value_at_path if isinstance(value, str)] if isinstance(value_at_path, list) else []
