"""Sites, quotas, bindings, service accounts and approvals; what lists of nodes, plans and audit go by."""

from __future__ import annotations

import re

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0002_pre_public_face"
down_revision = "0001_pre_foundation"

DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    create_sites()
    extend_tenants()
    extend_nodes()
    extend_journal()
    create_bindings()
    create_service_accounts()
    create_approvals()


def create_sites() -> None:
    op.create_table(
        "site",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False, server_default=sa.text("1")),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_site"),
    )


def extend_tenants() -> None:
    op.add_column("tenant", sa.Column("description", sa.Text(), nullable=False, server_default=sa.text("''")))
    op.add_column("tenant", sa.Column("state", sa.String(), nullable=False, server_default=sa.text("'active'")))
    op.create_table(
        "quota",
        sa.Column("tenant", sa.String(), nullable=False),
        sa.Column("nodes", sa.Integer()),
        sa.Column("open_operations", sa.Integer()),
        sa.Column("service_accounts", sa.Integer()),
        sa.Column("version", sa.Integer(), nullable=False, server_default=sa.text("1")),
        sa.PrimaryKeyConstraint("tenant", name="pk_quota"),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.name"], name="fk_quota_tenant"),
    )


def extend_nodes() -> None:
    with op.batch_alter_table("node") as node:
        node.add_column(sa.Column("site", sa.String()))
        node.add_column(sa.Column("place", sa.String(), nullable=False, server_default=sa.text("''")))
        node.create_foreign_key("fk_node_site", "site", ["site"], ["name"])
    op.create_index("ix_node_site", "node", ["site"])
    op.create_index("ix_node_place", "node", ["place"])
    connection = op.get_bind()
    for name in connection.scalars(sa.text("SELECT xname FROM node")).all():
        place = re.sub("[0-9]+", lambda number: number[0].zfill(6), name)
        connection.execute(
            sa.text("UPDATE node SET place = :place WHERE xname = :name"), {"place": place, "name": name}
        )


def extend_journal() -> None:
    for column in (sa.Column("kind", sa.String()), sa.Column("tenant", sa.String()), sa.Column("summary", sa.Text())):
        op.add_column("plan", column)
    op.create_index("ix_plan_tenant_created", "plan", ["tenant", "created_at"])
    op.add_column("operation", sa.Column("by_provider", sa.Integer(), nullable=False, server_default=sa.text("0")))
    op.create_index("ix_operation_created", "operation", ["created_at", "id"])
    op.create_index("ix_step_target", "step", ["target"])
    with op.batch_alter_table("idempotency") as idempotency:
        idempotency.alter_column("operation", existing_type=sa.String(), nullable=True)
        idempotency.add_column(sa.Column("answer", DOCUMENT))
    op.create_index("ix_idempotency_operation", "idempotency", ["operation"])
    op.create_index("ix_idempotency_created_at", "idempotency", ["created_at"])
    op.add_column("audit", sa.Column("tenant", sa.String()))
    op.create_index("ix_audit_tenant_seq", "audit", ["tenant", "seq"])


def create_bindings() -> None:
    op.create_table(
        "binding",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("tenant", sa.String()),
        sa.Column("until", sa.BigInteger()),
        sa.Column("granted_by", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_binding"),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.name"], name="fk_binding_tenant"),
    )
    op.create_index("ix_binding_tenant", "binding", ["tenant"])
    unique_at_its_place("binding", "subject", "role")


def create_service_accounts() -> None:
    op.create_table(
        "service_account",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("tenant", sa.String()),
        sa.Column("permissions", DOCUMENT, nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False, server_default=sa.text("1")),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_service_account"),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.name"], name="fk_service_account_tenant"),
    )
    op.create_index("ix_service_account_tenant", "service_account", ["tenant"])
    unique_at_its_place("service_account", "name")
    op.create_table(
        "service_token",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("permissions", DOCUMENT, nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_service_token"),
        sa.ForeignKeyConstraint(
            ["account"], ["service_account.id"], name="fk_service_token_account", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_service_token_account", "service_token", ["account"])


def create_approvals() -> None:
    op.create_table(
        "approval",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("permission", sa.String(), nullable=False),
        sa.Column("tenant", sa.String()),
        sa.Column("method", sa.String(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("body", DOCUMENT),
        sa.Column("request", sa.String(), nullable=False),
        sa.Column("requested_by", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("decided_by", sa.String()),
        sa.Column("decided_reason", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_approval"),
    )
    op.create_index("ix_approval_tenant_created", "approval", ["tenant", "created_at"])


def unique_at_its_place(table: str, *names: str) -> None:
    for place, where, keys in (
        ("tenant", sa.text("tenant IS NOT NULL"), [*names, "tenant"]),
        ("provider", sa.text("tenant IS NULL"), [*names]),
    ):
        op.create_index(f"uq_{table}_at_{place}", table, keys, unique=True, postgresql_where=where, sqlite_where=where)
