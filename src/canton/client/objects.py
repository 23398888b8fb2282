"""The API's objects, as they come: plain dictionaries with these keys. Instants are RFC 3339 text in UTC."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from canton.domain.json_types import Json


class HeldRole(TypedDict):
    """A role of the caller."""

    role: str
    tenant: str | None
    source: str
    until: str | None


class Server(TypedDict):
    version: str
    issuers: list[str]


class Whoami(TypedDict):
    id: str
    identity: str
    name: str
    kind: str
    issuer: str | None
    bindings: list[HeldRole]
    expires_at: str | None
    server: Server


class Decision(TypedDict):
    """Whether the caller may do it, and the rule that decided."""

    allowed: bool
    permission: str
    tenant: str | None
    rule: str
    reason: str
    needs_reason: bool
    two_persons: bool


class Role(TypedDict):
    name: str
    scope: str
    description: str
    permissions: list[str]
    builtin: bool


class Site(TypedDict):
    name: str
    description: str
    version: int
    created_at: str


class Tenant(TypedDict):
    name: str
    description: str
    state: str
    version: int
    created_at: str
    nodes: int


class MemberRole(TypedDict):
    role: str
    until: str | None
    binding: str
    identity: str | None


class Member(TypedDict):
    """A subject with all its roles in one tenant."""

    subject: str
    roles: list[MemberRole]


class Binding(TypedDict):
    id: str
    subject: str
    identity: str | None
    other_identity: str | None
    role: str
    tenant: str | None
    until: str | None
    granted_by: str | None
    reason: str | None
    created_at: str


class Usage(TypedDict):
    nodes: int
    open_operations: int
    service_accounts: int


class Quota(TypedDict):
    """What a tenant may have; None is without limit."""

    tenant: str
    nodes: int | None
    open_operations: int | None
    service_accounts: int | None
    used: Usage
    version: int


class Node(TypedDict):
    xname: str
    nid: int | None
    site: str | None
    state: str
    tenant: str | None
    separation: str | None
    power: str | None
    seen_at: str | None
    stale: bool
    version: int
    changed_at: str
    claimed_by: str | None


class NewNode(TypedDict):
    """A row of an import."""

    xname: str
    nid: NotRequired[int]
    state: NotRequired[str]
    tenant: NotRequired[str]


class Imported(TypedDict):
    """What an import did, or would do."""

    added: int
    changed: int
    unchanged: int
    nodes: str


class DeletedNodes(TypedDict):
    """What was deleted, or would be."""

    nodes: str
    count: int


class StepCounts(TypedDict):
    total: int
    done: int
    failed: int
    under_way: int
    pending: int


class Operation(TypedDict):
    id: str
    kind: str
    summary: str
    tenant: str | None
    actor: str | None
    reason: str | None
    plan: str
    state: str
    nodes: str
    steps: StepCounts
    attention: dict[str, Json] | None
    cancel_requested_by: str | None
    worker: str | None
    created_at: str
    ended_at: str | None


class Step(TypedDict):
    n: int
    kind: str
    target: str
    state: str
    tries: int
    acts: int
    begun_at: str | None
    changed_at: str
    evidence: Json
    error: Json
    cause: str | None


class Plan(TypedDict):
    """A list gives it without steps and inputs."""

    digest: str
    kind: str
    summary: str
    tenant: str | None
    nodes: str
    steps: NotRequired[list[dict[str, Json]]]
    inputs: NotRequired[dict[str, Json]]
    created_at: str


class Approval(TypedDict):
    id: str
    permission: str
    tenant: str | None
    method: str
    path: str
    body: dict[str, Json] | None
    requested_by: str
    requested_identity: str | None
    reason: str | None
    state: str
    decided_by: str | None
    decided_reason: str | None
    created_at: str
    expires_at: str


class Record(TypedDict):
    """A record of the audit."""

    seq: int
    at: str
    actor: str
    action: str
    subject: str
    tenant: str | None
    reason: str
    details: dict[str, Json]
    hash: str


class Event(TypedDict):
    at: str
    kind: str
    subject: str
    tenant: str | None
    body: dict[str, Json]


class ServiceAccount(TypedDict):
    id: str
    name: str
    tenant: str | None
    permissions: list[str]
    description: str
    created_by: str | None
    created_at: str
    version: int


class AccountToken(TypedDict):
    """A token of a service account, without its text."""

    id: str
    permissions: list[str]
    created_by: str | None
    created_at: str
    expires_at: str


class IssuedToken(TypedDict):
    """A token as it is made; its text is None where the request was repeated."""

    id: str
    token: str | None
    permissions: list[str]
    expires_at: str


class Login(TypedDict):
    issuer: str
    client_id: str
    audience: NotRequired[str]


class Version(TypedDict):
    version: str
    api: str
    login: NotRequired[Login | None]
