"""Authorises and executes every change: policy decision, reason, approval, idempotency, audit record and event.

The decision, the use of the approval, the change itself, its audit record, its event and the answer that is stored for
a repetition are one transaction. A refusal, and a change that failed, are recorded in a transaction of their own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Header, Request
from fastapi.responses import Response
from sqlalchemy.engine import Connection
from starlette.concurrency import run_in_threadpool

from canton.api.auth.caller import Caller, CallerDep
from canton.api.mutations.refusals import RefusalKind
from canton.api.rendering.responses import Answer
from canton.domain.errors import (
    ApprovalRequired,
    CantonError,
    Conflict,
    DatabaseUnavailable,
    Forbidden,
    InvalidRequest,
    NotFound,
    ReasonRequired,
)
from canton.domain.json_types import Json, JsonObject, digest, storable
from canton.domain.tenant import TenantState
from canton.domain.terminal_text import is_blank
from canton.operations.engine.completion import Attribution
from canton.policy import bindings
from canton.policy.decide import Decision, Question, Rights
from canton.policy.permissions import PERMISSIONS, PROVIDERS
from canton.store import audit, idempotency, outbox
from canton.store.access import approvals, tenants

LONGEST_REASON = 500
# These take rights from people, who could otherwise refuse it, or give the rights to another account meanwhile.
REVOKING = frozenset({"member.revoke", "service-account.delete", "service-account.revoke"})
# A character has up to four UTF-8 bytes; percent-encoding writes three characters for each byte.
MAX_ENCODED_REASON = 12 * LONGEST_REASON


@dataclass(frozen=True, slots=True)
class ChangeTarget:
    """The object of a change: its tenant, and the permission to see it."""

    tenant: str | None
    not_found: NotFound | None = None
    """The error for a caller who may not see the object; None if it does not exist yet, as when a tenant is created."""
    read_permission: str | None = None
    account: str | None = None
    """The principal id of the service account that is changed, if it may change itself."""
    by_provider: bool = False
    """Whether only roles at the provider may change it, although the nodes are a tenant's."""
    resolved: Json = None
    """The objects that the names in the request stand for now; an approval is only for these."""
    undone_permission: str | None = None
    """The permission of the operation that it undoes: if that needs a second person, so does this."""
    granted_rights: Rights | None = None
    """The rights that the change gives to others; the second person must hold them too."""


