"""Who asks, and whether they may."""

from __future__ import annotations

import base64
import binascii

from csm_emulator.services.kubernetes.kinds.kinds import SECRETS
from csm_emulator.services.kubernetes.requests import Request
from csm_emulator.services.kubernetes.statuses import forbidden, forbidden_path, unauthorized
from csm_emulator.services.kubernetes.storage.table import Store
from csm_emulator.state.random import SeededRandom
from csm_emulator.transport.call import Call

ADMINISTRATOR = "kubernetes-admin"
"""The common name of the certificate that kubeadm gives to the administrator, of the group system:masters."""
INSIDE = "system:apiserver"
"""Nobody can have a certificate or an account with this name."""
ACCOUNT_TOKEN = "kubernetes.io/service-account-token"  # noqa: S105 (a type)
ACCOUNT = "kubernetes.io/service-account.name"
_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Identity:
    def __init__(self, store: Store) -> None:
        self._store = store

    def who(self, call: Call) -> str:
        """The user's name; raises ``Refused`` when there is none.

        Services of the cluster come over the mesh, without an address; their rights are not the matter here.
        """
        if not call.peer:
            return INSIDE
        scheme, _, token = call.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.account(token.strip())
        if not call.caller:
            raise unauthorized()
        return call.caller

    def account(self, token: str) -> str:
        """The service account that has this token; raises ``Refused`` when none has."""
        for secret in self._store.list(SECRETS.place):
            if secret.get("type") != ACCOUNT_TOKEN or not token:
                continue
            if _decoded((secret.get("data") or {}).get("token", "")) == token:
                meta = secret["metadata"]
                account = (meta.get("annotations") or {}).get(ACCOUNT, "default")
                return f"system:serviceaccount:{meta['namespace']}:{account}"
        raise unauthorized()

    def may_all(self, user: str) -> bool:
        return user in (ADMINISTRATOR, INSIDE)

    def check(self, request: Request) -> None:
        """Raises ``Refused``."""
        if self.may_all(request.user):
            return
        kind = request.kind
        plural = f"{kind.plural}/{request.subresource}" if request.subresource else kind.plural
        where = f'in the namespace "{request.namespace}"' if request.namespace else "at the cluster scope"
        why = f'User "{request.user}" cannot {verb(request)} resource "{plural}" in API group "{kind.group}" {where}'
        raise forbidden(kind, request.name, why)

    def check_path(self, user: str, call: Call) -> None:
        """Everybody who is somebody may find out what there is."""
        public = ("/api", "/apis", "/openapi", "/version", "/healthz", "/livez", "/readyz")
        if not self.may_all(user) and not any(call.path == one or call.path.startswith(f"{one}/") for one in public):
            raise forbidden_path(user, _VERBS.get(call.method, call.method.lower()), call.path)


def verb(request: Request) -> str:
    known = _VERBS.get(request.call.method, request.call.method.lower())
    if request.name:
        return known
    if known == "get":
        return "watch" if is_true(request.call.first("watch")) else "list"
    return "deletecollection" if known == "delete" else known


def is_true(text: str) -> bool:
    return text.lower() in ("true", "1", "t")


def account_token(random: SeededRandom, *about: str) -> str:
    """Three parts with dots, as tokens look; nobody but the API server reads it."""
    parts = (random.hex(48, "account token", *about, part) for part in range(3))
    return ".".join(base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts)


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError, TypeError):
        return ""
