"""Pins a role binding to a person: stores the issuer's permanent identifier (claim ``sub``).

It does so at the first login with the bound name. Issuers reuse names, but not identifiers. So a later person
with the same name does not get the role, which is recorded once, and a person who is renamed keeps it.
"""

from __future__ import annotations

from threading import Lock

from sqlalchemy.engine import Connection, RowMapping

from canton.domain.errors import DatabaseUnavailable
from canton.domain.json_types import JsonObject
from canton.policy.bindings import Principal
from canton.store import audit, outbox
from canton.store.access import bindings
from canton.store.database import Database

# Seconds, of a statement. Pinning takes milliseconds, and a request that cannot pin now is answered without.
LOCK_WAIT = 0.1


def try_to_pin(lock: Lock, database: Database, principal: Principal, request: str) -> None:
    """Pin the caller's bindings; if the database is busy, a later request does it: reads must not wait for writes."""
    if not lock.acquire(blocking=False):
        return
    try:
        with database.write(LOCK_WAIT) as connection:
            pin_and_record(connection, principal, request)
    except DatabaseUnavailable:
        return
    finally:
        lock.release()


def pin_and_record(connection: Connection, principal: Principal, request: str) -> None:
    """Pin the bindings that are not pinned, and record those that are pinned to another person; each only once."""
    for row in bindings.pin(connection, principal.id, principal.identity):
        _record(connection, row, principal, request, ("member.pin", "member.pinned"))
    for row in bindings.note_other(connection, principal.id, principal.identity):
        _record(connection, row, principal, request, ("member.name-reused", "member.name-reused"))


def _record(
    connection: Connection, row: RowMapping, principal: Principal, request: str, names: tuple[str, str]
) -> None:
    """``names`` are the audit's action and the kind of the event."""
    action, event = names
    subject, tenant = f"binding:{row['id']}", row["tenant"]
    body: JsonObject = {"subject": row["subject"], "role": row["role"], "identity": principal.identity}
    details = {**body, "request": request, **({"tenant": tenant} if tenant else {})}
    audit.append(connection, actor=principal.id, action=action, subject=subject, reason="", details=details)
    event_body = {**body, "actor": principal.id}
    outbox.append(connection, tenant or outbox.PROVIDER, [outbox.Event(event, subject, event_body)])