@dataclass(frozen=True, slots=True)
class ChangeResult:
    """The result of a change: the answer, and the contents of its audit record and event.

    An operation writes its own record in the same transaction; then ``event`` is None.
    """

    answer: Answer
    subject: str
    event: str | None = None
    details: JsonObject = field(default_factory=dict)
    operation: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One request that changes something: who makes it, under which permission, and its headers.

    ``carry_out`` executes it; ``decide`` only checks it.
    """

    caller: Caller
    permission: str
    reason: str
    key: str | None
    approval: str | None
    if_version: int | None
    method: str
    path: str
    body: Json
    query_problem: str = ""
    """The mistake in the query parameters; only callers who may make the change are told of it."""

    def carry_out(self, target: ChangeTarget, apply: Callable[[Connection, Attribution], ChangeResult]) -> Response:
        decision = self.decide(target)
        # The approval is recorded only with a change that needs one, since only then it is checked.
        used = {"approval": self.approval} if self._needs_approval(target) else {}
        attribution = Attribution(self.caller.principal.id, self.reason, {**self._context(decision), **used})
        try:
            self._require_reason()
            return self._execute_or_replay(target, attribution, apply).response()
        except _DecisionChanged as changed:
            raise self._refuse(target, changed.decision) from None
        except DatabaseUnavailable:
            # The record would fail too.
            raise
        except CantonError as error:
            self._record_failure(target, decision, error.code)
            raise

    def require_anywhere(self) -> None:
        """Refuse, and record, a caller who holds the permission in no tenant and not at the provider."""
        if self.caller.visible(self.permission) == frozenset():
            self.decide(ChangeTarget(None))

    def decide(self, target: ChangeTarget) -> Decision:
        """The decision of policy; a refusal is recorded and raised. A dry run calls only this."""
        question = Question(self.permission, target.tenant, account=target.account, by_provider=target.by_provider)
        decision = self.caller.decide(question)
        if decision.allowed and target.tenant is not None:
            # Only now the tenant is read: a caller who may not see it learns nothing, also not from the time it takes.
            question = replace(question, suspended=self._is_suspended(target.tenant))
            decision = self.caller.decide(question)
        if not decision.allowed:
            raise self._refuse(target, decision)
        if self.query_problem:
            raise InvalidRequest(self.query_problem)
        return decision

    def _refuse(self, target: ChangeTarget, decision: Decision) -> Forbidden:
        self._record_failure(target, decision, "refused")
        if target.not_found is not None and target.read_permission is not None:
            self.caller.require_visible(target.read_permission, target.tenant, target.not_found)
        return Forbidden(
            f"{decision.reason}; ask an administrator, or see: canton whoami",
            permission=self.permission,
            rule=decision.rule,
            tenant=target.tenant,
        )

    def _decide_again(self, connection: Connection, target: ChangeTarget) -> None:
        """Decide again with the tenant and the caller's roles locked: no suspension or revocation is missed."""
        state = None if target.tenant is None else tenants.hold(connection, target.tenant)
        # The body may have taken long to arrive: a role that has ended meanwhile does not count any more.
        now = self.caller.services.clock()
        caller = replace(self.caller, principal=self.caller.principal_in(connection, lock=True), now=now)
        question = Question(
            self.permission,
            target.tenant,
            state == TenantState.SUSPENDED,
            account=target.account,
            by_provider=target.by_provider,
        )
        decision = caller.decide(question)
        if not decision.allowed:
            raise _DecisionChanged(decision)
        if caller.active_bindings != self.caller.active_bindings:
            # The change makes further checks with the roles of the request's start, so these must not have changed.
            raise Conflict(f"the roles of {caller.principal.id} were changed at the same moment; try again")

    def _is_suspended(self, tenant: str) -> bool:
        with self.caller.database.read() as connection:
            return tenants.state(connection, tenant) == TenantState.SUSPENDED

    def _require_reason(self) -> None:
        if PERMISSIONS[self.permission].needs_reason and not self.reason:
            raise ReasonRequired(
                f"{self.permission} is recorded with its reason; say why with --reason, or the header Canton-Reason"
            )

    def _execute_or_replay(
        self, target: ChangeTarget, attribution: Attribution, apply: Callable[[Connection, Attribution], ChangeResult]
    ) -> Answer:
        try:
            with self.caller.database.write() as connection:
                repeated = self._stored_answer(connection)
                if repeated is not None:
                    return repeated
                self._decide_again(connection, target)
                if self._needs_approval(target):
                    self._require_human(target)
                if self._needs_approval(target) and self.approval is None:
                    waiting = self._request_approval(connection, target)
                else:
                    return self._execute(connection, target, attribution, apply)
        except _KeyTakenConcurrently:
            with self.caller.database.read() as connection:
                repeated = self._stored_answer(connection)
            if repeated is None:
                raise
            return repeated
        raise ApprovalRequired(
            f"{self.permission} needs a second person: ask one who has this permission to run: canton approval approve "
            f"{waiting}; then repeat the command with: --approval {waiting}",
            approval=waiting,
            permission=self.permission,
        )

    def _execute(
        self,
        connection: Connection,
        target: ChangeTarget,
        attribution: Attribution,
        apply: Callable[[Connection, Attribution], ChangeResult],
    ) -> Answer:
        actor = self.caller.principal.identity
        if self.key is not None and not idempotency.begin(connection, actor, self.key, self.request_digest):
            raise _KeyTakenConcurrently(f'the idempotency key "{self.key}" was used at the same moment; try again')
        if self._needs_approval(target):
            approvals.use(connection, str(self.approval), actor, self._approval_digest(target))
        result = apply(connection, attribution)
        if result.operation is None:
            self._record(connection, target, attribution, result)
        if self.key is not None:
            idempotency.finish(
                connection, actor, self.key, operation=result.operation, answer=storable_answer(result.answer)
            )
        return result.answer

    def _stored_answer(self, connection: Connection) -> Answer | None:
        if self.key is None:
            return None
        remembered = idempotency.repeated(connection, self.caller.principal.identity, self.key, self.request_digest)
        if remembered is None or remembered.answer is None:
            return None
        return Answer(**remembered.answer)  # type: ignore[arg-type]  # as storable_answer wrote it

    @property
    def request_digest(self) -> str:
        return digest([self.method, self.path, self.body])

    def _approval_digest(self, target: ChangeTarget) -> str:
        """The digest of what a second person approves: permission, request, reason, and the objects of the change.

        The objects are included because a node may get another number or tenant between the approval and its use.
        """
        request = [self.permission, self.method, self.path, self.body, self.reason]
        return digest([*request, target.tenant, target.resolved])

    def _needs_approval(self, target: ChangeTarget) -> bool:
        return not {self.permission, target.undone_permission}.isdisjoint(
            self.caller.services.settings.policy.two_person
        )

    def _waits_at_provider(self, target: ChangeTarget) -> bool:
        """Whether only a person of the provider may approve it; until it is executed, the tenant does not see it."""
        return self._needs_approval(target) and (self._is_providers(target) or self.permission in PROVIDERS)

    def _is_providers(self, target: ChangeTarget) -> bool:
        """Whether only persons of the provider may approve it, although a tenant's roles can hold the permission."""
        revoked_by_provider = self.permission in REVOKING and self.caller.visible(self.permission) is None
        return target.by_provider or revoked_by_provider

    def _require_human(self, target: ChangeTarget) -> None:
        kind = self.caller.principal.kind
        if kind is not bindings.Kind.PERSON:
            raise Forbidden(
                f"{self.permission} needs two persons, and a {kind} is not a person; a person has to ask for it",
                permission=self.permission,
                rule="two-persons",
                tenant=target.tenant,
            )

    def _request_approval(self, connection: Connection, target: ChangeTarget) -> str:
        request = approvals.ApprovalRequest(
            self.permission,
            None if self._is_providers(target) else target.tenant,
            self.method,
            self.path,
            self.body,
            self._approval_digest(target),
            self.reason,
            None if target.granted_rights is None else target.granted_rights.as_json(),
        )
        ttl = self.caller.services.settings.policy.approval_ttl
        who = self.caller.principal
        return approvals.ask(connection, who.id, who.identity, request, ttl)

    def _record(
        self, connection: Connection, target: ChangeTarget, attribution: Attribution, result: ChangeResult
    ) -> None:
        outcome = "done" if result.answer.changed else "unchanged"
        details = {**result.details, **attribution.context, "outcome": outcome, **_tenant_details(target.tenant)}
        actor, reason = attribution.actor, attribution.reason
        audit.append(
            connection, actor=actor, action=self.permission, subject=result.subject, reason=reason, details=details
        )
        if result.event is not None and result.answer.changed:
            body = {**result.details, "reason": reason, "actor": actor}
            outbox.append(
                connection, target.tenant or outbox.PROVIDER, [outbox.Event(result.event, result.subject, body)]
            )

    def _record_failure(self, target: ChangeTarget, decision: Decision, outcome: str) -> None:
        # An attempt by a caller of another tenant is recorded for the provider: a tenant's audit names no others.
        hidden = not self.caller.is_bound_in(target.tenant) or (decision.allowed and self._waits_at_provider(target))
        tenant = None if hidden else target.tenant
        named_tenant = {"named_tenant": target.tenant} if target.tenant and tenant is None else {}
        details = {**self._context(decision), "outcome": outcome, **_tenant_details(tenant), **named_tenant}
        kind = RefusalKind(self.caller.principal.id, self.permission, tenant, outcome)
        subject = str(storable(f"{self.method} {self.path}"))
        self.caller.services.refusals.record(self.caller.database, kind, subject, self.reason, details)

    def _context(self, decision: Decision) -> JsonObject:
        return {
            "permission": self.permission,
            "decision": "granted" if decision.allowed else "refused",
            "rule": decision.rule,
            "request": self.caller.request,
            **({"client_request": self.caller.client_request} if self.caller.client_request else {}),
            "identity": self.caller.principal.identity,
        }


