"""Authentication and authorization of requests."""

from __future__ import annotations

import base64
import binascii

from csm_emulator.services.kubernetes.kinds.kinds import SECRETS
from csm_emulator.services.kubernetes.requests import Request
from csm_emulator.services.kubernetes.statuses import forbidden, forbidden_path, unauthorized
from csm_emulator.services.kubernetes.storage.object_store import ObjectStore
from csm_emulator.state.random import SeededRandom
from csm_emulator.transport.call import Call

ADMINISTRATOR = "kubernetes-admin"
"""The common name of the administrator's certificate from kubeadm, in the group system:masters."""
INTERNAL_USER = "system:apiserver"
"""The user name of services inside the cluster; no certificate or account can have it."""
ACCOUNT_TOKEN = "kubernetes.io/service-account-token"  # noqa: S105 (a type)
ACCOUNT = "kubernetes.io/service-account.name"
_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Identity:
    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def user_of(self, call: Call) -> str:
        """The user's name; raises ``StatusError`` when the request has no valid credentials.

        Services of the cluster call over the mesh, without an address; they have all rights.
        """
        if not call.peer:
            return INTERNAL_USER
        scheme, _, token = call.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.account(token.strip())
        if not call.caller:
            raise unauthorized()
        return call.caller

    def account(self, token: str) -> str:
        """The service account with this token; raises ``StatusError`` when there is no such account."""
        for secret in self._store.list(SECRETS.storage_key):
            if secret.get("type") != ACCOUNT_TOKEN or not token:
                continue
            if _decoded((secret.get("data") or {}).get("token", "")) == token:
                meta = secret["metadata"]
                account = (meta.get("annotations") or {}).get(ACCOUNT, "default")
                return f"system:serviceaccount:{meta['namespace']}:{account}"
        raise unauthorized()

    def has_all_rights(self, user: str) -> bool:
        return user in (ADMINISTRATOR, INTERNAL_USER)

    def check(self, request: Request) -> None:
        """Raises ``StatusError`` (403) when the user lacks the right."""
        if self.has_all_rights(request.user):
            return
        kind = request.kind
        plural = f"{kind.plural}/{request.subresource}" if request.subresource else kind.plural
        scope = f'in the namespace "{request.namespace}"' if request.namespace else "at the cluster scope"
        reason = f'User "{request.user}" cannot {verb(request)} resource "{plural}" in API group "{kind.group}" {scope}'
        raise forbidden(kind, request.name, reason)

    def check_path(self, user: str, call: Call) -> None:
        """Every authenticated user may read discovery, version and health."""
        public = ("/api", "/apis", "/openapi", "/version", "/healthz", "/livez", "/readyz")
        if not self.has_all_rights(user) and not any(
            call.path == prefix or call.path.startswith(f"{prefix}/") for prefix in public
        ):
            raise forbidden_path(user, _VERBS.get(call.method, call.method.lower()), call.path)


def verb(request: Request) -> str:
    verb_name = _VERBS.get(request.call.method, request.call.method.lower())
    if request.name:
        return verb_name
    if verb_name == "get":
        return "watch" if is_true(request.call.first("watch")) else "list"
    return "deletecollection" if verb_name == "delete" else verb_name


def is_true(text: str) -> bool:
    return text.lower() in ("true", "1", "t")


def account_token(random: SeededRandom, *key: str) -> str:
    """Three parts with dots, like a JWT; only the API server reads it."""
    parts = (random.hex(48, "account token", *key, part) for part in range(3))
    return ".".join(base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts)


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError, TypeError):
        return ""
