"""Readings of sites, causes of failed steps, a probe of writes, indexes by instant, and identities of people."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0003_pre_hardening"
down_revision = "0002_pre_public_face"
DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    create_site_readings()
    extend_steps()
    create_write_probe()
    create_instant_indexes()
    name_identities()


def name_identities() -> None:
    op.add_column("binding", sa.Column("identity", sa.String()))
    op.add_column("binding", sa.Column("other_identity", sa.String()))
    op.create_index("ix_binding_identity", "binding", ["identity"])
    op.add_column("approval", sa.Column("requested_identity", sa.String()))
    op.add_column("approval", sa.Column("gives", DOCUMENT))
    op.add_column("approval", sa.Column("decided_identity", sa.String()))


def extend_steps() -> None:
    op.add_column("step", sa.Column("cause", sa.Text()))


def create_instant_indexes() -> None:
    op.create_index("ix_audit_at", "audit", ["at"])
    op.create_index("ix_event_at", "event", ["at"])
    op.create_index("ix_operation_plan", "operation", ["plan"])
    op.create_index("ix_plan_created", "plan", ["created_at"])


def create_site_readings() -> None:
    op.create_table(
        "site_reading",
        sa.Column("site", sa.String(), nullable=False),
        sa.Column("what", sa.String(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("read_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("site", "what", name="pk_site_reading"),
    )


def create_write_probe() -> None:
    op.create_table(
        "write_probe",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_write_probe"),
        sa.CheckConstraint("id = 1", name="ck_write_probe_one_row"),
    )
