"""The tables.

Every table says in ``info["holds"]`` what its columns are: *intent* (what Canton decided), *observation* (what a driver
observed), *journal* (what was tried, with its result) or *record* (what happened, never changed again). No table mixes
intent and observation.

Instants are whole microseconds since 1970 UTC: one type, one arithmetic and one text to hash on both.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

INTENT = {"holds": "intent"}
OBSERVATION = {"holds": "observation"}
JOURNAL = {"holds": "journal"}
RECORD = {"holds": "record"}

Document = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


def _unique_at_its_place(table: Table, *names: str) -> None:
    """Unique in a tenant, and unique at the provider: two indexes, since a NULL tenant does not equal another NULL."""
    tenant = table.c.tenant
    columns = [table.c[name] for name in names]
    for place, where, keys in (
        ("tenant", tenant.is_not(None), [*columns, tenant]),
        ("provider", tenant.is_(None), columns),
    ):
        name = f"uq_{table.name}_at_{place}"
        Index(name, *keys, unique=True, postgresql_where=where, sqlite_where=where)


site = Table(
    "site",
    metadata,
    Column("name", String, primary_key=True),
    Column("description", Text, nullable=False),
    Column("version", Integer, nullable=False, server_default=text("1")),
    Column("created_at", BigInteger, nullable=False),
    info=INTENT,
)

# A deleted tenant keeps its row: audit and events refer to its name, which therefore cannot be used again.
tenant = Table(
    "tenant",
    metadata,
    Column("name", String, primary_key=True),
    Column("description", Text, nullable=False, server_default=text("''")),
    Column("state", String, nullable=False, server_default=text("'active'")),
    Column("version", Integer, nullable=False, server_default=text("1")),
    Column("created_at", BigInteger, nullable=False),
    info=INTENT,
)

node = Table(
    "node",
    metadata,
    Column("xname", String, primary_key=True),
    Column("nid", Integer, unique=True),
    Column("site", ForeignKey("site.name"), index=True),
    # The xname with its numbers padded, so that lists are in natural order: s9 before s10.
    Column("place", String, nullable=False, server_default=text("''"), index=True),
    Column("state", String, nullable=False),
    Column("tenant", ForeignKey("tenant.name"), index=True),
    Column("version", Integer, nullable=False, server_default=text("1")),
    Column("changed_at", BigInteger, nullable=False),
    info=INTENT,
)

node_observation = Table(
    "node_observation",
    metadata,
    Column("xname", ForeignKey("node.xname", ondelete="CASCADE"), primary_key=True),
    Column("power", String),
    Column("seen_at", BigInteger, nullable=False),
    info=OBSERVATION,
)

# When a reading of a site is due: ``what`` is power. No key of ``site``: a worker's settings may name it first.
site_reading = Table(
    "site_reading",
    metadata,
    Column("site", String, nullable=False),
    Column("what", String, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("read_at", BigInteger),
    PrimaryKeyConstraint("site", "what"),
    info=JOURNAL,
)

plan = Table(
    "plan",
    metadata,
    Column("digest", String, primary_key=True),
    Column("body", Text, nullable=False),
    # Repeated from the body, for lists.
    Column("kind", String),
    Column("tenant", String),
    Column("summary", Text),
    Column("created_at", BigInteger, nullable=False),
    info=RECORD,
)
Index("ix_plan_tenant_created", plan.c.tenant, plan.c.created_at)

operation = Table(
    "operation",
    metadata,
    Column("id", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("tenant", String),
    Column("actor", String, nullable=False),
    # 1 when a role at the provider allowed it: then a tenant does not interfere, whose nodes these may be.
    Column("by_provider", Integer, nullable=False, server_default=text("0")),
    Column("reason", Text, nullable=False),
    Column("plan", ForeignKey("plan.digest"), nullable=False),
    Column("step_kinds", Text, nullable=False),
    Column("state", String, nullable=False),
    Column("attention", Document),
    Column("cancel_by", String),
    Column("worker", String),
    Column("fence", BigInteger, nullable=False, server_default=text("0")),
    Column("due_at", BigInteger),
    Column("touched_at", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    info=JOURNAL,
)
# Only operations that a worker may take have a due time, so a million finished ones cost a claim nothing.
Index(
    "ix_operation_due",
    operation.c.due_at,
    postgresql_where=operation.c.due_at.is_not(None),
    sqlite_where=operation.c.due_at.is_not(None),
)
Index("ix_operation_tenant_created", operation.c.tenant, operation.c.created_at)
Index("ix_operation_plan", operation.c.plan)
Index("ix_plan_created", plan.c.created_at)
Index("ix_operation_created", operation.c.created_at, operation.c.id)

step = Table(
    "step",
    metadata,
    Column("operation", ForeignKey("operation.id"), nullable=False),
    Column("n", Integer, nullable=False),
    Column("kind", String, nullable=False),
    Column("target", String, nullable=False, index=True),
    Column("state", String, nullable=False),
    Column("acts", Integer, nullable=False, server_default=text("0")),
    Column("tries", Integer, nullable=False, server_default=text("0")),
    Column("begun_at", BigInteger),
    Column("acted_at", BigInteger),
    Column("held_at", BigInteger),
    Column("not_before", BigInteger),
    Column("changed_at", BigInteger, nullable=False),
    Column("evidence", Document),
    # For those who may see the operation. What names the provider's hosts, paths and accounts is the cause.
    Column("error", Document),
    Column("cause", Text),
    PrimaryKeyConstraint("operation", "n"),
    info=JOURNAL,
)

quota = Table(
    "quota",
    metadata,
    Column("tenant", ForeignKey("tenant.name"), primary_key=True),
    Column("nodes", Integer),
    Column("open_operations", Integer),
    Column("service_accounts", Integer),
    Column("version", Integer, nullable=False, server_default=text("1")),
    info=INTENT,
)

binding = Table(
    "binding",
    metadata,
    Column("id", String, primary_key=True),
    Column("subject", String, nullable=False),
    # The issuer and its own lasting identifier (sub) of the person who first came with the name; none for a group.
    Column("identity", String, index=True),
    # The first other person who came with the name, and got nothing.
    Column("other_identity", String),
    Column("role", String, nullable=False),
    Column("tenant", ForeignKey("tenant.name"), index=True),
    Column("until", BigInteger),
    Column("granted_by", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    info=INTENT,
)
_unique_at_its_place(binding, "subject", "role")

service_account = Table(
    "service_account",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("tenant", ForeignKey("tenant.name"), index=True),
    Column("permissions", Document, nullable=False),
    Column("description", Text, nullable=False),
    Column("created_by", String, nullable=False),
    Column("version", Integer, nullable=False, server_default=text("1")),
    Column("created_at", BigInteger, nullable=False),
    info=INTENT,
)
_unique_at_its_place(service_account, "name")

# Of a token only the hash is kept; its id, which is part of the token, finds the row.
service_token = Table(
    "service_token",
    metadata,
    Column("id", String, primary_key=True),
    Column("account", ForeignKey("service_account.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("hash", String, nullable=False),
    Column("permissions", Document, nullable=False),
    Column("created_by", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    info=INTENT,
)

approval = Table(
    "approval",
    metadata,
    Column("id", String, primary_key=True),
    Column("permission", String, nullable=False),
    Column("tenant", String),
    Column("method", String, nullable=False),
    Column("path", Text, nullable=False),
    Column("body", Document),
    Column("request", String, nullable=False),
    Column("requested_by", String, nullable=False),
    Column("requested_identity", String),
    Column("reason", Text, nullable=False),
    Column("gives", Document),
    Column("state", String, nullable=False),
    Column("decided_by", String),
    Column("decided_identity", String),
    Column("decided_reason", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    info=INTENT,
)
Index("ix_approval_tenant_created", approval.c.tenant, approval.c.created_at)

claim = Table(
    "claim",
    metadata,
    Column("node", ForeignKey("node.xname"), primary_key=True),
    Column("operation", ForeignKey("operation.id"), nullable=False, index=True),
    Column("purpose", Text, nullable=False),
    Column("since", BigInteger, nullable=False),
    info=INTENT,
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("actor", String, nullable=False),
    Column("key", String, nullable=False),
    Column("request", String, nullable=False),
    # An operation that was started, or else the answer that was given.
    Column("operation", ForeignKey("operation.id"), index=True),
    Column("answer", Document),
    Column("created_at", BigInteger, nullable=False, index=True),
    PrimaryKeyConstraint("actor", "key"),
    info=RECORD,
)

worker = Table(
    "worker",
    metadata,
    Column("id", String, primary_key=True),
    Column("host", String, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    info=OBSERVATION,
)

# One row, which API servers overwrite to see whether the database takes changes.
write_probe = Table(
    "write_probe",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("seen_at", BigInteger, nullable=False),
    CheckConstraint("id = 1", name="one_row"),
    info=OBSERVATION,
)

audit = Table(
    "audit",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("actor", String, nullable=False),
    Column("action", String, nullable=False),
    Column("subject", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("details", Text, nullable=False),
    # Repeated from the details, which are sealed: whom a list may show it to.
    Column("tenant", String),
    Column("previous", String, nullable=False),
    Column("hash", String, nullable=False),
    info=RECORD,
)
Index("ix_audit_tenant_seq", audit.c.tenant, audit.c.seq)
Index("ix_audit_at", audit.c.at)

audit_head = Table(
    "audit_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    Column("hash", String, nullable=False),
    CheckConstraint("id = 1", name="one_row"),
    info=RECORD,
)

stream = Table(
    "stream",
    metadata,
    Column("name", String, primary_key=True),
    Column("last", BigInteger, nullable=False),
    info=RECORD,
)

event = Table(
    "event",
    metadata,
    Column("stream", ForeignKey("stream.name"), nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("kind", String, nullable=False),
    Column("subject", String, nullable=False),
    Column("body", Document, nullable=False),
    PrimaryKeyConstraint("stream", "seq"),
    info=RECORD,
)
Index("ix_event_at", event.c.at)
