"""Tenants, nodes, plans, operations and their steps, claims, audit and events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001_pre_foundation"
down_revision = None

DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")
GENESIS = "sha256:" + "0" * 64


def upgrade() -> None:
    create_intent()
    create_journal()
    create_records()
    if op.get_context().dialect.name == "postgresql":
        guard_on_postgresql()
    else:
        guard_on_sqlite()


def create_intent() -> None:
    op.create_table(
        "tenant",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False, server_default=sa.text("1")),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_tenant"),
    )
    op.create_table(
        "node",
        sa.Column("xname", sa.String(), nullable=False),
        sa.Column("nid", sa.Integer()),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("tenant", sa.String()),
        sa.Column("version", sa.Integer(), nullable=False, server_default=sa.text("1")),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("xname", name="pk_node"),
        sa.UniqueConstraint("nid", name="uq_node_nid"),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.name"], name="fk_node_tenant"),
    )
    op.create_index("ix_node_tenant", "node", ["tenant"])
    op.create_table(
        "node_observation",
        sa.Column("xname", sa.String(), nullable=False),
        sa.Column("power", sa.String()),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("xname", name="pk_node_observation"),
        sa.ForeignKeyConstraint(["xname"], ["node.xname"], name="fk_node_observation_xname", ondelete="CASCADE"),
    )


def create_journal() -> None:
    op.create_table(
        "plan",
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_plan"),
    )
    op.create_table(
        "operation",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("tenant", sa.String()),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("plan", sa.String(), nullable=False),
        sa.Column("step_kinds", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("attention", DOCUMENT),
        sa.Column("cancel_by", sa.String()),
        sa.Column("worker", sa.String()),
        sa.Column("fence", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
        sa.Column("due_at", sa.BigInteger()),
        sa.Column("touched_at", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_operation"),
        sa.ForeignKeyConstraint(["plan"], ["plan.digest"], name="fk_operation_plan"),
    )
    due = sa.text("due_at IS NOT NULL")
    op.create_index("ix_operation_due", "operation", ["due_at"], postgresql_where=due, sqlite_where=due)
    op.create_index("ix_operation_tenant_created", "operation", ["tenant", "created_at"])
    op.create_table(
        "step",
        sa.Column("operation", sa.String(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("acts", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("tries", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("begun_at", sa.BigInteger()),
        sa.Column("acted_at", sa.BigInteger()),
        sa.Column("held_at", sa.BigInteger()),
        sa.Column("not_before", sa.BigInteger()),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("evidence", DOCUMENT),
        sa.Column("error", DOCUMENT),
        sa.PrimaryKeyConstraint("operation", "n", name="pk_step"),
        sa.ForeignKeyConstraint(["operation"], ["operation.id"], name="fk_step_operation"),
    )
    op.create_table(
        "claim",
        sa.Column("node", sa.String(), nullable=False),
        sa.Column("operation", sa.String(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("node", name="pk_claim"),
        sa.ForeignKeyConstraint(["node"], ["node.xname"], name="fk_claim_node"),
        sa.ForeignKeyConstraint(["operation"], ["operation.id"], name="fk_claim_operation"),
    )
    op.create_index("ix_claim_operation", "claim", ["operation"])
    op.create_table(
        "idempotency",
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("request", sa.String(), nullable=False),
        sa.Column("operation", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("actor", "key", name="pk_idempotency"),
        sa.ForeignKeyConstraint(["operation"], ["operation.id"], name="fk_idempotency_operation"),
    )
    op.create_table(
        "worker",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_worker"),
    )


def create_records() -> None:
    op.create_table(
        "audit",
        sa.Column("seq", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("previous", sa.String(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_audit"),
    )
    head = op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit_head"),
        sa.CheckConstraint("id = 1", name="ck_audit_head_one_row"),
    )
    op.bulk_insert(head, [{"id": 1, "seq": 0, "hash": GENESIS}])
    op.create_table(
        "stream",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_stream"),
    )
    op.create_table(
        "event",
        sa.Column("stream", sa.String(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("body", DOCUMENT, nullable=False),
        sa.PrimaryKeyConstraint("stream", "seq", name="pk_event"),
        sa.ForeignKeyConstraint(["stream"], ["stream.name"], name="fk_event_stream"),
    )


# What happened is not changed afterwards, not even by a mistake in Canton. Events and plans may be deleted one
# day, when nobody needs them any more; the audit never. Against somebody who may drop a trigger there is the chain.


def guard_on_postgresql() -> None:
    # A restrict_violation counts as a broken rule with every driver; the default would count as a server fault.
    op.execute("""
        CREATE FUNCTION canton_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION '% refuses %: its rows are never changed', TG_TABLE_NAME, TG_OP
                USING ERRCODE = 'restrict_violation';
        END $$
    """)
    for table, actions in (("audit", "UPDATE OR DELETE OR TRUNCATE"), ("event", "UPDATE"), ("plan", "UPDATE")):
        op.execute(f"""
            CREATE TRIGGER {table}_refuses BEFORE {actions} ON {table}
            FOR EACH STATEMENT EXECUTE FUNCTION canton_refuse()
        """)


def guard_on_sqlite() -> None:
    for table, action in (("audit", "UPDATE"), ("audit", "DELETE"), ("event", "UPDATE"), ("plan", "UPDATE")):
        op.execute(f"""
            CREATE TRIGGER {table}_refuses_{action.lower()} BEFORE {action} ON {table}
            BEGIN SELECT RAISE(ABORT, '{table} refuses {action}: its rows are never changed'); END
        """)
    # INSERT OR REPLACE removes the old row without asking the trigger for DELETE.
    op.execute("""
        CREATE TRIGGER audit_refuses_replace BEFORE INSERT ON audit
        WHEN EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq)
        BEGIN SELECT RAISE(ABORT, 'audit refuses REPLACE: its rows are never changed'); END
    """)
