"""A binding by name becomes a person's: pinned to the issuer's own identifier when the name is first seen.

Names are given again; the identifier (the claim ``sub``) is not. So a later person with an old name gets nothing from
the binding, which is recorded once, and a person who is renamed keeps it.
"""

from __future__ import annotations

from threading import Lock

from sqlalchemy.engine import Connection, RowMapping

from canton.domain.data import JsonObject
from canton.domain.errors import DatabaseUnavailable
from canton.policy.bindings import Principal
from canton.store import audit, outbox
from canton.store.access import bindings
from canton.store.database import Database

# Seconds, of a statement. Pinning takes milliseconds, and a request that cannot pin now is answered without.
LOCK_WAIT = 0.1


def try_to_pin(lock: Lock, database: Database, principal: Principal, request: str) -> None:
    """Settle what is unsettled, or leave it to a later request: reads must not queue for what holds up writers."""
    if not lock.acquire(blocking=False):
        return
    try:
        with database.write(LOCK_WAIT) as connection:
            settle(connection, principal, request)
    except DatabaseUnavailable:
        return
    finally:
        lock.release()


def settle(connection: Connection, principal: Principal, request: str) -> None:
    """Pin what nobody has yet, and record what is another's; each is written once, whatever requests follow."""
    for row in bindings.pin(connection, principal.id, principal.identity):
        _record(connection, row, principal, request, ("member.pin", "member.pinned"))
    for row in bindings.note_other(connection, principal.id, principal.identity):
        _record(connection, row, principal, request, ("member.name-reused", "member.name-reused"))


def _record(
    connection: Connection, row: RowMapping, principal: Principal, request: str, names: tuple[str, str]
) -> None:
    """``names`` are those of the audit's action and of the event."""
    action, event = names
    subject, tenant = f"binding:{row['id']}", row["tenant"]
    body: JsonObject = {"subject": row["subject"], "role": row["role"], "identity": principal.identity}
    details = {**body, "request": request, **({"tenant": tenant} if tenant else {})}
    audit.append(connection, actor=principal.id, action=action, subject=subject, reason="", details=details)
    event_body = {**body, "actor": principal.id}
    outbox.append(connection, tenant or outbox.PROVIDER, [outbox.Event(event, subject, event_body)])