class _DecisionChanged(Exception):
    """The decision inside the transaction is a refusal, although it was not before."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.reason)
        self.decision = decision


class _KeyTakenConcurrently(Conflict):
    """Another transaction stored the same key between our read and our write."""


def storable_answer(answer: Answer) -> JsonObject:
    """The answer to store for a repetition, without the secret of a token, which is shown only once."""
    document = answer.stored()
    if answer.body is not None and "token" in answer.body:
        document["body"] = {**answer.body, "token": None}
    return document


def _tenant_details(tenant: str | None) -> JsonObject:
    return {"tenant": tenant} if tenant else {}


KeyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[!-~]{1,128}$",
        description="A repeated request with the same key gets the first answer again and changes nothing.",
    ),
]
ReasonHeader = Annotated[
    str | None,
    Header(
        alias="Canton-Reason",
        max_length=MAX_ENCODED_REASON,
        description="The reason for the change, as percent-encoded UTF-8; recorded in the audit. Required for changes "
        "that remove something.",
    ),
]
ApprovalHeader = Annotated[
    str | None,
    Header(
        alias="Canton-Approval",
        pattern=r"^ap_[0-9a-f]{28}$",
        description="The id of the approval that a second person gave.",
    ),
]
VersionHeader = Annotated[
    str | None,
    Header(
        alias="If-Match",
        pattern=r'^"[0-9]{1,9}"$',
        description="Change the object only if it still has this entity tag.",
    ),
]


@dataclass(frozen=True, slots=True)
class ChangeDependency:
    """The FastAPI dependency of a route that changes something under this permission."""

    permission: str

    async def __call__(
        self,
        request: Request,
        caller: CallerDep,
        key: KeyHeader = None,
        reason: ReasonHeader = None,
        approval: ApprovalHeader = None,
        if_match: VersionHeader = None,
    ) -> AsyncIterator[Change]:
        change = Change(
            caller,
            self.permission,
            _reason(reason),
            key,
            approval,
            int(if_match.strip('"')) if if_match else None,
            request.method,
            _target(request),
            getattr(request.state, "document", None),
            _query_problem(request),
        )
        async with caller.services.write_capacity.slot(caller.accounting_key, at_provider=caller.is_bound_in(None)):
            yield change

    async def require_anywhere(self, request: Request, caller: Caller) -> None:
        """Refuse, and record, a caller who holds the permission nowhere."""
        if caller.visible(self.permission) != frozenset():
            return
        unread = Change(caller, self.permission, "", None, None, None, request.method, _target(request), None)
        async with caller.services.write_capacity.slot(caller.accounting_key, at_provider=caller.is_bound_in(None)):
            await run_in_threadpool(unread.require_anywhere)


def change(permission: str) -> Any:
    """The dependency for a route that changes something: ``Annotated[Change, change("node.power")]``.

    Its slot in ``WriteCapacity`` is released before the answer is sent, so that a slow client does not hold it.
    """
    return Depends(ChangeDependency(PERMISSIONS[permission].name), scope="function")


def _query_problem(request: Request) -> str:
    """A message about parameters that the change does not take, or that are repeated; "" if there are none.

    Otherwise ``dry_run`` on a route without it would be ignored and the change carried out, and a second person who
    reads the address would take it for a dry run.
    """
    names = [name for name, _ in request.query_params.multi_items()]
    allowed_names = {"dry_run"} & signature(request.scope["endpoint"]).parameters.keys()
    if len(names) <= len(allowed_names) and allowed_names.issuperset(names):
        return ""
    allowed = "dry_run, once" if allowed_names else "no parameter"
    return f"{request.method} {request.scope['path']} takes {allowed} in the query; correct the address"


def _target(request: Request) -> str:
    """The path and query as received, without the Host header: an approval is bound to this."""
    query = request.scope["query_string"].decode("latin-1")
    return str(request.scope["path"]) + (f"?{query}" if query else "")


def _reason(header: str | None) -> str:
    try:
        reason = unquote(header or "", errors="strict").strip()
    except UnicodeDecodeError as error:
        raise InvalidRequest("the header Canton-Reason is not percent-encoded UTF-8") from error
    check_reason(reason)
    return reason


def check_reason(reason: str) -> None:
    if len(reason) > LONGEST_REASON or storable(reason) != reason or not reason.isprintable():
        raise InvalidRequest(
            f"the reason must be one line of at most {LONGEST_REASON} printable characters; "
            f"it has {len(reason)}, or characters that are not printable"
        )
    if reason.strip() and is_blank(reason):
        raise InvalidRequest("the reason holds only invisible characters; write it in words")
